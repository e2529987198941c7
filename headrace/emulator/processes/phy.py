"""A PHY: the end of a TCP connection to a neighbour's PHY, over the fabric. It passes on what its node's processes send
over it, and what comes from there goes to who it is for, or to the PHY with the next hop.

It has one connection, to whom the control processor says, and tells it when that is there and when it is lost: the
other end closes it, says nothing for ``SILENCE_S``, TCP gives up, or the simulation controller takes the link away.
An M-PHY is one in the management network, which no physics is in; the master coordinator's has a connection to every
node's.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.emulator.processes import pipe, wire
from headrace.emulator.processes.component import CONTROL, MESSENGER, MPHY, Component, Outside, Seat
from headrace.emulator.processes.pipe import Pipe
from headrace.emulator.processes.wire import Kind, Malformed, Packet, encode

HELLO_S, SILENCE_S = 2.0, 10.0
_RETRY_S, _LONGEST_RETRY_S = 0.1, 1.0
_NO_ROUTE_S = 0.2  # so often the control processor hears of the same one
_PORT = 4801
_FILL_AHEAD, _FILL_AT_ONCE, _FILL_S = 1 << 19, 256, 2e-4
_KINDS_OF_CONTROL = (Kind.REQUEST, Kind.REPLY, Kind.ERROR, Kind.REPORT)


class _Wanted(NamedTuple):
    """Whom to be connected to, and whether this end connects."""

    peer: int
    address: str
    connects: bool


class Phy(Component):
    """``phy0`` and on, or ``mphy``."""

    def __init__(self, seat: Seat, outside: Outside) -> None:
        super().__init__(seat)
        self._outside = outside
        self._device = "mgmt0" if seat.role == MPHY else seat.role
        self._wanted: _Wanted | None = None
        self._takes_all = seat.role == MPHY and seat.node == seat.coordinator
        self._pipes: dict[int, Pipe] = {}
        self._new: set[Pipe] = set()  # whose other end isn't known yet
        self._calling: Pipe | None = None
        self._no_route_s: dict[int, float] = {}
        self._wait_s = _RETRY_S
        self._fill_s: list[float] = []
        with outside():
            self._listener = self._socket()
        pipe.listen(self._listener, "", _PORT)
        self.loop.watch(self._listener, self._accept)
        self.loop.every(HELLO_S, self._look)
        self._tell()

    # ----------------------------------------------------------------------------------------------- connections

    def _socket(self) -> socket.socket:
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self._device.encode())
        return link

    def _want(self, wanted: _Wanted | None) -> None:
        if wanted == self._wanted:
            return
        self._wanted = wanted
        for each in [*self._pipes.values(), *self._new]:
            if wanted is None or each.peer != wanted.peer:
                each.close("the link is lost")
        self._wait_s = _RETRY_S
        self._connect()

    def _connect(self) -> None:
        wanted = self._wanted
        if wanted is None or not wanted.connects or wanted.peer in self._pipes or self._calling in self._new:
            return
        with self._outside():
            link = self._socket()
        if pipe.connect(link, (wanted.address, _PORT)):
            self._calling = self._begin(link)
        else:
            self._again()

    def _again(self) -> None:
        """Connects again later."""
        wanted = self._wanted
        self.loop.later(self._wait_s, lambda: self._connect() if self._wanted is wanted else None)
        self._wait_s = min(2 * self._wait_s, _LONGEST_RETRY_S)

    def _accept(self) -> None:
        link = pipe.accept(self._listener)
        if link is not None:
            self._begin(link)

    def _begin(self, link: socket.socket) -> Pipe:
        end = Pipe(self.loop, link, self._hear_peer, self._gone, self._greet)
        self._new.add(end)
        return end

    def _greet(self, end: Pipe) -> None:
        end.send(encode(Packet(Kind.HELLO, self.seat.node)), always=True)

    def _meet(self, end: Pipe, peer: int) -> None:
        """Who is at the other end has said so."""
        wanted = self._wanted
        if not self._takes_all and (wanted is None or peer != wanted.peer):
            end.close("not the neighbour that was asked for")
            return
        if peer in self._pipes:
            self._pipes[peer].close("there is a new one")
        self._new.discard(end)
        end.peer = peer
        self._pipes[peer] = end
        self._wait_s = _RETRY_S
        self.counts["connected"] += 1
        self._tell()

    def _gone(self, end: Pipe, reason: str) -> None:
        self._new.discard(end)
        self.counts.update(end.counts)
        if self._pipes.get(end.peer) is end:
            del self._pipes[end.peer]
            self.counts["lost"] += 1
            print(f"the connection to node {end.peer} is lost: {reason}", flush=True)
            self._tell()
        if self._wanted is not None and self._wanted.connects:
            self._again()

    def _look(self) -> None:
        """Says hello, and finds who has been silent."""
        now = time.monotonic()
        for end in [*self._pipes.values(), *self._new]:
            if now - end.heard_s > SILENCE_S:
                end.close(f"silent for {now - end.heard_s:.0f} s")
            elif end.peer and now - end.sent_s >= 0.9 * HELLO_S:
                self._greet(end)

    def _tell(self) -> None:
        """Tells the control processor how it is."""
        self.say(CONTROL, Kind.STATE, {"role": self.seat.role, "peers": list(self._pipes), "version": self.version})

    # --------------------------------------------------------------------------------------------------- packets

    def hear(self, packet: Packet, role: str) -> None:
        """The control processor's word."""
        match packet.kind:
            case Kind.IS if role == CONTROL:
                self._tell()
            case Kind.LINK:
                link = wire.from_json(packet.body)
                wanted = _Wanted(int(link["peer"]), str(link["address"]), bool(link["connects"]))
                self._want(wanted if wanted.peer else None)

    def routes_changed(self) -> None:
        """It has them."""
        self._tell()

    def pass_on(self, data: bytearray) -> None:
        """To the neighbour that it is for."""
        kind, _, _, via = wire.route_of(data)
        end = self._pipes.get(via)
        if kind == Kind.FILL and end is None:
            self._fill(len(data))
        elif end is None:
            self.counts["not_connected"] += 1
        else:
            end.send(data, always=kind in _KINDS_OF_CONTROL)

    def _hear_peer(self, end: Pipe, data: bytearray) -> None:
        """A packet from a connection. Raises Malformed."""
        kind, destination, ttl, _ = wire.route_of(data)
        if kind == Kind.HELLO:
            if not end.peer:
                self._meet(end, wire.decode(data).source)
        elif not end.peer:
            raise Malformed("no hello before it")
        elif kind in (Kind.DATA, Kind.ACK):
            self._forward(end, data, destination, ttl)
        elif kind in _KINDS_OF_CONTROL:
            wire.set_via(data, end.peer)
            self.send(CONTROL, data)
        elif kind == Kind.FILL:
            self._fill(len(data))
        else:
            raise Malformed(f"{Kind(kind).name} is not for other nodes")

    def _forward(self, end: Pipe, data: bytearray, destination: int, ttl: int) -> None:
        if destination == self.seat.node:
            self.send(MESSENGER, data)
        elif ttl <= 1:
            self.counts["too_far"] += 1
        elif destination not in self.routes:
            self.counts["no_route"] += 1
            now = time.monotonic()
            if now - self._no_route_s.get(destination, 0.0) > _NO_ROUTE_S:
                self._no_route_s[destination] = now
                self.say(CONTROL, Kind.NO_ROUTE, {}, destination=destination, via=end.peer)
        else:
            self.counts["relayed"] += 1
            via, role = self.routes[destination]
            wire.relay(data, via)
            if role == self.seat.role:
                self.pass_on(data)
            else:
                self.send(role, data)

    # ----------------------------------------------------------------------------------------------- what is told

    def stats(self) -> dict[str, Any]:
        """Connections, and what went over them."""
        counts = self.counts.copy()
        for end in self._pipes.values():
            counts.update(end.counts)
        return {"peers": sorted(self._pipes), "counts": dict(counts), "filled": self._fill_s}

    def request(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """``fill``: sends packets with so many bytes each to its neighbour for some seconds, to measure with;
        ``count``: counts what comes of them anew."""
        if request["do"] == "count":
            self._fill_s = []
            return {}
        if request["do"] != "fill":
            return None
        size, end_s = int(request["size"]), time.monotonic() + float(request["seconds"])
        if (peer := next(iter(self._pipes), None)) is None:
            raise ValueError("it has no connection")
        data = encode(Packet(Kind.FILL, self.seat.node, peer, via=peer, body=bytes(size)))

        def more() -> None:
            end = self._pipes.get(peer)
            if end is not None and time.monotonic() < end_s:
                for _ in range(_FILL_AT_ONCE):  # then others have their turn, however fast the neighbour takes them
                    if end.waiting >= _FILL_AHEAD or not end.send(data):
                        break
                    self.counts["filled_out"] += 1
                self.loop.later(_FILL_S, more)

        more()
        return {}

    def _fill(self, octets: int) -> None:
        """Counts what comes to measure with: packets, bytes of them, when the first and the last came."""
        now = time.monotonic()
        if not self._fill_s:
            self._fill_s = [0, 0, now, now]
        self._fill_s[0] += 1
        self._fill_s[1] += octets - wire.HEAD_BYTES
        self._fill_s[3] = now
