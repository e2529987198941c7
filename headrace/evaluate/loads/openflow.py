"""What a controller measures of any OpenFlow 1.3 switch: flow changes a second, and packets that a barrier misses.

Times are wall-clock times of this machine.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from headrace.errors import HeadraceError
from headrace.net.ovs import ofctl

_VERSION = 4
_HEADER = struct.Struct("!BBHI")
_HELLO, _ERROR, _ECHO_REQUEST, _ECHO_REPLY, _FLOW_MOD, _BARRIER_REQUEST, _BARRIER_REPLY = 0, 1, 2, 3, 14, 20, 21
ADD, _MODIFY, MODIFY_STRICT, DELETE = range(4)
_ANY, _NO_BUFFER, _ALL_TABLES = 0xFFFF_FFFF, 0xFFFF_FFFF, 0xFF
_PRIORITY = 100
_PACKET = bytes(range(60))
_GIVE_UP_S = 600.0  # as long as a busy machine may take
_LOST_S = 20.0


@dataclass(frozen=True)
class FlowMods:
    """So many flows sent to a switch by ovs-ofctl, and how long until it had answered a barrier."""

    flows: int
    seconds: float


@dataclass(frozen=True)
class Stale:
    """Packets that were sent when a change's barrier was answered: those that went the old way, and lost ones."""

    trials: int
    stale: int
    lost: int


class Wire(Protocol):
    """The ports of a switch."""

    def send(self, port: int, packets: Sequence[bytes]) -> None:
        """Packets into a port."""

    def receive(self, port: int, timeout_s: float = 0.0) -> list[bytes]:
        """Packets that came out of a port; waits so long for the first ones."""


