"""How fast the virtual card is on this machine, and what tcpdump needs for the same files beside it."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from headrace.card import Card
from headrace.cards.filter.run import EAST, WEST, FilterJob, FilterOutput, FilterReport, run_filter
from headrace.errors import HeadraceError
from headrace.evaluate.bench import WALL_CLOCK, Row
from headrace.evaluate.bench.filter import EXPRESSION
from headrace.evaluate.points import Progress
from headrace.net import bpf

LEAST_RATE = 150_000

_PACKETS = 1_000_000


def run(progress: Progress) -> list[Row]:
    """64-byte packets (60 and FCS) file to file, 8 cores: all rejected, and all accepted and written."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.pcap", Path(folder) / "out.pcap"
        progress("making packets", None)
        make(source, _PACKETS)
        rows = []
        for what, port in (("none accepted", 101), ("all accepted and written", 100)):
            expression = EXPRESSION.replace("100", str(port))
            progress(f"simulating, {what}", None)
            report = simulate(expression, source, output)
            start = time.perf_counter()
            _tcpdump(source, output, expression)
            beside = time.perf_counter() - start
            rows.append(
                Row(
                    "sim",
                    f"64-byte packets file to file, 8 cores, {what}",
                    f"at least {LEAST_RATE:,}",
                    round(report.packets_per_wall_s),
                    "packets a second",
                    report.packets_per_wall_s >= LEAST_RATE,
                    WALL_CLOCK,
                    f"{report.cycles / report.wall_s:,.0f} cycles/s; {report.wall_s / beside:,.0f} x tcpdump's time",
                )
            )
    return rows


def make(path: Path, count: int) -> None:
    """Writes so many packets of 64 bytes (60 and FCS) into a capture."""
    with Card.open("filter", progress=False) as card:
        card.set_rate(WEST, 100e9)
        card.source(WEST, f"gen:size=60,count={count},frame=tcp,sport=100")
        card.sink(EAST, f"pcap:{path}")
        card.run()


def simulate(expression: str, source: Path, output: Path) -> FilterReport:
    """A capture through the filter card, with 8 cores."""
    return run_filter(FilterJob([FilterOutput(bpf.compile(expression), str(output))], str(source)))


def _tcpdump(source: Path, output: Path, expression: str) -> None:
    try:
        subprocess.run(["tcpdump", "-r", source, "-w", output, expression], check=True, capture_output=True)
    except FileNotFoundError:
        raise HeadraceError("tcpdump is not installed: apt-get install tcpdump") from None
