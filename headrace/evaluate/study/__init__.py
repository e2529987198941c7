"""Studies: sweeps that repeat a published system's measurements on Headrace's card, and go on where they end.

The files of a study NAME, of which each uses only those before it: ``NAME_published`` what others measured,
``NAME_points`` what is swept, ``NAME_rows`` the tables that come of it; then ``NAME``, which measures, and beside it
``NAME_figures``, ``NAME_report`` and ``NAME_page``, which show the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace.evaluate.points import PointsFile, Progress, part_of, run_points


@dataclass(frozen=True)
class Point:
    """Work for one worker: the table that it is for, the ``arguments`` of its study's load, and what else the table's
    rows need to know."""

    table: str
    arguments: dict[str, Any]
    names: dict[str, Any] = field(default_factory=dict)


class Tables:
    """Of a dataclass whose lists are the rows of tables."""

    @property
    def tables(self) -> dict[str, list[Any]]:
        """All rows by their table's name."""
        return {name: rows for name, rows in vars(self).items() if isinstance(rows, list)}


@dataclass(frozen=True, kw_only=True)
class Study(Tables):
    """What a study found. Each has ``faults`` as well: what came out as it never may."""

    full: bool
    wall_s: float
    measured_on: str = ""

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**asdict(self), "faults": self.faults}  # type: ignore[attr-defined]


def sweep(
    what: str,
    load: Callable[..., Any],
    points: Sequence[Point],
    build: Callable[[Sequence[dict[str, Any]]], None],
    results: Sequence[ModuleType],
    address: str | None,
    progress: Progress,
    store: Path | None,
    measured_on: str,
) -> list[tuple[Point, Any]]:
    """Points and what the ``load`` gives for their arguments; the last four arguments as ``capture.measure`` has them.

    ``build``: makes what the arguments need, once, before they are run here; on a cluster each worker does.
    ``results``: modules whose dataclasses results are made of.
    """
    arguments = [point.arguments for point in points]
    with PointsFile(store, measured_on, results) if store else nullcontext() as known:
        if address is None:
            build([each for each in arguments if known is None or each not in known])
        found = run_points(load, arguments, address, part_of(progress, what), known)
    return list(zip(points, found, strict=True))
