"""The figures of docs/study-host.md, by the names of their slots."""

from __future__ import annotations

from headrace.evaluate.study import host_report
from headrace.evaluate.study.host_rows import HostStudy

FIGURES = {
    "transfers": "study-host-transfers",
    "windows": "study-host-windows",
    "links": "study-host-links",
    "interrupts": "study-host-interrupts",
}
"""Those that the page shows, and their names there."""


def values(study: HostStudy) -> dict[str, str | None]:
    """Of a whole study. What this machine couldn't measure stays as it was."""
    pcie = {
        "payloads": host_report.payloads_table(study),
        "windows": host_report.windows_table(study),
        "transfers": host_report.transfers_table(study),
        "links": host_report.links_table(study),
    }
    rest = {
        "latencies": host_report.latencies_table(study),
        "moderations": host_report.moderations_table(study),
    }
    paths = {"paths": host_report.paths_table(study)}
    found: dict[str, str | None] = {name: f"\n\n{table}\n\n" for name, table in rest.items()}
    found |= {name: None if study.without_pcie else f"\n\n{table}\n\n" for name, table in pcie.items()}
    found |= {name: None if study.without_paths else f"\n\n{table}\n\n" for name, table in paths.items()}
    return {f"host.{name}": value for name, value in found.items()}
