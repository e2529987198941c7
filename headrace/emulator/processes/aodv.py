"""Ad hoc on-demand distance vector routing (RFC 3561), a variant for links that are connections.

As in the RFC: requests are flooded, replies go back on the ways that they came, errors go to those who use a route
(precursors), and a route is taken for another one if its sequence number is newer, or the same and it has fewer hops.
What is other:

- Links are told, found and lost; there are no hellos. A neighbour's route is its link.
- Only the destination replies, with a new sequence number for each request; who hears a request again over fewer hops
  passes it on again, and the destination replies again: so routes have the fewest hops.
- A route that is wanted is asked for again every ``REFRESH_S`` while it is in use.
- A request for nobody is an announcement: all get a route to who sends it. The master coordinator does so.

No clock and no socket are in here: ``Router`` is told the time and what is heard, and gives what is to be sent.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from headrace.emulator.processes.wire import TTL, Malformed

NOBODY = 0
LIFETIME_S = 30.0  # of a route that nothing is heard about
REFRESH_S = 10.0
WANTED_S = 10.0  # so long a route is wanted without being asked for again
RETRY_S, LONGEST_RETRY_S = 1.0, 16.0  # between requests; each wait is twice the one before
_HEARD_S = 30.0  # so long a request is known again

_REQUEST, _REPLY, _ERROR = struct.Struct("!HIIHIBBB"), struct.Struct("!HIHB"), struct.Struct("!HI")


class Request(NamedTuple):
    """RREQ. ``sequence``: the originator's; ``known``: the last of the destination's that is known, None: none."""

    originator: int
    number: int
    sequence: int
    destination: int
    known: int | None
    hops: int
    ttl: int


class Reply(NamedTuple):
    """RREP. ``sequence``: the destination's."""

    destination: int
    sequence: int
    originator: int
    hops: int


class Error(NamedTuple):
    """RERR: destinations that are lost, with their sequence numbers."""

    lost: tuple[tuple[int, int], ...]


Message = Request | Reply | Error


def encode(message: Message) -> bytes:
    """The body of a packet."""
    if isinstance(message, Request):
        originator, number, sequence, destination, known, hops, ttl = message
        is_known = known is not None
        return _REQUEST.pack(originator, number, sequence, destination, known or 0, is_known, hops, ttl)
    if isinstance(message, Reply):
        return _REPLY.pack(*message)
    return b"".join(_ERROR.pack(*each) for each in message.lost)


def decode(kind: type[Message], body: bytes) -> Message:
    """Raises Malformed."""
    try:
        if kind is Request:
            originator, number, sequence, destination, known, is_known, hops, ttl = _REQUEST.unpack(body)
            return Request(originator, number, sequence, destination, known if is_known else None, hops, ttl)
        if kind is Reply:
            return Reply(*_REPLY.unpack(body))
        return Error(tuple((int(node), int(number)) for node, number in _ERROR.iter_unpack(body)))
    except struct.error as error:
        raise Malformed(f"{kind.__name__}: {error}") from None


def newer(a: int, b: int) -> bool:
    """Whether a sequence number is newer than another one, as differences of 32 bits with a sign (RFC 3561, 6.1)."""
    return 0 < (a - b) & 0xFFFFFFFF < 1 << 31


@dataclass
class Route:
    """``sequence``: None where none is known; ``precursors``: neighbours who use it."""

    next_hop: int
    hops: int
    sequence: int | None
    valid: bool
    heard_s: float
    precursors: set[int] = field(default_factory=set)


@dataclass
class _Asked:
    due_s: float
    wait_s: float


