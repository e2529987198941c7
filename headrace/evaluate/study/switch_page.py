"""The figures of docs/study-switch.md, by the names of their slots."""

from __future__ import annotations

from headrace.evaluate.study import switch_report
from headrace.evaluate.study.switch_rows import SwitchStudy

FIGURES = {
    "sizes": "study-switch-sizes",
    "connections": "study-switch-connections",
    "small": "study-switch-small",
    "fir": "study-switch-fir",
}
"""Those that the page shows, and their names there."""


def values(study: SwitchStudy) -> dict[str, str | None]:
    """Of a whole study. What Open vSwitch takes part in stays as it was where it couldn't be measured."""
    tables = {
        "sizes": switch_report.sizes_table(study),
        "fir": switch_report.fir_table(study),
        "barriers": switch_report.barriers_table(study),
    }
    found: dict[str, str | None] = {name: f"\n\n{table}\n\n" for name, table in tables.items()}
    beside = {
        "depths": switch_report.depths_table(study),
        "connections": switch_report.connections_table(study),
        "small": switch_report.small_table(study),
    }
    found |= {name: None if study.without_ovs else f"\n\n{table}\n\n" for name, table in beside.items()}
    return {f"switch.{name}": value for name, value in found.items()}
