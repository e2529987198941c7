"""The study of the emulator: what a thesis measured of its own, on Headrace's.

Coverage and resiliency (tables 3.2 and 3.3) need no nodes; bandwidth (figures 3.1 to 3.4, table 3.1) is measured in
nodes on this machine, behind all else; so is what is repeated of chapter 6 (``emulator_switching``). A table more: rows
as dataclasses here, a chapter in the report and in docs/study-emulator.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.evaluate.loads import coverage as loads
from headrace.evaluate.loads import emulator as traffic_loads
from headrace.evaluate.loads import emulator_card
from headrace.evaluate.loads.coverage import Coverage, Resiliency
from headrace.evaluate.loads.emulator import Single, Streamed
from headrace.evaluate.loads.emulator_healing import Healed, healing
from headrace.evaluate.points import PointsFile, run_points
from headrace.evaluate.study import emulator_switching as switching
from headrace.evaluate.study import files
from headrace.evaluate.study.emulator_published import COVERAGE, RESILIENCY
from headrace.evaluate.study.emulator_switching import Switching
from headrace.evaluate.study.emulator_traffic_published import GRID_MBIT_S

Progress = Callable[[str, float | None], None]

RANGES_M = (250.0, 350.0, 450.0)
RANGE_M = 450.0
"""The one that is put beside the thesis: with less there are moments when no number of PHYs reaches all."""
PHYS = (1, 2, 3, 4, 6)
JAMMED = (0, 4, 8, 12, 16, 20, 24, 32, 40)
JAMMED_LIVE = JAMMED[1:7]
"""With nodes: the thesis' 4 to 24."""


@dataclass(frozen=True)
class CoverageRow:
    """PHYs of a node, the endpoint (0: none) and the coordinator; moments, those in which all nodes were reached, and
    those in which they could be; parts of the nodes. ``published``: whether the thesis reached all."""

    range_m: float
    phys: int
    endpoint: int
    coordinator: int
    scenes: int
    full: int
    possible: int
    mean: float
    least: float
    published: bool | None

    @property
    def reproduced(self) -> bool | None:
        """Whether it is as the thesis says: in all moments that allow it."""
        return None if self.published is None else self.published == (self.full == self.possible > 0)


@dataclass(frozen=True)
class ResiliencyRow:
    """Links that were jammed of 4 PHYs a node, and parts of the nodes that are reached: with those that are left, and
    when others have been found. ``published``: the thesis' part, and what it found."""

    range_m: float
    jammed: int
    seeds: int
    before: float
    left: float
    after: float
    least: float
    most: float
    found: float
    published: float | None
    published_found: int | None


@dataclass(frozen=True)
class SingleRow:
    """One stream alone, Mb/s of payload on this machine: between two nodes (TCP), within one (UDP: what comes, and the
    part that doesn't), and of whole messages over both."""

    nodes: int
    payload: int
    between_mbit_s: float
    within_mbit_s: float
    within_lost: float
    messages_mbit_s: float


@dataclass(frozen=True)
class StreamRow:
    """A stream of images beside others, Mb/s on this machine. ``what``: "five streams" (figure 3.4) or "table 3.1",
    whose values are published, on 20 cores."""

    what: str
    nodes: int
    source: int
    destination: int
    hops: int
    mbit_s: float
    lost: int
    published_mbit_s: float | None


@dataclass(frozen=True)
class EmulatorStudy:
    """What the study found. ``without_traffic``: why there is no bandwidth, if there is none."""

    quick: bool
    coverage: list[CoverageRow]
    resiliency: list[ResiliencyRow]
    singles: list[SingleRow]
    streams: list[StreamRow]
    without_traffic: str
    wall_s: float
    measured_on: str = ""
    switching: Switching = field(default_factory=Switching)
    healed: list[Healed] = field(default_factory=list)

    @property
    def tables(self) -> dict[str, Sequence[Any]]:
        """All rows by their table's name."""
        return {
            "coverage": self.coverage,
            "resiliency": self.resiliency,
            "healed": self.healed,
            "singles": self.singles,
            "streams": self.streams,
            **self.switching.tables,
        }

    @property
    def faults(self) -> int:
        """Cells of table 3.2 that come out otherwise, where the range allows them, jams after which nodes found other
        links than counted, and messages that were lost."""
        cells = sum(row.reproduced is False for row in self.coverage if row.range_m == RANGE_M)
        cells += sum(row.counted != row.lived for row in self.healed)
        return cells + sum(row.lost for row in self.streams) + self.switching.lost

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**asdict(self), "faults": self.faults}


@dataclass(frozen=True)
class Point:
    """Work for one worker: the ``arguments`` of the load, and the table that it is for, with what tells its row."""

    table: str
    row: dict[str, Any]
    arguments: dict[str, Any]


def all_points(quick: bool) -> list[Point]:
    """All of them. ``quick``: one range, fewer seeds."""
    ranges = (RANGE_M,) if quick else RANGES_M
    seeds = 4 if quick else loads.SEEDS
    found = []
    for range_m in ranges:
        cells = dict.fromkeys([*COVERAGE, *((phys, 0, 1) for phys in PHYS), *((phys, 1, 1) for phys in PHYS)])
        for phys, endpoint, coordinator in cells:
            found.append(coverage_point(range_m, phys, endpoint, coordinator, seeds))
        found += [resiliency_point(range_m, jammed, seeds) for jammed in JAMMED]
    return found + [Point(_CARD, {}, arguments) for arguments in switching.points(quick)]


def run(kind: str, **arguments: Any) -> Any:
    """A load of coverage and resiliency, or of the switch card."""
    return (loads if kind in _ROWS else emulator_card).run(kind, **arguments)


