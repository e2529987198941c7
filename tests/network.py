"""A network of the test's own: a namespace with veth pairs, and packets sent at a pace that nobody misses."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from patience import until

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


@contextmanager
def host_behind(interface: str, address: str) -> Iterator[list[str]]:
    """Puts an interface into a host of its own, with an address; gives the words that start a program there."""
    own = Path("/proc/thread-self/ns/net").readlink()
    host = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    try:
        until(lambda: Path(f"/proc/{host.pid}/ns/net").readlink() != own, "a namespace")
        there = ["nsenter", "--net", "--target", str(host.pid)]
        ip("link", "set", interface, "netns", str(host.pid))
        for words in (("addr", "add", address, "dev", interface), ("link", "set", interface, "up")):
            subprocess.run([*there, "ip", *words], check=True)
        yield there
    finally:
        host.kill()
        host.wait()


_SENDER = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as stream:
    for _ in range(int(sys.argv[3])):
        stream.sendall(bytes(1 << 17))
"""


def stream(address: str, port: int, chunks: int, there: Sequence[str] = ()) -> None:
    """A TCP connection to ``address``, which is this host's, brings so many times 128 KiB from the host ``there``."""
    with socket.create_server((address, port)) as server:
        words = [*there, sys.executable, "-c", _SENDER, address, str(port), str(chunks)]
        with subprocess.Popen(words) as sender, server.accept()[0] as connection:
            while connection.recv(1 << 20):
                pass
        assert sender.returncode == 0


def tcp_bytes(file: Path) -> int:
    """Bytes that the TCP segments (in IPv4, in Ethernet) of a little-endian pcap file carry, of its whole records."""
    data, at, found = file.read_bytes(), 24, 0
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frame, at = data[at + 16 : at + 16 + length], at + 16 + length
        if len(frame) == length:
            found += struct.unpack_from(">H", frame, 16)[0] - 4 * (frame[14] & 15) - 4 * (frame[46] >> 4)
    return found


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


def wait_for(path: Path, size: int) -> None:
    """Until a file has as many bytes."""
    until(lambda: path.exists() and path.stat().st_size >= size, f"{size} bytes in {path}")


def wait_for_capture() -> None:
    """Until some program in this network captures packets."""
    until(
        lambda: any(line.split()[5] == "1" for line in Path("/proc/thread-self/net/packet").read_text().splitlines()),
        "someone who captures",
    )
