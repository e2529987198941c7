"""Benchmarks: each figure that Headrace claims, as a row that says what must be, what is, and how it was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

Progress = Callable[[str, float | None], None]

MEASURED = "measured"  # counted: cycles of the simulated RTL, cells of the synthesised design
MODELLED = "modelled"  # cycles times a nominal clock, or figures of different origin put together
WALL_CLOCK = "wall clock"  # of this machine
PROCESSOR = "processor time"  # of this machine, beside another commit's in the same run


@dataclass(frozen=True)
class Row:
    """One figure. ``ok`` is None where nothing is demanded of it."""

    group: str
    what: str
    must: str
    value: float | int | str
    unit: str
    ok: bool | None
    kind: str
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


LONG = ("conformance", "switch-fit", "host-fit")
"""Each takes some hours."""
GROUPS = ("filter", "capture", "bridge", "rpu", "switch", "host", "emulator", "size", "stream", "sim", *LONG)
COST = "cost"  # a group that wants git and the commit to compare with, and so stands alone


def run(
    groups: list[str],
    quick: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
    beside: str | None = None,
) -> list[Row]:
    """Runs benchmarks by group. ``quick`` takes samples where the full run takes every packet size; ``beside`` is the
    commit that costs are compared with."""
    report = progress or (lambda _what, _done: None)
    rows: list[Row] = []
    for group in groups:
        if group == "filter":
            from headrace.evaluate.bench import filter as bench_filter

            rows += bench_filter.run(quick, address, report)
        elif group == "capture":
            from headrace.evaluate.bench import capture as bench_capture

            rows += bench_capture.run(quick, address, report)
        elif group == "bridge":
            from headrace.evaluate.bench import bridge as bench_bridge

            rows += bench_bridge.run(quick, address, report)
        elif group == "rpu":
            from headrace.evaluate.bench import rpu as bench_rpu

            rows += bench_rpu.run(quick, address, report)
        elif group == "switch":
            from headrace.evaluate.bench import switch as bench_switch

            rows += bench_switch.run(quick, address, report)
        elif group == "host":
            from headrace.evaluate.bench import host as bench_host

            rows += bench_host.run(quick, address, report)
        elif group == "emulator":
            from headrace.evaluate.bench import emulator as bench_emulator

            rows += bench_emulator.run(quick, address, report)
        elif group == "size":
            from headrace.evaluate.bench import size

            rows += size.run(quick, report)
        elif group == "conformance":
            from headrace.evaluate.bench import switch as bench_switch

            rows += bench_switch.conformance(quick, address, report)
        elif group in LONG:
            from headrace.evaluate.bench import fit

            rows += fit.run(group, quick, report)
        elif group == "stream":
            from headrace.evaluate.bench import parts

            rows += parts.stream(quick, report)
        elif group == COST:
            from headrace.evaluate.bench import cost

            rows += cost.run(quick, report, beside)
        else:
            from headrace.evaluate.bench import simulator

            rows += simulator.run(quick, report)
    return rows
