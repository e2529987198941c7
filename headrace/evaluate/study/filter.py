"""The study of the filter card: what FFShark's paper measured on a board, beside Headrace's RTL."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headrace import synth
from headrace.evaluate.loads import filter as filter_loads
from headrace.evaluate.loads.filter import ADDRESS, AVERAGE, CLASSES, HTTP, Classed, Mixed, Sized
from headrace.evaluate.points import PointsFile, run_points
from headrace.evaluate.study import files
from headrace.evaluate.study import filter_published as published
from headrace.evaluate.study.filter_published import ROUND_TRIPS_US

Progress = Callable[[str, float | None], None]

CORES = 8  # the card's default, and the line-rate rows' of bench filter
FEW = (1, 2)  # cores for the mixes of tables II and III
SIZES = tuple(str(size) for size in sorted({60, 176, 1500, 9000, *ROUND_TRIPS_US}))
MIXES = ("60-1500", "64-9000")
WIRE = {"PACKET_KB": 32, "MAX_FRAME": 9216}
WHOLE = {"CORES": published.CORES}


@dataclass(frozen=True)
class SizeRow:
    """A size at a full line of 100 Gb/s; its way through the card, and FFShark's insertion latency (table IV, fig. 11).

    ``ns``: modelled, ``latency_cycles`` at the nominal clock. ``store_ns``: the frame's bytes at 100 Gb/s.
    """

    size: str
    packets: int
    lost: int
    uninspected: int
    latency_cycles: int
    ns: float
    published_ns: float | None
    store_ns: float | None


@dataclass(frozen=True)
class ClassRow:
    """A class of packets of tables II and III: instructions of each, published and in the RTL."""

    table: str
    name: str
    share: float
    published: int
    instructions: float


@dataclass(frozen=True)
class CoresRow:
    """Cores for a mix at 100 Gb/s. Published; FFShark's by its own bound of four cycles an instruction, as its
    equations average rates and as packets take time; packets that so many cores of ours did not inspect."""

    table: str
    published: int
    by_rates: int
    by_times: int
    cores: int
    packets: int
    uninspected: int
    cpi: float


@dataclass(frozen=True)
class PartRow:
    """What a part takes on UltraScale+: FFShark's (Vivado), ours (Yosys). ``None``: not published, or not measured."""

    part: str
    what: str
    luts: int
    flip_flops: int
    brams: float
    dsps: int | None


@dataclass(frozen=True)
class FilterStudy:
    """What the study found."""

    quick: bool
    sizes: list[SizeRow]
    classes: list[ClassRow]
    cores: list[CoresRow]
    parts: list[PartRow]
    faults: int
    wall_s: float
    measured_on: str = ""

    @property
    def tables(self) -> dict[str, Sequence[Any]]:
        """All rows by their table's name."""
        return {"sizes": self.sizes, "classes": self.classes, "cores": self.cores, "parts": self.parts}

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def all_points(quick: bool) -> list[dict[str, Any]]:
    """Arguments of ``filter_loads.run``. ``quick``: fewer packets."""
    count = 100 if quick else 1000
    chosen = [*SIZES, *MIXES]
    found: list[dict[str, Any]] = [
        {"kind": "sized", "sizes": chosen[first::2], "count": count, "cores": CORES} for first in range(2)
    ]
    found += [{"kind": "classed", "expression": each, "count": 20, "cores": CORES} for each in CLASSES]
    return found + [
        {"kind": "mixed", "expression": each, "count": 20 * count, "cores": cores} for each in CLASSES for cores in FEW
    ]


def measure(
    quick: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
    points: Sequence[dict[str, Any]] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> FilterStudy:
    """Measures everything, or only ``points`` and no sizes; ``quick`` doesn't synthesise the whole card. The rest as
    ``headrace.evaluate.study.capture.measure``."""
    report = progress or (lambda _what, _done: None)
    start = time.monotonic()
    chosen = all_points(quick) if points is None else points
    with ExitStack() as stack:
        known = stack.enter_context(PointsFile(store, measured_on, [filter_loads])) if store else None
        if address is None:
            for cores in sorted({point["cores"] for point in chosen if known is None or point not in known}):
                report(f"card with {cores} cores", None)
                filter_loads.build(cores)
        results = run_points(
            filter_loads.run, chosen, address, lambda done, all_: report("filter card", done / all_), known
        )
    flat = [each for result in results for each in (result if isinstance(result, list) else [result])]
    sized = [each for each in flat if isinstance(each, Sized)]
    if points is None:
        report("sizes", None)
    return FilterStudy(
        quick=quick,
        sizes=[_size(each) for each in sorted(sized, key=lambda each: [*SIZES, *MIXES].index(each.size))],
        classes=[_class(each) for each in flat if isinstance(each, Classed)],
        cores=[_cores(each) for each in flat if isinstance(each, Mixed)],
        parts=parts(quick) if points is None else [],
        faults=sum(each.wrong + each.lost + each.uninspected for each in sized),
        wall_s=time.monotonic() - start,
        measured_on=measured_on,
    )


def _size(found: Sized) -> SizeRow:
    size = int(found.size) if found.size.isdecimal() else 0
    theirs, stored = (
        (1000 * published.insertion_us(size), 1000 * published.store_us(size))
        if size in ROUND_TRIPS_US
        else (None, None)
    )
    ns = found.latency_cycles * 1e9 / found.clock_hz
    return SizeRow(found.size, found.packets, found.lost, found.uninspected, found.latency_cycles, ns, theirs, stored)


_TABLES = {ADDRESS: "II", HTTP: "III"}


def _class(found: Classed) -> ClassRow:
    theirs = next(each for each in CLASSES[found.expression] if each.name == found.name)
    return ClassRow(_TABLES[found.expression], found.name, theirs.share, theirs.instructions, found.instructions)


def _cores(found: Mixed) -> CoresRow:
    classes = [(each.share, each.instructions) for each in CLASSES[found.expression]]
    return CoresRow(
        _TABLES[found.expression],
        published.CORES,
        published.cores_by_rates(classes, AVERAGE),
        published.cores_by_times(classes, AVERAGE),
        found.cores,
        found.packets,
        found.uninspected,
        found.cpi,
    )


def parts(quick: bool) -> list[PartRow]:
    """FFShark's table V, and what a core, what finds the cores for packets and the whole card take here. ``quick``:
    not the core and the whole."""
    rows = [PartRow(part, "FFShark, Vivado", *each) for part, each in published.SIZES.items()]
    jobs = [("chopper", "Headrace, filter_dispatch", "filter_dispatch", WHOLE)]
    if not quick:
        jobs += [
            ("core", "Headrace, 128 KB", "bpf_core", {}),
            ("core", "Headrace, 32 KB", "bpf_core", WIRE),
            ("whole", "Headrace, six cores of 128 KB", "filter_card", WHOLE),
            ("whole", "Headrace, six cores of 32 KB", "filter_card", WHOLE | WIRE),
        ]
    for part, what, module, parameters in jobs:
        total = synth.run(module, "xcup", parameters, hierarchy=False).total
        rows.append(PartRow(part, what, total.luts, total.ffs, total.rams, int(total.dsps)))
    return rows


def write(study: FilterStudy, folder: Path) -> None:
    """Writes report.md, a CSV file for each table and the figures (PNG, SVG) into a folder, which is made if need be.

    Raises HeadraceError when that can't be done.
    """
    from headrace.evaluate.study.filter_figures import draw
    from headrace.evaluate.study.filter_report import markdown

    files.write(folder, study.tables, lambda where: draw(study, where), lambda figures: markdown(study, figures))
