"""The study of the RPU card: what the thesis on Rosebud measured on a board, measured on Headrace's RTL."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headrace.evaluate.loads import rpu as rpu_loads
from headrace.evaluate.loads.rpu import Limit, Stay, Swap
from headrace.evaluate.points import Progress, quiet
from headrace.evaluate.study import Point, sweep
from headrace.evaluate.study.published import rosebud_cycles
from headrace.evaluate.study.rpu_points import all_points
from headrace.evaluate.study.rpu_rows import RateRow, RpuStudy, StayRow, SwapRow


def measure(
    full: bool = False,
    address: str | None = None,
    progress: Progress = quiet,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> RpuStudy:
    """Measures everything, or only ``points``; the rest as ``headrace.evaluate.study.capture.measure``."""
    start = time.monotonic()

    def build(left: Sequence[dict[str, Any]]) -> None:
        for units in sorted({each["units"] for each in left}):
            progress(f"card with {units} units", None)
            rpu_loads.build(units)

    chosen = all_points(full) if points is None else points
    tables: dict[str, list[Any]] = {"rates": [], "stays": [], "swaps": []}
    for point, result in sweep(
        "RPU card", rpu_loads.run, chosen, build, [rpu_loads], address, progress, store, measured_on
    ):
        for each in result if isinstance(result, list) else [result]:
            tables[point.table].append(_ROWS[point.table](point, each))
    return RpuStudy(full=full, **tables, wall_s=time.monotonic() - start, measured_on=measured_on)


def _rate(point: Point, limit: Limit) -> RateRow:
    units, size = point.arguments["units"], limit.size
    room = size / (size + rpu_loads.GAP) * rpu_loads.LINE / 1e9
    theirs = units * 8 * size * limit.clock_hz / rosebud_cycles(size) / 1e9
    what = point.names["what"]
    forwards = what in ("forwarded", "the original's")
    cycles = units * limit.cycles_per_packet
    return RateRow(what, units, size, limit.gbit_s, room, cycles, min(theirs, room) if forwards else None)


def _stay(_: Point, stay: Stay) -> StayRow:
    clock_mhz = stay.clock_hz / 1e6
    return StayRow(stay.size, stay.load, stay.packets, stay.least, stay.mean, stay.most, stay.mean * 1000 / clock_mhz)


def _swap(point: Point, swap: Swap) -> SwapRow:
    return SwapRow(
        point.arguments["changed"],
        swap.drain_ns / 1e3,
        swap.swap_ns / 1e3,
        swap.boot_ns / 1e3,
        swap.lost,
        swap.most,
        swap.most_without,
    )


_ROWS: dict[str, Callable[[Point, Any], Any]] = {"rates": _rate, "stays": _stay, "swaps": _swap}
