"""The study of the capture card: bpfcap's table 5.1 on Headrace's RTL, and what lies beyond it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from headrace.errors import HeadraceError
from headrace.evaluate.loads import capture as capture_loads
from headrace.evaluate.points import PointsFile, run_points
from headrace.evaluate.study import files
from headrace.evaluate.study.capture_points import TABLES, Point, all_points, cards
from headrace.evaluate.study.capture_rows import FlowRow, Row, SingleRow, TableRow, TogetherRow, rows_of
from headrace.evaluate.study.kernel_path import KernelRow, measure_kernel_path

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class CaptureStudy:
    """What the study found. Without ``kernel_path``, ``no_kernel_path`` says why."""

    quick: bool
    table_5_1: list[TableRow]
    single_packets: list[SingleRow]
    back_to_back: list[TogetherRow]
    streams: list[FlowRow]
    wire: list[FlowRow]
    kernel_path: list[KernelRow]
    no_kernel_path: str | None
    wall_s: float
    measured_on: str = ""

    @property
    def tables(self) -> dict[str, Sequence[Row | KernelRow]]:
        """All rows by their table's name."""
        return {name: getattr(self, name) for name in (*TABLES, "kernel_path")}

    @property
    def faults(self) -> int:
        """Bytes of the ring that are wrong, and packets that the counters can't account for."""
        return sum(row.faults for name in TABLES for row in cast("list[Row]", getattr(self, name)))

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**asdict(self), "faults": self.faults}


def measure(
    quick: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> CaptureStudy:
    """Measures everything, or only ``points`` and not the software path.

    ``quick``: fewer packets, bus widths and burst lengths. ``address``: of a Dask cluster to run the points on; here,
    unless given. ``store``: a file of points, from which those are taken that were found before ``measured_on`` the
    same, and to which others go as they are found. Raises HeadraceError when a card can't be built.
    """
    report = progress or (lambda _what, _done: None)
    start = time.monotonic()
    chosen = all_points(quick) if points is None else points
    with ExitStack() as stack:
        known = stack.enter_context(PointsFile(store, measured_on, [capture_loads])) if store else None
        if address is None:  # on a cluster, each worker builds what it needs
            _build([point for point in chosen if known is None or point.arguments not in known], report)
        results = run_points(
            capture_loads.run,
            [point.arguments for point in chosen],
            address,
            lambda done, all_: report("capture card", done / all_),
            known,
        )
    tables: dict[str, list[Any]] = {name: [] for name in TABLES}
    for point, result in zip(chosen, results, strict=True):
        tables[point.table] += rows_of(point.table, point.name, point.arguments, result)
    kernel_path, reason = _kernel_path(quick, report) if points is None else ([], "left out")
    return CaptureStudy(
        quick=quick,
        **tables,
        kernel_path=kernel_path,
        no_kernel_path=reason,
        wall_s=time.monotonic() - start,
        measured_on=measured_on,
    )


def _build(points: Sequence[Point], report: Progress) -> None:
    needed = cards(points)
    if not needed:
        return
    run_points(
        capture_loads.run,
        [{"kind": "build", **card} for card in needed],
        progress=lambda done, all_: report("cards", done / all_),
    )


def _kernel_path(quick: bool, report: Progress) -> tuple[list[KernelRow], str | None]:
    report("software path", None)
    try:
        return measure_kernel_path(5_000 if quick else 40_000), None
    except HeadraceError as error:
        return [], str(error)


def write(study: CaptureStudy, folder: Path) -> None:
    """Writes report.md, a CSV file for each table and the figures (PNG, SVG) into a folder, which is made if need be.

    Raises HeadraceError when that can't be done.
    """
    from headrace.evaluate.study.capture_figures import draw
    from headrace.evaluate.study.capture_report import markdown

    files.write(folder, study.tables, lambda where: draw(study, where), lambda figures: markdown(study, figures))
