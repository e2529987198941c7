"""The study of the RPU card: what the thesis on Rosebud measured on a board, measured on Headrace's RTL."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headrace.evaluate.loads import rpu as rpu_loads
from headrace.evaluate.loads.rpu import Limit, Stay, Swap
from headrace.evaluate.points import PointsFile, run_points
from headrace.evaluate.study import files
from headrace.evaluate.study.published import rosebud_cycles

Progress = Callable[[str, float | None], None]

SIZES = (64, 128, 256, 512, 1024, 1500, 2000, 4096, 9000)
UNITS = (8, 1)
LOADS = (0.01, 0.5, 0.9)
SWAPS = (1, 4, 8)


@dataclass(frozen=True)
class RateRow:
    """What units carry of a full line: Gb/s of frames with their FCS (modelled), and cycles a packet and unit.

    ``what``: "forwarded" by our firmware, or by "the original's"; "generated" by the units; "CRC checked" by the
    accelerator. ``line_gbit_s``: what a line of 100 Gb/s has room for. ``rosebud_gbit_s``: of
    Rosebud's cycles a packet, where it forwards.
    """

    what: str
    units: int
    size: int
    gbit_s: float
    line_gbit_s: float
    cycles: float
    rosebud_gbit_s: float | None


@dataclass(frozen=True)
class StayRow:
    """Cycles in the card, from a packet's first beat in to its first beat out, at a share of the line."""

    size: int
    load: float
    packets: int
    least_cycles: float
    mean_cycles: float
    most_cycles: float
    mean_ns: float


@dataclass(frozen=True)
class SwapRow:
    """Units whose accelerator is changed while the others forward: times in the card in us, one unit after the other;
    packets of the others that were lost, and the worst stay beside that without a change."""

    units: int
    drain_us: float
    swap_us: float
    boot_us: float
    lost: int
    most_cycles: float
    most_cycles_without: float


@dataclass(frozen=True)
class RpuStudy:
    """What the study found."""

    quick: bool
    rates: list[RateRow]
    stays: list[StayRow]
    swaps: list[SwapRow]
    wall_s: float
    measured_on: str = ""

    @property
    def tables(self) -> dict[str, Sequence[Any]]:
        """All rows by their table's name."""
        return {"rates": self.rates, "stays": self.stays, "swaps": self.swaps}

    @property
    def faults(self) -> int:
        """Packets that were lost where none may be."""
        return sum(row.lost for row in self.swaps)

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**asdict(self), "faults": self.faults}


@dataclass(frozen=True)
class Point:
    """Work for one worker: the ``arguments`` of ``rpu_loads.run``; its table, and its name there."""

    table: str
    name: str
    arguments: dict[str, Any]


def all_points(quick: bool) -> list[Point]:
    """All of them. ``quick``: fewer sizes."""
    sizes = (64, 512, 1500) if quick else SIZES
    found = []
    for units in UNITS:
        for size in sizes:
            one = {"units": units, "sizes": [size]}
            found += [
                Point("rates", "forwarded", {"kind": "limit", **one}),
                Point("rates", "the original's", {"kind": "limit", **one, "name": "basic"}),
                Point("rates", "generated", {"kind": "generate", **one}),
                Point("rates", "CRC checked", {"kind": "limit", **one, "name": "crc", "accelerator": "crc"}),
            ]
    found += [Point("stays", "", {"kind": "stay", "units": 8, "sizes": [size], "loads": LOADS}) for size in sizes]
    return found + [Point("swaps", "", {"kind": "swap", "units": 8, "changed": units}) for units in SWAPS]


def measure(
    quick: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> RpuStudy:
    """Measures everything, or only ``points``; the rest as ``headrace.evaluate.study.capture.measure``."""
    report = progress or (lambda _what, _done: None)
    start = time.monotonic()
    chosen = all_points(quick) if points is None else points
    with ExitStack() as stack:
        known = stack.enter_context(PointsFile(store, measured_on, [rpu_loads])) if store else None
        if address is None:
            for units in sorted({point.arguments["units"] for point in chosen}):
                report(f"card with {units} units", None)
                rpu_loads.build(units)
        results = run_points(
            rpu_loads.run,
            [point.arguments for point in chosen],
            address,
            lambda done, all_: report("RPU card", done / all_),
            known,
        )
    tables: dict[str, list[Any]] = {"rates": [], "stays": [], "swaps": []}
    for point, result in zip(chosen, results, strict=True):
        for each in result if isinstance(result, list) else [result]:
            tables[point.table].append(_ROWS[point.table](point, each))
    return RpuStudy(quick, **tables, wall_s=time.monotonic() - start, measured_on=measured_on)


def _rate(point: Point, limit: Limit) -> RateRow:
    units, size = point.arguments["units"], limit.size
    room = size / (size + rpu_loads.GAP) * rpu_loads.LINE / 1e9
    theirs = units * 8 * size * limit.clock_hz / rosebud_cycles(size) / 1e9
    forwards = point.name in ("forwarded", "the original's")
    cycles = units * limit.cycles_per_packet
    return RateRow(point.name, units, size, limit.gbit_s, room, cycles, min(theirs, room) if forwards else None)


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


def write(study: RpuStudy, folder: Path) -> None:
    """Writes report.md, a CSV file for each table and the figures (PNG, SVG) into a folder, which is made if need be.

    Raises HeadraceError when that can't be done.
    """
    from headrace.evaluate.study.rpu_figures import draw
    from headrace.evaluate.study.rpu_report import markdown

    files.write(folder, study.tables, lambda where: draw(study, where), lambda figures: markdown(study, figures))
