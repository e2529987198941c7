"""Benchmarks: each figure that Headrace claims, as a row that says what must be, what is, and how it was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

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
