# SPDX-License-Identifier: Apache-2.0
"""A live interface: the capture card and tcpdump beside each other, and the two files compared."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from rich.console import Group
from rich.text import Text

from headrace import paths
from headrace.evaluate.demo import Setting, Shown, live, tcpdump
from headrace.evaluate.demo.views import left_out, verdict
from headrace.evaluate.loads.live import HEADER, HERE, RECORD, cable, capturing, send
from headrace.evaluate.loads.switch_network import until

CARD: dict[str, Any] = {}
PACKETS = 3000
PACKETS_PER_S = 20_000


def run(setting: Setting) -> Shown:
    """Sends a part of the traffic again. Raises HeadraceError."""
    if reason := live.why_not("tcpdump"):
        return left_out(reason)
    setting.build("capture", CARD)
    packets = list(islice(tcpdump.packets(setting.traffic.path), PACKETS))
    size = HEADER + sum(RECORD + len(packet) for packet in packets)
    ours, theirs, report = (setting.folder / name for name in ("live.pcap", "live-tcpdump.pcap", "live.json"))
    settings = [word for name, value in CARD.items() for word in ("-P", f"{name}={value}")]
    words = ["-i", f"iface:{HERE}", "-w", str(ours), "-U", "-q", "--json", str(report), *settings]
    card = [*paths.command(), "capture", *words]
    beside = ["tcpdump", "-i", HERE, "-w", str(theirs), "-U", "-Z", "root"]
    with cable(), capturing(card, ours), capturing(beside, theirs):
        send(packets, PACKETS_PER_S)
        until(lambda: min(ours.stat().st_size, theirs.stat().st_size) >= size, "the packets")
    same = ours.read_bytes() == theirs.read_bytes()
    counts = json.loads(report.read_text())
    dropped = f"{counts['dropped_by_kernel']} dropped by the kernel, {sum(counts['dropped'].values())} by the card"
    return Shown(
        same,
        Group(
            f"{len(packets):,} packets came in at an interface: {counts['captured']:,} captured, {dropped}.",
            Text.assemble(f"{ours}: times and bytes ", verdict(same, "= tcpdump's", "not tcpdump's")),
        ),
    )
