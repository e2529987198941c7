# SPDX-License-Identifier: Apache-2.0
"""What programs capture from a live interface, in wall time: the cards and tcpdump, on a cable of a network of their
own."""

from __future__ import annotations

import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from headrace import paths
from headrace.errors import HeadraceError
from headrace.evaluate.loads.switch_network import until
from headrace.net import netlink
from headrace.net.namespaces import own_network

HERE, _THERE = "card0", "peer0"
_BUFFER_KIB = "65536"  # as of the cards' live links
PROGRAMS: Mapping[str, Callable[[str], list[str]]] = {
    "tcpdump": lambda file: ["tcpdump", "-U", "-B", _BUFFER_KIB, "-Z", "root", "-i", HERE, "-w", file],
    "filter, iface:": lambda file: [*paths.command(), "filter", "", f"iface:{HERE}", "-w", file, "-q"],
    "filter, xdp:": lambda file: [*paths.command(), "filter", "", f"xdp:{HERE}", "-w", file, "-q"],
    "capture, iface:": lambda file: [*paths.command(), "capture", "-U", "-q", "-i", f"iface:{HERE}", "-w", file],
    "capture, xdp:": lambda file: [*paths.command(), "capture", "-U", "-q", "-i", f"xdp:{HERE}", "-w", file],
}
"""By name: the words that write an interface's packets into a file, each as it comes."""

HEADER, RECORD = 24, 16  # bytes of a pcap file
_LOOK_S = 0.002


@dataclass(frozen=True)
class Captured:
    """``sent`` packets in ``sending_s``, of which ``written`` are in the file; until the last of them ``seconds``."""

    sent: int
    sending_s: float
    written: int
    seconds: float


def captured(program: str, size: int, count: int, packets_per_s: float | None = None) -> Captured:
    """Sends packets of so many bytes to an interface at which a program of ``PROGRAMS`` captures, as fast as they go or
    so many a second. Raises HeadraceError."""
    with tempfile.TemporaryDirectory() as folder, cable():
        file = Path(folder) / "out.pcap"
        with capturing(PROGRAMS[program](str(file)), file):
            begin = time.monotonic()
            frame = b"\2" * 12 + b"\x88\xb5" + bytes(size - 14)  # a host's experimental one: nobody answers
            send(repeat(frame, count), packets_per_s)
            sent = time.monotonic()
            end = _settled(file)
        return Captured(count, sent - begin, (_size(file) - HEADER) // (RECORD + size), end - begin)


@contextmanager
def cable() -> Iterator[None]:
    """In a network of its own, an interface ``HERE`` that gets what is sent. Raises HeadraceError."""
    with own_network():
        netlink.add_pair(HERE, _THERE)
        for name in (HERE, _THERE):
            netlink.bring_up(name)
        yield


@contextmanager
def capturing(words: Sequence[str], file: Path) -> Iterator[None]:
    """A program that captures into a file, which has its header before this goes on, and is interrupted at the end.
    Raises HeadraceError where it fails."""
    file.unlink(missing_ok=True)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: process.poll() is not None or _size(file) >= HEADER, str(file))
            yield
        finally:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate()
    if process.returncode:
        raise HeadraceError(f"{words[0]}: {said.strip()}")


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def send(packets: Iterable[bytes], packets_per_s: float | None = None) -> None:
    """Sends packets to the interface, as fast as they go or so many a second."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind((_THERE, 0))
        begin = time.monotonic()
        for number, packet in enumerate(packets):
            if packets_per_s is not None:
                while (wait := begin + number / packets_per_s - time.monotonic()) > 0:
                    time.sleep(wait)
            sender.send(packet)


def _settled(file: Path) -> float:
    """Waits until a file doesn't grow; gives the time at which it grew last."""
    last, when = _size(file), time.monotonic()
    while time.monotonic() - when < 1:
        time.sleep(_LOOK_S)
        if (size := _size(file)) != last:
            last, when = size, time.monotonic()
    return when
