"""A network of the test's own: a namespace with veth pairs, and packets sent at a pace that nobody misses."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from patience import until

from headrace.net import netlink
from headrace.net.namespaces import host_behind, ip, own_network, why_not  # noqa: F401  (tests take all from here)


def add_pair(here: str, there: str) -> None:
    """A cable between two interfaces, which are up."""
    netlink.add_pair(here, there)
    for name in (here, there):
        netlink.bring_up(name)


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