class Controller:
    """A connection to a switch. Raises HeadraceError when that closes it, answers an error or doesn't answer."""

    def __init__(self, address: str, meanwhile: Callable[[], object] | None = None) -> None:
        """``address``: ``tcp:HOST:PORT``. ``meanwhile`` is called while the switch hasn't answered; it may be that."""
        _, host, port = address.split(":")
        try:
            self._socket = socket.create_connection((host, int(port)), _GIVE_UP_S)
        except OSError as error:
            raise HeadraceError(f"{address}: {error.strerror or error}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._meanwhile = meanwhile
        self._number = 0
        self._send(_HELLO)
        self.barrier()

    def __enter__(self) -> Controller:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def flow(self, command: int, output: int | None = None) -> None:
        """A change of the flow of port 1 in table 0, whose packets go to port ``output``."""
        match = struct.pack("!HHIIxxxx", 1, 12, 0x8000_0004, 1)  # OXM in_port
        action = b"" if output is None else struct.pack("!HHIH6x", 0, 16, output, 0)
        apply = struct.pack("!HH4x", 4, 8 + len(action)) + action if action else b""
        head = struct.pack("!QQBBHHHIIIH2x", 0, 0, 0, command, 0, 0, _PRIORITY, _NO_BUFFER, _ANY, _ANY, 0)
        self._send(_FLOW_MOD, head + match + apply)

    def clear(self) -> None:
        """No flow is left, in any table."""
        head = struct.pack("!QQBBHHHIIIH2x", 0, 0, _ALL_TABLES, DELETE, 0, 0, 0, _NO_BUFFER, _ANY, _ANY, 0)
        self._send(_FLOW_MOD, head + struct.pack("!HH4x", 1, 4))

    def barrier(self) -> None:
        """Comes back when the switch has answered a barrier."""
        number = self._send(_BARRIER_REQUEST)
        while self._receive() != (_BARRIER_REPLY, number):
            pass

    def keep_alive(self) -> None:
        """Answers what the switch has asked: one that hears nothing for some seconds closes the connection."""
        while select.select([self._socket], [], [], 0)[0]:
            self._receive()

    def _send(self, kind: int, body: bytes = b"") -> int:
        self._number += 1
        self._write(kind, self._number, body)
        return self._number

    def _write(self, kind: int, number: int, body: bytes) -> None:
        try:
            self._socket.sendall(_HEADER.pack(_VERSION, kind, 8 + len(body), number) + body)
        except OSError as error:
            raise _lost(error) from None

    def _receive(self) -> tuple[int, int]:
        """The type and the number of the next message; an echo request is answered."""
        _, kind, length, number = _HEADER.unpack(self._read(8))
        body = self._read(length - 8)
        if kind == _ECHO_REQUEST:
            self._write(_ECHO_REPLY, number, body)
        elif kind == _ERROR:
            raise HeadraceError(f"the switch answers error {struct.unpack_from('!HH', body)}")
        return kind, number

    def _read(self, count: int) -> bytes:
        data, deadline = b"", time.monotonic() + _GIVE_UP_S
        while len(data) < count:
            while self._meanwhile and not select.select([self._socket], [], [], 0)[0]:
                self._meanwhile()
                if time.monotonic() > deadline:
                    raise HeadraceError("the switch does not answer")
            try:
                part = self._socket.recv(count - len(data))
            except OSError as error:
                raise _lost(error) from None
            if not part:
                raise HeadraceError("the switch has closed the connection")
            data += part
        return data


def _lost(error: OSError) -> HeadraceError:
    """What became of the connection."""
    if isinstance(error, TimeoutError):
        return HeadraceError("the switch does not answer")
    return HeadraceError(f"the switch has closed the connection: {error.strerror or error}")


def flow_mods(address: str, count: int, tables: int = 8, bundle: bool = False) -> FlowMods:
    """Adds ``flows`` with ``ovs-ofctl add-flows``; ``bundle``: all or none of them."""
    ofctl(address, "del-flows")
    text = flows(count, tables)
    start = time.perf_counter()
    ofctl(address, "add-flows", "-", *(["--bundle"] if bundle else []), text=text)
    seconds = time.perf_counter() - start
    there = ofctl(address, "dump-aggregate")
    if f"flow_count={count}" not in there:
        raise HeadraceError(f"{count} flows were added, and the switch says {there.strip()}")
    ofctl(address, "del-flows")
    return FlowMods(count, seconds)


def flows(count: int, tables: int) -> str:
    """So many flows of TCP connections, spread over tables, as ovs-ofctl reads them."""
    lines = []
    for number in range(count):
        table, connection = number % tables, number // tables
        client = f"10.{connection >> 16}.{connection >> 8 & 255}.{connection & 255}"
        match = f"tcp,nw_src={client},nw_dst=10.255.0.1,tcp_src={1024 + connection},tcp_dst=80"
        lines.append(f"table={table},priority=100,{match},actions=output:2\n")
    return "".join(lines)


def stale_packets(
    address: str, wire: Wire, trials: int, replace: bool = False, meanwhile: Callable[[], object] | None = None
) -> Stale:
    """A flow goes to another port: it is changed, or deleted and added (``replace``), then comes a barrier; the packet
    after its answer must go the new way. Packets have just used the flow.

    ``wire``: ports 1 to 3. ``meanwhile``: as ``Controller``'s. Raises HeadraceError where the switch never does what it
    is told.
    """
    stale = lost = 0
    with Controller(address, meanwhile) as controller:
        controller.clear()
        controller.flow(ADD, 3)
        controller.barrier()
        for trial in range(trials):
            old, new = (2, 3) if trial % 2 else (3, 2)
            _use(wire, old, controller)
            if replace:
                controller.flow(DELETE)
                controller.flow(ADD, new)
            else:
                controller.flow(MODIFY_STRICT, new)
            controller.barrier()
            port = _way(wire, controller)
            stale += port == old
            lost += port is None
    return Stale(trials, stale, lost)


def _use(wire: Wire, port: int, controller: Controller) -> None:
    """Sends packets until two of them have gone to a port."""
    deadline, passed = time.monotonic() + _GIVE_UP_S, 0
    while passed < 2:
        passed += _way(wire, controller) == port
        if time.monotonic() > deadline:
            raise HeadraceError(f"no packet goes to port {port}, to which the flow sends them")


def _way(wire: Wire, controller: Controller) -> int | None:
    """The port that a packet comes out of; None: of neither. Its switch hears of the controller meanwhile."""
    wire.send(1, [_PACKET])
    deadline = time.monotonic() + _LOST_S
    while time.monotonic() < deadline:
        for port in (2, 3):
            if wire.receive(port):
                return port
        controller.keep_alive()
        time.sleep(0.0001)
    return None
