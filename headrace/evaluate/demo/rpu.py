# SPDX-License-Identifier: Apache-2.0
"""A firewall in C with the accelerator for blocklists, on four units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Group
from rich.text import Text

from headrace.cards.rpu.run import RpuJob
from headrace.cards.rpu.run import run as run_rpu
from headrace.evaluate.demo import Setting, Shown, tcpdump
from headrace.evaluate.demo.views import table, verdict

UNITS = 4


def run(setting: Setting) -> Shown:
    """Drops what the source of most IPv4 packets sends. Raises HeadraceError."""
    folder, capture = setting.folder, setting.traffic.path
    ((blocked, _),) = Counter(_sources(capture)).most_common(1)
    blocklist, output, beside = (folder / name for name in ("drop.txt", "passed.pcap", "passed-tcpdump.pcap"))
    blocklist.write_text(f"{blocked}\n")
    setting.build("rpu", {"UNITS": UNITS}, long=True)
    units = range(UNITS)
    found = run_rpu(
        RpuJob(
            programs=dict.fromkeys(units, "firewall"),
            accelerators=dict.fromkeys(units, "blacklist"),
            sources={0: str(capture)},
            sinks={1: str(output)},
            units=UNITS,
            policy="flow_hash",
            blocklist=str(blocklist),
        )
    )
    tcpdump.filtered(capture, beside, f"not (ip and src host {blocked})")
    same = Counter(tcpdump.packets(output)) == Counter(tcpdump.packets(beside))
    if same:
        beside.unlink()
    counts = ["packets in", "out", "dropped"]
    rows = table("unit", "program", *counts, numbers=counts)
    for unit in found.units:
        numbers = (unit.rx_packets, unit.tx_packets, unit.rx_packets - unit.tx_packets)
        rows.add_row(str(unit.unit), unit.program, *(f"{number:,}" for number in numbers))
    return Shown(
        same,
        Group(
            f"Packets from {blocked} are dropped; flows stay on their unit and in order.",
            "",
            rows,
            "",
            Text.assemble(
                f"{output}: {found.sent:,} packets ", verdict(same, "= what tcpdump lets pass", "not tcpdump's")
            ),
        ),
    )


def _sources(capture: Path) -> Iterator[str]:
    for data in tcpdump.packets(capture):
        if data[12:14] == b"\x08\x00":
            yield ".".join(map(str, data[26:30]))
