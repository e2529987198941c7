"""The figures of docs/study-filter.md, by the names of their slots."""

from __future__ import annotations

from headrace.evaluate.study import filter_report
from headrace.evaluate.study.filter_rows import FilterStudy

FIGURES = {"insertion": "study-filter-insertion"}
"""Those that the page shows, and their names there."""


def values(study: FilterStudy) -> dict[str, str | None]:
    """Of a whole study."""
    tables = {
        "sizes": filter_report.sizes_table(study),
        "insertion": filter_report.insertion_table(study),
        "classes": filter_report.classes_table(study),
        "cores": filter_report.cores_table(study),
        "parts": filter_report.parts_table(study),
    }
    return {f"filter.{name}": f"\n\n{table}\n\n" for name, table in tables.items()}
