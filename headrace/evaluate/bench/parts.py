"""What the parts of the stream layer take of an FPGA, as wide as a 100 Gb/s port."""

from __future__ import annotations

from headrace import synth
from headrace.evaluate.bench import MEASURED, Row
from headrace.evaluate.bench.designs import STREAM_PARTS, called, synth_command
from headrace.evaluate.points import Progress
from headrace.synth.report import Usage

_FPGAS = {"xcup": ("", "LUTs", "BRAM36"), "ecp5": ("ECP5 ", "LUT4", "DP16KD")}


def stream(progress: Progress) -> list[Row]:
    """A row a part, synthesised for both FPGAs."""
    rows: list[Row] = []
    for module, parameters in STREAM_PARTS:
        progress("size of parts", len(rows) / len(STREAM_PARTS))
        found = [
            _usage(synth.run(module, target, parameters, hierarchy=False, pnr=False).total, *names)
            for target, names in _FPGAS.items()
        ]
        what, command = f"size: {called(module, parameters)}", synth_command(module, parameters)
        rows.append(Row("stream", what, "-", "; ".join(found), "", None, MEASURED, command))
    return rows


def _usage(total: Usage, fpga: str, luts: str, rams: str) -> str:
    inside = f" ({total.lutram:,} RAM)" if total.lutram else ""
    return f"{fpga}{total.luts:,} {luts}{inside}, {total.ffs:,} flip-flops, {total.rams:g} {rams}"
