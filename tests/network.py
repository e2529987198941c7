"""A network of the test's own: a namespace with veth pairs, and packets sent at a pace that nobody misses."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNET = 0x4000_0000


def why_not() -> str | None:
    """Why there can be no such network here; None where there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    return None if shutil.which("ip") else "ip is not installed"


@contextmanager
def own_network() -> Iterator[None]:
    """This thread, and what it starts, live in a new network namespace, which goes with the last of them."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if libc.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    try:
        Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")  # no packets but the test's
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
        yield
    finally:
        libc.setns(before, _CLONE_NEWNET)
        os.close(before)


def ip(*arguments: str) -> None:
    """Runs ``ip`` with these words."""
    subprocess.run(["ip", *arguments], check=True)


def add_pair(here: str, there: str) -> None:
    """A cable between two interfaces, which are up."""
    ip("link", "add", here, "type", "veth", "peer", "name", there)
    for name in (here, there):
        ip("link", "set", name, "up")


def send(interface: str, packets: Sequence[bytes], receiver: str | None = None, pause_every: int = 32) -> None:
    """Sends packets, a few dozen a millisecond, and never more than a cable holds before ``receiver`` gets them.

    A veth queues 256 packets, which is little where the kernel has to wait for a busy processor.
    """
    before = received(receiver) if receiver else 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind((interface, 0))
        for number, packet in enumerate(packets, 1):
            sender.send(packet)
            if number % pause_every == 0:
                time.sleep(0.001)
                while receiver and received(receiver) - before < number - 128:
                    time.sleep(0.001)


def received(interface: str) -> int:
    """Packets that an interface has received."""
    lines = [line.split() for line in Path("/proc/thread-self/net/dev").read_text().splitlines()]
    return next(int(line[2]) for line in lines if line[0] == f"{interface}:")


def numbered(count: int, size: int = 60) -> list[bytes]:
    """Frames of their own, each with its number."""
    return [b"\x02" * 12 + b"\x88\xb5" + n.to_bytes(4, "big") + bytes(n % 7 + size - 18) for n in range(count)]


def wait_for(path: Path, size: int, seconds: float = 20) -> None:
    """Until a file has as many bytes."""
    deadline = time.monotonic() + seconds
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < deadline, f"{path} stays shorter than {size} bytes"
        time.sleep(0.02)


def wait_for_capture(seconds: float = 20) -> None:
    """Until some program in this network captures packets."""
    deadline = time.monotonic() + seconds
    while not any(line.split()[5] == "1" for line in Path("/proc/thread-self/net/packet").read_text().splitlines()):
        assert time.monotonic() < deadline, "nobody captures"
        time.sleep(0.02)
