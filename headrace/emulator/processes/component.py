"""What the processes of a mobile node share: a network of their own inside the node, and how they find each other.

Each has a network namespace, with an interface that the node's bridge joins to the others', and speaks UDP there. They
know no addresses: who needs a role asks all for it (WHO), who has it answers (IS), as ARP does for addresses; who
begins says so to all. The control processor says every ``BEAT_S`` that it is there, and hears from all how they are.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.emulator import kernel
from headrace.emulator.processes import loop, wire
from headrace.emulator.processes.wire import Kind, Malformed, Packet, encode

BEAT_S = 2.0
CONTROL, MESSENGER, MPHY = "control", "messenger", "mphy"
_PORT = 4800
_NETWORK = "172.31.0."
_ASK_AGAIN_S = 0.25
_PARKED = 32  # packets that wait until a role is found
_AT_ONCE = 64
_RECEIVE = 1 << 22
_BROADCAST = (f"{_NETWORK}255", _PORT)
_BETWEEN_NODES = range(Kind.HELLO, Kind.FILL + 1)


@dataclass(frozen=True)
class Seat:
    """Whose place a process takes: its ``role`` (control, messenger, phy0 ..., mphy) in a ``node`` (its number from 1,
    its ``name``, its ``address``). ``host``: its number in the node. ``coordinator``: that node's number, 0: there is
    none; ``endpoints``: those of the routing endpoints."""

    role: str
    host: int
    node: int
    name: str
    address: str
    coordinator: int = 0
    endpoints: tuple[int, ...] = ()

    @property
    def is_way_out(self) -> bool:
        """Whether its M-PHY carries messages."""
        return self.node == self.coordinator or self.node in self.endpoints


class Component:
    """A process of a node, in its own network."""

    def __init__(self, seat: Seat) -> None:
        """``enter_network`` has been called."""
        self.seat, self.loop = seat, loop.Loop()
        self.counts: Counter[str] = Counter()
        self.routes: dict[int, tuple[int, str]] = {}
        """For each destination the next node and the role that has the connection to it."""
        self.version = 0
        self._known: dict[str, tuple[str, int]] = {}
        self._learned = {_BROADCAST}
        self._parked: dict[str, deque[bytearray]] = {}
        self._buffer = bytearray(wire.HEAD_BYTES + wire.MAX_BODY + 1)
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        loop.grow(self.link, _RECEIVE)
        self.link.bind(("", _PORT))
        self.link.setblocking(False)
        self.loop.watch(self.link, self._read)
        loop.serve(self.loop, seat.role, self._answer)
        self._say_to(_BROADCAST, Kind.IS, {"role": seat.role})

    def run(self) -> None:
        """For ever."""
        self.loop.run()

    # ---------------------------------------------------------------------------------------- for those who are one

    def hear(self, packet: Packet, role: str) -> None:
        """A packet from another process of the node."""

    def pass_on(self, data: bytearray) -> None:
        """A packet that goes to another node or comes from one."""
        packet = wire.decode(data)
        self.hear(packet, "")

    def request(self, request: Mapping[str, Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """The answer to a request from outside; None: it is unknown. Raises ValueError."""
        return None

    def stats(self) -> dict[str, Any]:
        """What is told of it."""
        return {}

    def routes_changed(self) -> None:
        """There are new routes."""

    # ------------------------------------------------------------------------------------------------------ sending

    def send(self, role: str, data: bytearray) -> None:
        """Sends a packet to who has a role, as soon as that is known."""
        address = self._known.get(role)
        if address is not None:
            self._send(address, data)
            return
        if role not in self._parked:
            self._parked[role] = deque(maxlen=_PARKED)
            self._ask(role)
        if len(self._parked[role]) == _PARKED:
            self.counts["unresolved"] += 1
        self._parked[role].append(data)

    def say(self, role: str, kind: Kind, value: Mapping[str, Any], **head: int) -> None:
        """Sends JSON to who has a role."""
        self.send(role, encode(Packet(kind, self.seat.node, body=wire.to_json(value), **head)))

    def say_to_all(self, kind: Kind, value: Mapping[str, Any]) -> None:
        """Sends JSON to all in the node."""
        self._say_to(_BROADCAST, kind, value)

    # ------------------------------------------------------------------------------------------------------- inside

    def _ask(self, role: str) -> None:
        if role in self._parked:
            self.counts["asked"] += 1
            self._say_to(_BROADCAST, Kind.WHO, {"role": role})
            self.loop.later(_ASK_AGAIN_S, lambda: self._ask(role))

    def _say_to(self, address: tuple[str, int], kind: Kind, value: Mapping[str, Any]) -> None:
        self._send(address, encode(Packet(kind, self.seat.node, body=wire.to_json(value))))

    def _send(self, address: tuple[str, int], data: bytearray) -> None:
        try:
            if address not in self._learned:
                _learn(self.link, address[0])
                self._learned.add(address)
            self.link.sendto(data, address)
            self.counts["sent"] += 1
        except OSError:
            self.counts["not_sent"] += 1

    def _read(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                size, address = self.link.recvfrom_into(self._buffer)
            except OSError:
                return
            self.counts["received"] += 1
            data = self._buffer[:size]
            try:
                if not size or wire.length(data) != size:
                    raise Malformed("its length isn't what it says")
                if data[3] in _BETWEEN_NODES:
                    self.pass_on(data)
                else:
                    self._hear(wire.decode(data), address)
            except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
                self.counts["malformed"] += 1
                print(f"malformed, from {address[0]}: {error}", flush=True)

    def _hear(self, packet: Packet, address: tuple[str, int]) -> None:
        match packet.kind:
            case Kind.WHO:
                if wire.from_json(packet.body)["role"] == self.seat.role:
                    self._say_to(address, Kind.IS, {"role": self.seat.role})
            case Kind.IS:
                role = str(wire.from_json(packet.body)["role"])
                self._known[role] = address
                for data in self._parked.pop(role, ()):
                    self._send(address, data)
                self.hear(packet, role)
            case Kind.TABLE:
                table = wire.from_json(packet.body)
                self.routes = {int(to): (int(via), str(role)) for to, (via, role) in table["routes"].items()}
                self.version = int(table["version"])
                self.routes_changed()
            case _:
                role = next((role for role, known in self._known.items() if known == address), "")
                self.hear(packet, role)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "stats":
            own = {"role": self.seat.role, "pid": os.getpid(), "knows": sorted(self._known)}
            drops = {"receive_drops": loop.datagram_drops()}
            return {**own, "counts": dict(self.counts) | drops, **self.stats()}
        said = self.request(request)
        if said is None:
            raise ValueError(f"unknown request: {request}")
        return said


# ---------------------------------------------------------------------------------------------------------- the network

_SET_FLAGS, _SET_ADDRESS, _SET_BROADCAST, _SET_MASK, _SET_ARP = 0x8914, 0x8916, 0x891A, 0x891C, 0x8955
_UP = 1
_PERMANENT = 6  # ATF_COM | ATF_PERM


def mac(host: int) -> str:
    """The address of a process's interface."""
    return f"02:00:ac:1f:00:{host:02x}"


