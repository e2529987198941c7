"""Looks into the nodes of a running emulation, from outside: ``python -m headrace.emulator.probe NAME``.

Once a second it sends a small frame (64 bytes, a local experimental Ethertype) from every PHY, and takes from the
kernel's clock when it arrives at the other end of the link: so long a link takes, one way, queues before it included.
Beside, it reads the kernel's IPv4 routes of each node. It writes a line of JSON for each second: ``latency_s`` by
sender, a list of ``[node, phy, seconds]``, and ``routes`` of the nodes where they are new, by index, as ``Route``.

It is in the nodes' networks alone, takes nothing of the controller's time but one question for each node, and ends with
the emulation, or with the process that has started it.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import struct
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from headrace.emulator import control, kernel
from headrace.errors import HeadraceError

PERIOD_S = 1.0
_ETHERTYPE = 0x88B5  # IEEE 802: for local experiments
_SO_TIMESTAMPNS = 35
_FRAME = struct.Struct("!6s6sH4sHHIQ")  # to, from, Ethertype, mark, node, PHY, round, when it was sent
_MARK = b"HRPR"
_SIZE = 64
_ANCILLARY = socket.CMSG_SPACE(16)


class Route(NamedTuple):
    """Of a node's kernel, IPv4. ``gateway``: empty, the destination is beside it."""

    destination: str
    prefix: int
    gateway: str
    interface: str
    metric: int


def routes(text: str) -> list[Route]:
    """From ``/proc/net/route``."""
    found = []
    for line in text.splitlines()[1:]:
        words = line.split()
        if int(words[3], 16) & 1:  # it is up
            there, via = (socket.inet_ntoa(struct.pack("=I", int(words[n], 16))) for n in (1, 2))
            prefix = int(words[7], 16).bit_count()
            found.append(Route(there, prefix, "" if via == "0.0.0.0" else via, words[0], int(words[6])))
    return found


class Probe:
    """Sockets in the networks of nodes."""

    def __init__(self, name: str) -> None:
        """Raises HeadraceError when no emulation runs by that name, or another user's does."""
        status = control.ask(name, command="telemetry")
        names = [node["name"] for node in status["nodes"]]
        self._handles = [control.ask(name, command="node", node=each)["fd"] for each in names]
        self._sockets: dict[tuple[int, int], socket.socket] = {}
        self._tables: list[TextIO] = []
        self._known = [""] * len(names)
        self._round = 0
        if os.geteuid() != 0:
            kernel.enter(self._handles[0], kernel.NEWUSER)
            kernel.die_with_parent()  # who becomes another user has to say it again
        for node, handle in enumerate(self._handles):
            kernel.enter(handle, kernel.NEWNET)
            self._tables.append(open("/proc/self/net/route"))  # noqa: SIM115  (it stays this network's)
            for phy in range(status["phys"]):
                link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
                link.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
                link.setblocking(False)
                link.bind((f"phy{phy}", _ETHERTYPE))
                self._sockets[node, phy] = link

    def run(self, out: TextIO) -> None:
        """Until the emulation ends."""
        with selectors.DefaultSelector() as selector:
            for handle in self._handles:
                selector.register(handle, selectors.EVENT_READ)
            for link in self._sockets.values():
                selector.register(link, selectors.EVENT_READ, link)
            due = time.monotonic()
            while True:
                self._send()
                due = max(due + PERIOD_S, time.monotonic())
                latency: dict[tuple[int, int], float] = {}
                while (left := due - time.monotonic()) > 0:
                    for key, _ in selector.select(left):
                        if key.data is None:
                            return
                        self._receive(key.data, latency)
                said = [[node, phy, round(seconds, 7)] for (node, phy), seconds in sorted(latency.items())]
                print(json.dumps({"latency_s": said, "routes": self._new_routes()}), file=out, flush=True)

    def _send(self) -> None:
        self._round += 1
        for (node, phy), link in self._sockets.items():
            own = link.getsockname()[4]
            frame = _FRAME.pack(b"\xff" * 6, own, _ETHERTYPE, _MARK, node, phy, self._round, time.time_ns())
            try:
                link.send(frame.ljust(_SIZE, b"\0"))
            except OSError:
                pass  # no carrier, or a full queue: nothing arrives

    def _receive(self, link: socket.socket, latency: dict[tuple[int, int], float]) -> None:
        try:
            data, more, _, (_, _, kind, _, _) = link.recvmsg(_SIZE, _ANCILLARY)
        except OSError:
            return
        if len(data) < _FRAME.size or not more or kind == socket.PACKET_OUTGOING:
            return
        _, _, _, mark, node, phy, number, sent_ns = _FRAME.unpack_from(data)
        if mark == _MARK and number == self._round:
            seconds, ns = struct.unpack("@qq", more[0][2][:16])
            latency[node, phy] = max(0.0, (seconds * 1_000_000_000 + ns - sent_ns) / 1e9)

    def _new_routes(self) -> dict[int, Sequence[Route]]:
        found: dict[int, Sequence[Route]] = {}
        for node, table in enumerate(self._tables):
            table.seek(0)
            text = table.read()
            if text != self._known[node]:
                self._known[node] = text
                found[node] = routes(text)
        return found


def main() -> int:
    """Returns the exit code."""
    kernel.die_with_parent()
    try:
        Probe(sys.argv[1]).run(sys.stdout)
    except HeadraceError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return error.exit_code
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
