"""The study of the emulator: what a thesis measured of its own, on Headrace's.

Coverage and resiliency (tables 3.2 and 3.3) need no nodes; bandwidth (figures 3.1 to 3.4, table 3.1) is measured in
nodes on this machine, behind all else; so is what is repeated of chapter 6 (``emulator_switching``). A table more: rows
as dataclasses in ``emulator_rows``, a chapter in the report and in docs/study-emulator.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from headrace.errors import HeadraceError
from headrace.evaluate.loads import coverage as loads
from headrace.evaluate.loads import emulator as traffic_loads
from headrace.evaluate.loads import emulator_card
from headrace.evaluate.loads.coverage import Coverage, Resiliency
from headrace.evaluate.loads.emulator import Single, Streamed
from headrace.evaluate.loads.emulator_healing import Healed, healing
from headrace.evaluate.points import Progress, quiet
from headrace.evaluate.study import Point, sweep
from headrace.evaluate.study import emulator_switching as switching
from headrace.evaluate.study.emulator_points import CARD, JAMMED_LIVE, RANGE_M, RUNS, all_points
from headrace.evaluate.study.emulator_published import COVERAGE, RESILIENCY
from headrace.evaluate.study.emulator_rows import CoverageRow, EmulatorStudy, ResiliencyRow, SingleRow, StreamRow
from headrace.evaluate.study.emulator_traffic_published import GRID_MBIT_S


def run(kind: str, **arguments: Any) -> Any:
    """A load of coverage and resiliency, or of the switch card."""
    return (loads if kind in _ROWS else emulator_card).run(kind, **arguments)


def measure(
    full: bool = False,
    address: str | None = None,
    progress: Progress = quiet,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> EmulatorStudy:
    """Measures everything, or only ``points``; the rest as ``headrace.evaluate.study.capture.measure``."""
    start = time.monotonic()

    def build(left: Sequence[dict[str, Any]]) -> None:
        if any(each["kind"] not in _ROWS for each in left):
            progress("switch cards", None)
            emulator_card.build()

    chosen = all_points(full) if points is None else points
    what, modules = "coverage, resiliency and switch card", [loads, emulator_card]
    tables: dict[str, list[Any]] = {"coverage": [], "resiliency": []}
    card = []
    for point, result in sweep(what, run, chosen, build, modules, address, progress, store, measured_on):
        if point.table == CARD:
            card.append((point.arguments, result))
        else:
            tables[point.table].append(_ROWS[point.table](point, result))
    healed, singles, streams, without_traffic = with_nodes(full, progress)
    return EmulatorStudy(
        full=full,
        **tables,
        healed=healed,
        singles=singles,
        streams=streams,
        without_traffic=without_traffic,
        switching=switching.rows(card, switching.beside(full, progress)),
        wall_s=time.monotonic() - start,
        measured_on=measured_on,
    )


def with_nodes(full: bool, report: Progress) -> tuple[list[Healed], list[SingleRow], list[StreamRow], str]:
    """Links found again and bandwidth in nodes on this machine, in ``RUNS`` runs each, and why there is none, if so.
    ``full``: more seeds and seconds."""
    healed: list[Healed] = []
    singles: list[SingleRow] = []
    streams: list[StreamRow] = []
    alone_s, beside_s = (2.0, 5.0) if full else (0.5, 2.0)
    try:
        seeds = range(loads.SEEDS if full else 2)
        for row in healing(RANGE_M, 32, 4, JAMMED_LIVE, seeds):
            report("jams among 32 nodes", (row.seed + 1) / len(seeds))
            healed.append(row)
        for nodes in traffic_loads.NODES:
            report(f"bandwidth among {nodes} nodes", None)
            alone = (traffic_loads.single_streams(nodes, traffic_loads.PAYLOADS, alone_s) for _ in range(RUNS))
            singles += map(_single, zip(*alone, strict=True))
            five = (traffic_loads.five_streams(nodes, beside_s) for _ in range(RUNS))
            streams += [_stream("five streams", nodes, runs) for runs in zip(*five, strict=True)]
        report("the streams of table 3.1", None)
        twenty = (traffic_loads.table_streams(list(GRID_MBIT_S), beside_s) for _ in range(RUNS))
        streams += [_stream("table 3.1", 32, runs) for runs in zip(*twenty, strict=True)]
    except HeadraceError as error:
        return [], [], [], str(error)
    return healed, singles, streams, ""


def _single(runs: Sequence[Single]) -> SingleRow:
    rates = ([bps / 1e6 for bps in each] for each in zip(*(_rates(run) for run in runs), strict=True))
    lost = median(run.within_lost for run in runs)
    return SingleRow(runs[0].nodes, runs[0].payload, lost, *(f(each) for each in rates for f in (min, median, max)))


def _stream(what: str, nodes: int, runs: Sequence[Streamed]) -> StreamRow:
    ends = runs[0].source, runs[0].destination
    published, _ = GRID_MBIT_S.get(ends, (None, 0)) if what == "table 3.1" else (None, 0)
    rates = [run.bps / 1e6 for run in runs]
    lost = sum(run.lost for run in runs)
    return StreamRow(what, nodes, *ends, runs[0].hops, min(rates), median(rates), max(rates), lost, published)


def _rates(found: Single) -> tuple[float, float, float]:
    return found.between_bps, found.within_bps, found.messages_bps


def _coverage(point: Point, found: Coverage) -> CoverageRow:
    published = COVERAGE.get((point.names["phys"], point.names["endpoint"], point.names["coordinator"]))
    return CoverageRow(**point.names, **asdict(found), published=published)


def _resiliency(point: Point, found: Resiliency) -> ResiliencyRow:
    published, again = RESILIENCY.get(found.jammed, (None, None))
    return ResiliencyRow(**point.names, **asdict(found), published=published, published_found=again)


_ROWS: dict[str, Callable[[Point, Any], Any]] = {"coverage": _coverage, "resiliency": _resiliency}