def _learn(link: socket.socket, address: str) -> None:
    """Makes an entry of the kernel's ARP table that stays. All networks of a machine share that table, and it is full
    after 1024 entries of other kinds. Raises OSError."""
    hardware = bytes.fromhex(mac(int(address.rpartition(".")[2])).replace(":", ""))
    protocol = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
    request = protocol + struct.pack("H14s", 1, hardware) + struct.pack("i16s16s", _PERMANENT, b"", b"eth0")
    fcntl.ioctl(link, _SET_ARP, request)


def leave_network() -> int:
    """Goes into a new network; gives the node's, as a file descriptor."""
    node = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    kernel.unshare(kernel.NEWNET)
    kernel.no_ipv6()
    return node


def enter_network(host: int) -> None:
    """Once the interface is there: gives it its address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        for request, text in (
            (_SET_ADDRESS, f"{_NETWORK}{host}"),
            (_SET_MASK, "255.255.255.0"),
            (_SET_BROADCAST, f"{_NETWORK}255"),
        ):
            address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))
            fcntl.ioctl(link, request, struct.pack("16s16s8x", b"eth0", address))
        fcntl.ioctl(link, _SET_FLAGS, struct.pack("16sH22x", b"eth0", _UP))


class Outside:
    """The node's network, for sockets that are made in it; the process stays in its own."""

    def __init__(self, node: int) -> None:
        self._node, self._own = node, os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        kernel.enter(self._node, kernel.NEWNET)
        try:
            yield
        finally:
            kernel.enter(self._own, kernel.NEWNET)


def now_s() -> float:
    """The time that routing and connections go by."""
    return time.monotonic()
