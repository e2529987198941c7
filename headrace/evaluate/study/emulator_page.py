"""The figures of docs/study-emulator.md, by the names of their slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.evaluate.study import emulator_report

if TYPE_CHECKING:
    from headrace.evaluate.study.emulator import EmulatorStudy

FIGURES = {"coverage": "study-emulator-coverage", "resiliency": "study-emulator-resiliency"}
"""Those that the page shows, and their names there."""


def values(study: EmulatorStudy) -> dict[str, str | None]:
    """Of a whole study."""
    tables = {
        "coverage": emulator_report.coverage_table(study),
        "phys": emulator_report.phys_table(study),
        "resiliency": emulator_report.resiliency_table(study),
    }
    return {f"emulator.{name}": f"\n\n{table}\n\n" for name, table in tables.items()}