def coverage_point(range_m: float, phys: int, endpoint: int, coordinator: int, seeds: int) -> Point:
    """A cell of table 3.2."""
    anchors = [(loads.COORDINATOR, coordinator), *([(loads.ENDPOINT, endpoint)] if endpoint else [])]
    row = {"range_m": range_m, "phys": phys, "endpoint": endpoint, "coordinator": coordinator}
    text = loads.scenario(range_m)
    arguments = {"kind": "coverage", "text": text, "phys": phys, "anchors": anchors, "seeds": seeds}
    return Point("coverage", row, arguments)


def resiliency_point(range_m: float, jammed: int, seeds: int) -> Point:
    """A row of table 3.3: the first row of table 3.2."""
    arguments = {"kind": "resiliency", "text": loads.scenario(range_m), "phys": 4, "jammed": jammed, "seeds": seeds}
    return Point("resiliency", {"range_m": range_m}, {**arguments, "anchors": [(loads.COORDINATOR, 1)]})


def measure(
    quick: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> EmulatorStudy:
    """Measures everything, or only ``points``; the rest as ``headrace.evaluate.study.capture.measure``."""
    report = progress or (lambda _what, _done: None)
    start = time.monotonic()
    chosen = all_points(quick) if points is None else points
    with ExitStack() as stack:
        modules = [loads, emulator_card]
        known = stack.enter_context(PointsFile(store, measured_on, modules)) if store else None
        if address is None and any(point.table == _CARD for point in chosen):
            report("switch cards", None)
            emulator_card.build()
        results = run_points(
            run,
            [point.arguments for point in chosen],
            address,
            lambda done, all_: report("coverage, resiliency and switch card", done / all_),
            known,
        )
    tables: dict[str, list[Any]] = {"coverage": [], "resiliency": []}
    card = []
    for point, result in zip(chosen, results, strict=True):
        if point.table == _CARD:
            card.append((point.arguments, result))
            continue
        tables[point.table].append(_ROWS[point.table](point, result))
    healed, singles, streams, without_traffic = with_nodes(quick, report)
    compared = switching.rows(card, switching.beside(quick, report))
    return EmulatorStudy(
        quick,
        **tables,
        singles=singles,
        streams=streams,
        without_traffic=without_traffic,
        wall_s=time.monotonic() - start,
        measured_on=measured_on,
        switching=compared,
        healed=healed,
    )


def with_nodes(quick: bool, report: Progress) -> tuple[list[Healed], list[SingleRow], list[StreamRow], str]:
    """Links found again and bandwidth in nodes on this machine, and why there is none, if so. ``quick``: few seeds,
    nodes, payloads and seconds."""
    healed: list[Healed] = []
    singles: list[Single] = []
    streams: list[StreamRow] = []
    sizes = traffic_loads.NODES[:1] if quick else traffic_loads.NODES
    payloads = traffic_loads.PAYLOADS[::3] if quick else traffic_loads.PAYLOADS
    seconds = 0.5 if quick else 5.0
    try:
        seeds = range(2 if quick else loads.SEEDS)
        for row in healing(RANGE_M, 32, 4, JAMMED_LIVE, seeds):
            report("jams among 32 nodes", (row.seed + 1) / len(seeds))
            healed.append(row)
        for nodes in sizes:
            report(f"bandwidth among {nodes} nodes", None)
            singles += traffic_loads.single_streams(nodes, payloads, min(seconds, 2.0))
            streams += [_stream("five streams", nodes, each) for each in traffic_loads.five_streams(nodes, seconds)]
        if not quick:
            report("the streams of table 3.1", None)
            found = traffic_loads.table_streams(list(GRID_MBIT_S), seconds)
            streams += [_stream("table 3.1", 32, each) for each in found]
    except HeadraceError as error:
        return [], [], [], str(error)
    return healed, [_single(each) for each in singles], streams, ""


def _single(found: Single) -> SingleRow:
    return SingleRow(
        found.nodes,
        found.payload,
        found.between_bps / 1e6,
        found.within_bps / 1e6,
        found.within_lost,
        found.messages_bps / 1e6,
    )


def _stream(what: str, nodes: int, found: Streamed) -> StreamRow:
    published, _ = GRID_MBIT_S.get((found.source, found.destination), (None, 0)) if what == "table 3.1" else (None, 0)
    return StreamRow(what, nodes, found.source, found.destination, found.hops, found.bps / 1e6, found.lost, published)


def _coverage(point: Point, found: Coverage) -> CoverageRow:
    published = COVERAGE.get((point.row["phys"], point.row["endpoint"], point.row["coordinator"]))
    return CoverageRow(**point.row, **asdict(found), published=published)


def _resiliency(point: Point, found: Resiliency) -> ResiliencyRow:
    published, again = RESILIENCY.get(found.jammed, (None, None))
    return ResiliencyRow(**point.row, **asdict(found), published=published, published_found=again)


_CARD = "card"
"""The table of points whose results ``emulator_switching`` makes rows of."""
_ROWS: dict[str, Callable[[Point, Any], Any]] = {"coverage": _coverage, "resiliency": _resiliency}


def write(study: EmulatorStudy, folder: Path) -> None:
    """Writes report.md, a CSV file for each table and the figures (PNG, SVG) into a folder, which is made if need be.

    Raises HeadraceError when that can't be done.
    """
    from headrace.evaluate.study.emulator_figures import draw
    from headrace.evaluate.study.emulator_report import markdown

    files.write(folder, study.tables, lambda where: draw(study, where), lambda figures: markdown(study, figures))
