"""The messenger of a node: its streams of messages begin and end here, and go by the PHYs over as many nodes as it
takes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from headrace.emulator.processes import wire
from headrace.emulator.processes.component import CONTROL, Component, Seat
from headrace.emulator.processes.streams import Stream, Streams, answer
from headrace.emulator.processes.wire import Kind, Packet, encode

_WAITING = 64  # packets to a node, while a route is looked for
_WANT_S, _WANT_AGAIN_S = 3.0, 0.5  # between words to the control processor that a route is in use, or needed
_FILL_AT_ONCE = 32


class Messenger(Component):
    """``messenger``."""

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self._streams = Streams(self.loop, self._transmit, repeats=True)
        self._waiting: dict[int, deque[bytearray]] = {}
        self._wanted_s: dict[int, float] = {}
        self._tell()

    # ---------------------------------------------------------------------------------------------------- sending

    def _transmit(self, stream: Stream, data: bytearray) -> None:
        self._dispatch(stream.destination, data)

    def _dispatch(self, to: int, data: bytearray) -> None:
        route = self.routes.get(to)
        self._want(to, _WANT_S if route else _WANT_AGAIN_S)
        if route is None:
            waiting = self._waiting.setdefault(to, deque(maxlen=_WAITING))
            if len(waiting) == _WAITING:
                self.counts["no_route"] += 1
            waiting.append(data)
            return
        wire.set_via(data, route[0])
        self.send(route[1], data)

    def _want(self, to: int, every_s: float) -> None:
        now = time.monotonic()
        if now - self._wanted_s.get(to, 0.0) >= every_s:
            self._wanted_s[to] = now
            self.send(CONTROL, encode(Packet(Kind.WANT, self.seat.node, to)))

    def routes_changed(self) -> None:
        """Sends what has waited for a route."""
        self._tell()
        for to in [to for to in self._waiting if to in self.routes]:
            for data in self._waiting.pop(to):
                self._dispatch(to, data)

    # --------------------------------------------------------------------------------------------------- receiving

    def pass_on(self, data: bytearray) -> None:
        """A message or an acknowledgement, from a PHY. Raises Malformed."""
        packet = wire.decode(data)
        if packet.destination != self.seat.node or packet.kind not in (Kind.DATA, Kind.ACK):
            raise wire.Malformed(f"{packet.kind.name} for node {packet.destination}")
        said = self._streams.hear(packet)
        if said is not None:
            self._dispatch(packet.source, said)

    def hear(self, packet: Packet, role: str) -> None:
        """The control processor is there."""
        if packet.kind == Kind.IS and role == CONTROL:
            self._tell()

    def _tell(self) -> None:
        self.say(CONTROL, Kind.STATE, {"role": self.seat.role, "peers": [], "version": self.version})

    # ----------------------------------------------------------------------------------------------- what is told

    def request(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """``stream``, ``stop``; ``fill``: sends packets with so many bytes each to a process of the node for some
        seconds, to measure with. Raises ValueError."""
        if request["do"] != "fill":
            return answer(self._streams, dict(request))
        end_s = time.monotonic() + float(request["seconds"])
        data = encode(Packet(Kind.FILL, self.seat.node, self.seat.node, body=bytes(int(request["size"]))))

        def more() -> None:
            for _ in range(_FILL_AT_ONCE):
                self.send(str(request["role"]), data)
                self.counts["filled_out"] += 1
            if time.monotonic() < end_s:
                self.loop.later(0, more)

        more()
        return {}

    def stats(self) -> dict[str, Any]:
        """Its streams."""
        return self._streams.stats() | {"waiting": {str(to): len(those) for to, those in self._waiting.items()}}
