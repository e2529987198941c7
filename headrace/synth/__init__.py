"""Synthesis reports: what a card or a module costs on an FPGA, without a vendor's tools.

    from headrace.synth import run, print_report
    report = run("stream_fifo", "ecp5", parameters={"DEPTH": 512}, seeds=3)
    print_report(report)                       # tables
    json.dump(report.to_json(), sys.stdout)    # the same as data

``run`` takes a module of rtl/, a card's name, or the folder of a user's own card; targets are in ``TARGETS``.
Results are kept in the cache, keyed by the content of the sources and everything else that can change them.
How resources are counted stands in ``headrace.synth.cells``; docs/synthesis.md tells the whole method.
"""

from headrace.synth.flow import TARGETS, run
from headrace.synth.report import Level, Placement, Seed, SynthReport, Usage, print_report

__all__ = ["TARGETS", "Level", "Placement", "Seed", "SynthReport", "Usage", "print_report", "run"]
