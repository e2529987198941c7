"""Looks into the nodes of a running emulation, from outside: ``python -m headrace.emulator.probe NAME``.

Once a second it sends a small frame (64 bytes, a local experimental Ethertype) from every PHY, and takes from the
kernel's clock when it arrives at the other end of the link: so long a link takes, one way, queues before it included.
What comes from a node of another host, whose clock is another one, is sent back, and half of the round trip counts.
Beside, it reads the kernel's IPv4 routes of each node. It writes a line of JSON for each second: ``latency_s`` by
sender, a list of ``[node, phy, seconds]``, and ``routes`` of the nodes where they are new, by index, as ``Route``.

It is in the nodes' networks alone, takes nothing of the controller's time but one question for each node, and ends with
the emulation, or with the process that has started it. Over several hosts there is one on each, and their lines are
written here.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from headrace.emulator import control, kernel
from headrace.emulator.client import Elsewhere, entering
from headrace.errors import HeadraceError

PERIOD_S = 1.0
_ETHERTYPE = 0x88B5  # IEEE 802: for local experiments
_SO_TIMESTAMPNS = 35
_FRAME = struct.Struct("!6s6sH4sHHIQ")  # to, from, Ethertype, mark, node, PHY, round, when it was sent
_MARK, _BACK = b"HRPR", b"HRPB"
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
    """Sockets in the networks of nodes that are here."""

    def __init__(self, name: str, status: Mapping[str, Any]) -> None:
        """``status``: the emulation's. Raises HeadraceError when it has ended, or is another user's."""
        found = [control.ask(name, command="node", node=node["name"]) for node in status["nodes"]]
        handles = {int(node["env"]["HEADRACE_NUMBER"]) - 1: node["fd"] for node in found}
        self._handles = list(handles.values())
        self._sockets: dict[tuple[int, int], socket.socket] = {}
        self._tables: dict[int, TextIO] = {}
        self._known = dict.fromkeys(handles, "")
        self._round = 0
        if os.geteuid() != 0:
            kernel.enter(self._handles[0], kernel.NEWUSER)
            kernel.die_with_parent()  # who becomes another user has to say it again
        for node, handle in handles.items():
            kernel.enter(handle, kernel.NEWNET)
            self._tables[node] = open("/proc/self/net/route")  # noqa: SIM115  (it stays this network's)
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
        for ends, link in self._sockets.items():
            _send(link, _MARK, *ends, self._round, time.time_ns())

    def _receive(self, link: socket.socket, latency: dict[tuple[int, int], float]) -> None:
        try:
            data, more, _, (_, _, kind, _, _) = link.recvmsg(_SIZE, _ANCILLARY)
        except OSError:
            return
        if len(data) < _FRAME.size or not more or kind == socket.PACKET_OUTGOING:
            return
        _, _, _, mark, node, phy, number, sent_ns = _FRAME.unpack_from(data)
        if (node, phy) not in self._sockets:
            if mark == _MARK:
                _send(link, _BACK, node, phy, number, sent_ns)
        elif mark in (_MARK, _BACK) and number == self._round:
            seconds, ns = struct.unpack("@qq", more[0][2][:16])
            ways = 1 if mark == _MARK else 2
            latency[node, phy] = max(0.0, (seconds * 1_000_000_000 + ns - sent_ns) / 1e9 / ways)

    def _new_routes(self) -> dict[int, Sequence[Route]]:
        found: dict[int, Sequence[Route]] = {}
        for node, table in self._tables.items():
            table.seek(0)
            text = table.read()
            if text != self._known[node]:
                self._known[node] = text
                found[node] = routes(text)
        return found


def _send(link: socket.socket, mark: bytes, node: int, phy: int, number: int, sent_ns: int) -> None:
    frame = _FRAME.pack(b"\xff" * 6, link.getsockname()[4], _ETHERTYPE, mark, node, phy, number, sent_ns)
    try:
        link.send(frame.ljust(_SIZE, b"\0"))
    except OSError:
        pass  # no carrier, or a full queue: nothing arrives


def _on_hosts(name: str, status: Mapping[str, Any], out: TextIO) -> None:
    """Hands on what the probes of all hosts write, until they end. Raises HeadraceError."""
    from headrace.emulator import remote, workers

    places = [_place(name, host["nodes"][0]) for host in status["hosts"]]
    there = [place for place in places if place is not None]
    lock = threading.Lock()

    def follow(command: remote.Command) -> None:
        rest = b""
        with contextlib.suppress(HeadraceError):  # the host is lost
            while command.code is None:
                rest += b"".join(data for file, data in command.more() if file == 1)
                lines, end, rest = rest.rpartition(b"\n")
                with lock:
                    out.write((lines + end).decode())
                    out.flush()

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with workers.connect(there[0].cluster) as client, contextlib.ExitStack() as stack:
        threads = []
        for each in there:
            command = remote.Command(client, each, ["-m", "headrace.emulator.probe", name], module=True)
            threads.append(threading.Thread(target=follow, args=[command], daemon=True))
            threads[-1].start()
            stack.callback(threads[-1].join)
            stack.callback(command.kill)
        for thread in threads:
            thread.join()


def _place(name: str, node: str) -> Elsewhere | None:
    """Where a node is; None: nowhere any more."""
    try:
        entering(name, node)
    except Elsewhere as there:
        return there
    except HeadraceError:
        pass
    return None


def main() -> int:
    """Returns the exit code."""
    kernel.die_with_parent()
    try:
        name = sys.argv[1]
        status = control.ask(name, command="telemetry")
        if "hosts" in status:
            _on_hosts(name, status, sys.stdout)
        else:
            Probe(name, status).run(sys.stdout)
    except HeadraceError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return error.exit_code
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
