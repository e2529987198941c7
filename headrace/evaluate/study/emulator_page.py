"""The figures of docs/study-emulator.md, by the names of their slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.evaluate.study import emulator_report

if TYPE_CHECKING:
    from headrace.evaluate.study.emulator import EmulatorStudy

FIGURES = {
    "coverage": "study-emulator-coverage",
    "resiliency": "study-emulator-resiliency",
    "bandwidth": "study-emulator-bandwidth",
    "streams": "study-emulator-streams",
}
"""Those that the page shows, and their names there."""


def values(study: EmulatorStudy) -> dict[str, str | None]:
    """Of a whole study. Raises HeadraceError for one without bandwidth."""
    if study.without_traffic:
        raise HeadraceError(f"bandwidth was not measured: {study.without_traffic}")
    tables = {
        "coverage": emulator_report.coverage_table(study),
        "phys": emulator_report.phys_table(study),
        "resiliency": emulator_report.resiliency_table(study),
        "singles": f"{_shown('bandwidth', 'A stream alone')}{emulator_report.singles_table(study)}",
        "five": emulator_report.five_table(study),
        "grid": f"{_shown('streams', 'Twenty streams at the same time')}{emulator_report.grid_table(study)}",
    }
    return {f"emulator.{name}": f"\n\n{table}\n\n" for name, table in tables.items()}


def _shown(name: str, caption: str) -> str:
    return f"![{caption}](images/{FIGURES[name]}.svg)\n\n"
