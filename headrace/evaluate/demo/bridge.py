# SPDX-License-Identifier: Apache-2.0
"""Batches of packets from hardware to software: fixed ones, single packets, and those that the card chooses itself."""

from __future__ import annotations

from typing import Any

from rich.console import Group

from headrace.cards.bridge.jobs import ReceiveJob, Report
from headrace.cards.bridge.tools import receive
from headrace.evaluate.demo import Setting, Shown
from headrace.evaluate.demo.views import table, verdict
from headrace.traffic import triangle

TARGET_MS = 0.2
TRAFFIC = triangle.Triangle(length=1024, lower=2_000, upper=50_000, intervals=(0.005, 0.002))
SECONDS = 0.015  # of card time
MODES: dict[str, dict[str, Any]] = {
    "packets one by one": {"buffer_kb": 1},
    "64 KB, 10 ms": {"buffer_kb": 64, "timeout_ms": 10},
    f"adaptive, target {TARGET_MS} ms": {"buffer_kb": 64, "timeout_ms": 10, "adaptive_ms": TARGET_MS},
}


def run(setting: Setting) -> Shown:
    """The same traffic by each mode. Raises HeadraceError."""
    setting.build("bridge")
    file = setting.folder / "triangle.pcap"
    with file.open("wb") as out:
        packets = triangle.write(TRAFFIC, SECONDS, out)
    rows = table(
        "batches", "packets", "messages", "latency, median", "99 %", "", numbers=["packets", "messages", "99 %"]
    )
    rows.columns[3].justify = "right"
    same = True
    for name, settings in MODES.items():
        found = receive(ReceiveJob(link=f"pcap:{file}", rate="recorded", packets=packets, profile="pcie", **settings))
        assert found.latency_ns is not None
        right = found.packets == packets and not found.errors and _in_time(found, settings)
        times = (f"{ns / 1000:,.1f} us" for ns in (found.latency_ns.median, found.latency_ns.p99))
        rows.add_row(name, f"{found.packets:,}", f"{found.batches:,}", *times, verdict(right, "", "wrong"))
        same &= right
    least, most = (rate * TRAFFIC.length * 8 / 1e6 for rate in (TRAFFIC.lower, TRAFFIC.upper))
    return Shown(
        same,
        Group(
            f"Packets of {TRAFFIC.length} bytes come at {least:.0f} to {most:.0f} Mb/s, rising and falling. Each batch "
            f"costs the host a message. Adaptive ones grow as long as 99 of 100 packets come within {TARGET_MS} ms.",
            "",
            rows,
        ),
    )


def _in_time(found: Report, settings: dict[str, Any]) -> bool:
    assert found.latency_ns is not None
    return "adaptive_ms" not in settings or found.latency_ns.p99 <= 1e6 * settings["adaptive_ms"]
