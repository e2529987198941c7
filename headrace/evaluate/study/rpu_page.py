"""The figures of docs/study-rpu.md, by the names of their slots."""

from __future__ import annotations

from headrace.evaluate.study import rpu_report
from headrace.evaluate.study.published import ICAP_MBYTE_S, MCAP_MBYTE_S, RPU_RECONFIGURATION_S
from headrace.evaluate.study.rpu_rows import RpuStudy

FIGURES = {"figure_4_2": "study-rpu-forwarding", "figure_4_3": "study-rpu-crc", "stay": "study-rpu-stay"}
"""Those that the page shows, and their names there."""


def values(study: RpuStudy) -> dict[str, str | None]:
    """Of a whole study."""
    sizes = [RPU_RECONFIGURATION_S[1] * rate for rate in MCAP_MBYTE_S]
    tables = {
        "rates": rpu_report.rates_table(study),
        "crc": rpu_report.crc_table(study),
        "cycles": rpu_report.cycles_table(study),
        "stays": rpu_report.stays_table(study),
        "swaps": rpu_report.swaps_table(study),
    }
    words = {
        "bitstream": f"{sizes[0]:.0f} to {sizes[1]:.0f}",
        "icap": f"{ICAP_MBYTE_S:.0f}",
    }
    found = {name: f"\n\n{table}\n\n" for name, table in tables.items()} | words
    return {f"rpu.{name}": value for name, value in found.items()}
