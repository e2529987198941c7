"""The figures of docs/study-emulator.md, by the names of their slots."""

from __future__ import annotations

from headrace.errors import HeadraceError
from headrace.evaluate.study import emulator_report
from headrace.evaluate.study import emulator_switching_report as switching
from headrace.evaluate.study.emulator_rows import EmulatorStudy

FIGURES = {
    "coverage": "study-emulator-coverage",
    "resiliency": "study-emulator-resiliency",
    "bandwidth": "study-emulator-bandwidth",
    "streams": "study-emulator-streams",
    "small": "study-emulator-small",
    "six": "study-emulator-six",
    "filtered": "study-emulator-filtered",
}
"""Those that the page shows, and their names there."""


def values(study: EmulatorStudy) -> dict[str, str | None]:
    """Of a whole study. Raises HeadraceError for one without bandwidth, or without a fabric."""
    reasons = [study.without_traffic, *(f"{fabric}: {why}" for fabric, why in study.switching.without.items())]
    if reason := next(filter(None, reasons), ""):
        raise HeadraceError(f"bandwidth was not measured: {reason}")
    tables = {
        "coverage": emulator_report.coverage_table(study),
        "phys": emulator_report.phys_table(study),
        "resiliency": emulator_report.resiliency_table(study),
        "healed": emulator_report.healed_table(study),
        "singles": f"{_shown('bandwidth', 'A stream alone')}{emulator_report.singles_table(study)}",
        "five": emulator_report.five_table(study),
        "grid": f"{_shown('streams', 'Twenty streams at the same time')}{emulator_report.grid_table(study)}",
        "pairs": switching.pairs_table(study.switching),
        "small": f"{_shown('small', 'Small packets')}{switching.small_table(study.switching)}",
        "six": f"{_shown('six', 'Streams among six nodes')}{switching.six_table(study.switching)}",
        "filtered": f"{_shown('filtered', 'A filter in the card or in the node')}"
        f"{switching.filter_table(study.switching)}",
    }
    return {f"emulator.{name}": f"\n\n{table}\n\n" for name, table in tables.items()}


def _shown(name: str, caption: str) -> str:
    return f"![{caption}](images/{FIGURES[name]}.svg)\n\n"