class Router:
    """The routing of one node, ``me``. Methods are given the time in seconds, of any clock that doesn't go back."""

    def __init__(self, me: int) -> None:
        self.me, self.sequence = me, 0
        self.neighbours: set[int] = set()
        self.routes: dict[int, Route] = {}
        self.counts = {"requests": 0, "replies": 0, "errors": 0, "lost_routes": 0}
        self._number = 0
        self._heard: dict[tuple[int, int], tuple[int, float]] = {}  # fewest hops, when first
        self._wanted: dict[int, float] = {}
        self._asked: dict[int, _Asked] = {}
        self._out: list[tuple[int, Message]] = []

    def take(self) -> list[tuple[int, Message]]:
        """What is to be sent now, and to which neighbours."""
        out, self._out = self._out, []
        return out

    def table(self) -> dict[int, int]:
        """The next hop to each destination."""
        return {node: route.next_hop for node, route in self.routes.items() if route.valid}

    # ------------------------------------------------------------------------------------------------ what happens

    def link_up(self, node: int, now: float) -> None:
        """There is a link to a neighbour."""
        self.neighbours.add(node)
        old = self.routes.get(node)
        self.routes[node] = Route(node, 1, old.sequence if old else None, True, now)
        self._asked.pop(node, None)
        for wanted in self._wanted:
            if wanted in self._asked:  # the new neighbour may know a way
                self._asked[wanted] = _Asked(now, RETRY_S)
        self.tick(now)

    def link_down(self, node: int, now: float) -> None:
        """It has gone, and what was reached over it is lost; what is wanted of that is asked for anew."""
        self.neighbours.discard(node)
        lost = [to for to, route in self.routes.items() if route.valid and route.next_hop == node]
        for to in lost:
            route = self.routes[to]
            route.sequence = None if route.sequence is None else (route.sequence + 1) & 0xFFFFFFFF
        self._lose(lost, now)

    def want(self, node: int, now: float) -> None:
        """A route is needed now."""
        self._wanted[node] = now
        route = self.routes.get(node)
        if node != self.me and not (route and route.valid) and node not in self._asked:
            self._ask(node, now)

    def announce(self, now: float) -> None:
        """All who can be reached get a route to this node."""
        self._flood(NOBODY, now)

    def no_route(self, node: int, neighbour: int) -> None:
        """A neighbour has sent something for a node that can't be reached from here."""
        route = self.routes.get(node)
        if not (route and route.valid):
            self._send([neighbour], Error(((node, (route.sequence if route else None) or 0),)))

    def hear(self, neighbour: int, message: Message, now: float) -> None:
        """A message of a neighbour's. What comes from a node without a link isn't heard."""
        if neighbour not in self.neighbours:
            return
        if isinstance(message, Request):
            self._hear_request(neighbour, message, now)
        elif isinstance(message, Reply):
            self._hear_reply(neighbour, message, now)
        else:
            self._hear_error(neighbour, message, now)

    def tick(self, now: float) -> None:
        """From time to time, at least once a second: asks again, and forgets."""
        self._wanted = {to: at for to, at in self._wanted.items() if now - at < WANTED_S}
        self._heard = {key: value for key, value in self._heard.items() if now - value[1] < _HEARD_S}
        for to, route in self.routes.items():
            if route.valid and to not in self.neighbours and now - route.heard_s > LIFETIME_S:
                route.valid = False
                route.precursors.clear()
        for to in [to for to in self._asked if to not in self._wanted]:
            del self._asked[to]
        for to in self._wanted:
            known = self.routes.get(to)
            asked = self._asked.get(to)
            if asked is not None:
                if now >= asked.due_s:
                    self._ask(to, now, min(2 * asked.wait_s, LONGEST_RETRY_S))
            elif to not in self.neighbours and to != self.me and known and now - known.heard_s >= REFRESH_S:
                self._ask(to, now)

    # ----------------------------------------------------------------------------------------------------- inside

    def _ask(self, node: int, now: float, wait_s: float = RETRY_S) -> None:
        self._asked[node] = _Asked(now + wait_s, wait_s)
        self._flood(node, now)

    def _flood(self, node: int, now: float) -> None:
        self.sequence = (self.sequence + 1) & 0xFFFFFFFF
        self._number = (self._number + 1) & 0xFFFFFFFF
        self._heard[self.me, self._number] = 0, now
        route = self.routes.get(node)
        known = route.sequence if route else None
        self._send(self.neighbours, Request(self.me, self._number, self.sequence, node, known, 0, TTL))

    def _send(self, neighbours: Iterable[int], message: Message) -> None:
        key = {Request: "requests", Reply: "replies", Error: "errors"}[type(message)]
        for neighbour in sorted(neighbours):
            self._out.append((neighbour, message))
            self.counts[key] += 1

    def _update(self, node: int, sequence: int, hops: int, neighbour: int, now: float) -> None:
        """Takes a route if it is better (RFC 3561, 6.2). A neighbour is always reached by its link."""
        route = self.routes.get(node)
        if node in self.neighbours:
            assert route is not None
            if route.sequence is None or newer(sequence, route.sequence):
                route.sequence = sequence
            route.heard_s = now
            return
        if route is None or route.sequence is None or newer(sequence, route.sequence):
            better = True
        else:
            better = sequence == route.sequence and (not route.valid or hops < route.hops)
        if better:
            precursors = route.precursors if route and route.valid else set()
            self.routes[node] = Route(neighbour, hops, sequence, True, now, precursors)

    def _hear_request(self, neighbour: int, request: Request, now: float) -> None:
        hops, key = request.hops + 1, (request.originator, request.number)
        fewest, first = self._heard.get(key, (None, now))
        if request.originator == self.me or hops > TTL or (fewest is not None and hops >= fewest):
            return
        self._heard[key] = hops, first
        self._update(request.originator, request.sequence, hops, neighbour, now)
        if request.destination == self.me:
            if request.known is not None and newer(request.known, self.sequence):
                self.sequence = request.known
            if fewest is None:
                self.sequence = (self.sequence + 1) & 0xFFFFFFFF
            self._send([neighbour], Reply(self.me, self.sequence, request.originator, 0))
        elif request.ttl > 1:
            route = self.routes.get(request.destination)
            known = request.known
            if route and route.sequence is not None and (known is None or newer(route.sequence, known)):
                known = route.sequence
            passed = request._replace(hops=hops, ttl=request.ttl - 1, known=known)
            self._send(self.neighbours - {neighbour}, passed)

    def _hear_reply(self, neighbour: int, reply: Reply, now: float) -> None:
        hops, to = reply.hops + 1, reply.destination
        if to == self.me:
            return
        self._update(to, reply.sequence, hops, neighbour, now)
        if reply.originator == self.me:
            self._asked.pop(to, None)
            return
        back, route = self.routes.get(reply.originator), self.routes[to]
        if hops < TTL and route.valid and back and back.valid and back.next_hop != neighbour:
            route.precursors.add(back.next_hop)
            back.precursors.add(route.next_hop)
            self._send([back.next_hop], reply._replace(hops=hops))

    def _hear_error(self, neighbour: int, error: Error, now: float) -> None:
        lost = []
        for to, sequence in error.lost:
            route = self.routes.get(to)
            if route and route.valid and route.next_hop == neighbour and to != neighbour:
                if route.sequence is None or newer(sequence, route.sequence):
                    route.sequence = sequence
                lost.append(to)
        self._lose(lost, now)

    def _lose(self, lost: Iterable[int], now: float) -> None:
        told: dict[int, list[tuple[int, int]]] = {}
        for to in lost:
            route = self.routes[to]
            route.valid = False
            self.counts["lost_routes"] += 1
            for each in route.precursors & self.neighbours:
                told.setdefault(each, []).append((to, route.sequence or 0))
            route.precursors.clear()
        for each, those in sorted(told.items()):
            self._send([each], Error(tuple(those)))
        for to in lost:
            if to in self._wanted and now - self._wanted[to] < WANTED_S:
                self._ask(to, now)
