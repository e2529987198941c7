"""The study of the filter card: what FFShark's paper measured on a board, beside Headrace's RTL."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace import synth
from headrace.evaluate.loads import filter as filter_loads
from headrace.evaluate.loads.filter import ADDRESS, AVERAGE, CLASSES, HTTP, Classed, Mixed, Sized
from headrace.evaluate.points import Progress, quiet
from headrace.evaluate.study import Point, sweep
from headrace.evaluate.study import filter_published as published
from headrace.evaluate.study.filter_points import MIXES, SIZES, WHOLE, WIRE, all_points
from headrace.evaluate.study.filter_published import ROUND_TRIPS_US
from headrace.evaluate.study.filter_rows import ClassRow, CoresRow, FilterStudy, PartRow, SizeRow


def measure(
    full: bool = False,
    address: str | None = None,
    progress: Progress = quiet,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> FilterStudy:
    """Measures everything, or only ``points`` and no sizes; the rest as ``headrace.evaluate.study.capture.measure``."""
    start = time.monotonic()

    def build(left: Sequence[dict[str, Any]]) -> None:
        for cores in sorted({each["cores"] for each in left}):
            progress(f"card with {cores} cores", None)
            filter_loads.build(cores)

    chosen = all_points(full) if points is None else points
    found = sweep("filter card", filter_loads.run, chosen, build, [filter_loads], address, progress, store, measured_on)
    flat = [each for _, result in found for each in (result if isinstance(result, list) else [result])]
    sized = [each for each in flat if isinstance(each, Sized)]
    if points is None:
        progress("sizes", None)
    return FilterStudy(
        full=full,
        sizes=[_size(each) for each in sorted(sized, key=lambda each: [*SIZES, *MIXES].index(each.size))],
        classes=[_class(each) for each in flat if isinstance(each, Classed)],
        cores=[_cores(each) for each in flat if isinstance(each, Mixed)],
        parts=parts() if points is None else [],
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


def parts() -> list[PartRow]:
    """FFShark's table V, and what a core and what finds the cores for packets take here; ``headrace bench
    size-fit`` has the whole card."""
    rows = [PartRow(part, "FFShark, Vivado", *each) for part, each in published.SIZES.items()]
    jobs = [
        ("chopper", "Headrace, filter_dispatch", "filter_dispatch", WHOLE),
        ("core", "Headrace, 128 KB", "bpf_core", {}),
        ("core", "Headrace, 32 KB", "bpf_core", WIRE),
    ]
    for part, what, module, parameters in jobs:
        total = synth.run(module, "xcup", parameters, hierarchy=False).total
        rows.append(PartRow(part, what, total.luts, total.ffs, total.rams, int(total.dsps)))
    return rows
