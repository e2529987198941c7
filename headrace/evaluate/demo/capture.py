# SPDX-License-Identifier: Apache-2.0
"""A live interface: the capture card and tcpdump beside each other, and the two files compared."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.text import Text

from headrace import paths
from headrace.errors import HeadraceError
from headrace.evaluate.demo import Setting, Shown, live, tcpdump
from headrace.evaluate.demo.views import left_out, verdict
from headrace.evaluate.loads.switch_network import until
from headrace.net import netlink
from headrace.net.namespaces import own_network

CARD: dict[str, Any] = {}
PACKETS = 3000
PAUSE_EVERY = 32  # packets, for a millisecond
HEADER, RECORD = 24, 16  # bytes of a pcap file

_HERE, _THERE = "card0", "peer0"


def run(setting: Setting) -> Shown:
    """Sends a part of the traffic again. Raises HeadraceError."""
    if reason := live.why_not("tcpdump"):
        return left_out(reason)
    setting.build("capture", CARD)
    packets = list(islice(tcpdump.packets(setting.traffic.path), PACKETS))
    size = HEADER + sum(RECORD + len(packet) for packet in packets)
    ours, theirs, report = (setting.folder / name for name in ("live.pcap", "live-tcpdump.pcap", "live.json"))
    settings = [word for name, value in CARD.items() for word in ("-P", f"{name}={value}")]
    words = ["-i", f"iface:{_HERE}", "-w", str(ours), "-U", "-q", "--json", str(report), *settings]
    card = [*paths.command(), "capture", *words]
    beside = ["tcpdump", "-i", _HERE, "-w", str(theirs), "-U", "-Z", "root"]
    with own_network():
        netlink.add_pair(_HERE, _THERE)
        for name in (_HERE, _THERE):
            netlink.bring_up(name)
        with _until_interrupted(card, ours), _until_interrupted(beside, theirs):
            _send(packets)
            until(lambda: min(ours.stat().st_size, theirs.stat().st_size) >= size, "the packets")
    same = ours.read_bytes() == theirs.read_bytes()
    counts = json.loads(report.read_text())
    dropped = f"{counts['dropped_by_kernel']} dropped by the kernel, {sum(counts['dropped'].values())} by the card"
    return Shown(
        same,
        Group(
            f"{len(packets):,} packets come by an interface: {counts['captured']:,} captured, {dropped}.",
            Text.assemble(f"{ours}: times and bytes ", verdict(same, "= tcpdump's", "not tcpdump's")),
        ),
    )


@contextmanager
def _until_interrupted(words: Sequence[str], file: Path) -> Iterator[None]:
    """A program that captures into a file, which has its header before this goes on. Raises HeadraceError."""
    file.unlink(missing_ok=True)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: process.poll() is not None or (file.exists() and file.stat().st_size >= HEADER), str(file))
            yield
        finally:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate()
    if process.returncode:
        raise HeadraceError(f"{words[0]}: {said.strip()}")


def _send(packets: Sequence[bytes]) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind((_THERE, 0))
        for number, packet in enumerate(packets, 1):
            sender.send(packet)
            if number % PAUSE_EVERY == 0:
                time.sleep(0.001)
