"""Traffic models: streams of messages from a node to another one, as senders and receivers account for them.

Every message is acknowledged end to end. Images and commands are sent again until they are; telemetry is sent once.
"""

from __future__ import annotations

import math
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.emulator.processes.loop import Loop, Timer
from headrace.emulator.processes.wire import HEAD_BYTES, MAX_BODY, Kind, Packet, encode

_ACK = struct.Struct("!Q")
_ACKED = 64  # messages that an acknowledgement speaks of
_ALL = (1 << _ACKED) - 1
_KEPT = 4096  # latencies, the last ones
_REMEMBERED = 1 << 14  # messages: which of them have come, and which are given up
_AT_ONCE = 64
_WINDOW, _WINDOW_BYTES = 4, 1 << 18  # messages under way, of a stream that goes as fast as it can: the greater one
_PATIENCE = 64  # of a stream with a rate that sends again
_BEHIND_S = 1.0  # what is due for longer isn't sent
_FIRST_REPEAT_S, _LEAST_REPEAT_S = 2.0, 0.3
_DOUBLED = 2  # so often a repeat waits twice as long as the one before
LOST_S, GIVEN_UP_S = 2.0, 60.0
"""A message without an acknowledgement is lost after so long: telemetry, what is sent again."""

_PATTERN = bytes((each * 167 + (each >> 8) * 13) & 0xFF for each in range(MAX_BODY + 1009))


class Model(NamedTuple):
    """What a kind of traffic is where nothing else is asked for: bytes, seconds between messages (0: one after the
    other), and whether they are sent again."""

    size: int
    interval_s: float
    reliable: bool


MODELS = {
    "telemetry": Model(100, 0.1, False),
    "command": Model(100, 1.0, True),
    "image": Model(MAX_BODY, 0.0, True),
}


@dataclass(frozen=True)
class Stream:
    """``number``: unique in an emulation; ``source``, ``destination``: numbers of nodes, ``address`` the latter's;
    ``size``: bytes of each message; ``interval_s``: 0: one after the other; ``count`` messages for ``duration_s``,
    whichever ends first (None: without an end), from ``start_s`` from now on."""

    number: int
    source: int
    destination: int
    address: str
    kind: str
    size: int
    interval_s: float
    count: int | None = None
    duration_s: float | None = None
    start_s: float = 0.0


@dataclass
class _Pending:
    time_ns: int  # when it was sent first, for its packet
    first_s: float
    last_s: float
    tries: int = 1


class Sender:
    """What a stream's source knows. ``repeats``: it sends again by itself; a TCP connection needs none of that."""

    def __init__(self, stream: Stream, now: float, *, repeats: bool) -> None:
        self.stream, self.reliable = stream, MODELS[stream.kind].reliable
        self._repeats = repeats and self.reliable
        self._next_s = now + stream.start_s
        self._end_s = math.inf if stream.duration_s is None else self._next_s + stream.duration_s
        self._last = math.inf if stream.count is None else stream.count
        self._pending: dict[int, _Pending] = {}
        self._given_up: dict[int, None] = {}
        self._trip_s = 0.0
        self._look_s, self._looked_wait_s = math.inf, _FIRST_REPEAT_S  # no message is sent again before; by what wait
        self._trips_s: deque[float] = deque(maxlen=_KEPT)
        self._first_s = self._heard_s = 0.0
        self.sent = self.acknowledged = self.lost = self.repeated = self.skipped = 0
        self.ended = False

    def stop(self) -> None:
        """No more messages."""
        self.ended = True

    @property
    def done(self) -> bool:
        """Nothing more will happen."""
        return self.ended and not self._pending

    def due(self, now: float) -> list[int]:
        """Messages to send now: new ones, and those again that have no acknowledgement. Gives up old ones."""
        self._expire(now)
        found = []
        if self._repeats and self._first_repeat_s(now) <= now:
            found = [number for number, each in self._pending.items() if self._repeat_s(each) <= now]
        for number in found:
            self._again(number, now)
        self.ended = self.ended or self.sent >= self._last or now >= self._end_s
        if not self.ended and self.stream.interval_s and now - self._next_s > _BEHIND_S:
            late = int((now - self._next_s) / self.stream.interval_s)
            self.skipped += late
            self._next_s += late * self.stream.interval_s
        while not self.ended and self._next_s <= now and len(found) < _AT_ONCE and self._has_room:
            self.sent += 1
            self._first_s = self._first_s or now
            self._pending[self.sent] = new = _Pending(time.monotonic_ns(), now, now)
            self._look_s = min(self._look_s, self._repeat_s(new))
            found.append(self.sent)
            self._next_s = self._next_s + self.stream.interval_s if self.stream.interval_s else now
            self.ended = self.sent >= self._last
        return found

    def again(self, now: float) -> list[int]:
        """All without an acknowledgement, for a new connection."""
        for number in self._pending:
            self._again(number, now)
        return list(self._pending)

    def packet(self, number: int) -> bytearray:
        """A message of the stream."""
        stream, offset = self.stream, number * 31 % 1009
        body = _PATTERN[offset : offset + stream.size]
        sent_ns = self._pending[number].time_ns
        return encode(
            Packet(
                Kind.DATA, stream.source, stream.destination, stream=stream.number, number=number, time_ns=sent_ns,
                body=body,
            )
        )  # fmt: skip

    def acknowledge(self, packet: Packet, now: float) -> None:
        """What an ACK says has come."""
        if len(packet.body) != _ACK.size:
            return
        bits = _ACK.unpack(packet.body)[0]
        oldest = next(iter(self._pending), packet.number) if not self._given_up else 1
        for back in range(min(_ACKED, packet.number - oldest + 1)):
            if bits >> back & 1 and packet.number > back:
                self._acknowledge(packet.number - back, now, first=not back)

    def wait_s(self, now: float) -> float:
        """Until ``due`` has something to do; infinite: only an acknowledgement changes anything."""
        times = [self._end_s] if not self.ended else []
        if not self.ended and self._has_room:
            times.append(self._next_s)
        if self._pending:
            oldest = next(iter(self._pending.values()))
            times.append(oldest.first_s + self._patience_s)
            if self._repeats:
                times.append(self._first_repeat_s(now))
        return max(0.0, min(times, default=math.inf) - now)

    def stats(self) -> dict[str, Any]:
        """sent = acknowledged + lost + in_flight. ``round_trip_s``: of the last messages, from when each was first
        sent; ``acknowledged_bps``: of what messages carry, from when the first was sent to when the last one was
        acknowledged."""
        taken_s = self._heard_s - self._first_s
        return {
            "sent": self.sent,
            "acknowledged": self.acknowledged,
            "lost": self.lost,
            "in_flight": len(self._pending),
            "repeated": self.repeated,
            "skipped": self.skipped,
            "stopped": self.ended,
            "done": self.done,
            "acknowledged_bps": self.acknowledged * self.stream.size * 8 / taken_s if taken_s > 0 else 0.0,
            "round_trip_s": _ranked(self._trips_s),
        }

    @property
    def _patience_s(self) -> float:
        return GIVEN_UP_S if self.reliable else LOST_S

    @property
    def _has_room(self) -> bool:
        if not self.stream.interval_s:
            return len(self._pending) < max(_WINDOW, min(_ACKED, _WINDOW_BYTES // self.stream.size))
        return not self.reliable or len(self._pending) < _PATIENCE

    @property
    def _repeat_wait_s(self) -> float:
        return max(_LEAST_REPEAT_S, 4 * self._trip_s) if self._trip_s else _FIRST_REPEAT_S

    def _repeat_s(self, pending: _Pending) -> float:
        return pending.last_s + self._repeat_wait_s * (1 << min(pending.tries - 1, _DOUBLED))

    def _first_repeat_s(self, now: float) -> float:
        """No message is sent again before. All are looked through only when that time has come, or the wait is shorter
        than it was, not at each acknowledgement."""
        if now >= self._look_s or self._repeat_wait_s < self._looked_wait_s:
            self._looked_wait_s = self._repeat_wait_s
            self._look_s = min(map(self._repeat_s, self._pending.values()), default=math.inf)
        return self._look_s

    def _again(self, number: int, now: float) -> None:
        each = self._pending[number]
        each.last_s, each.tries = now, each.tries + 1
        self.repeated += 1

    def _acknowledge(self, number: int, now: float, *, first: bool) -> None:
        """``first``: the acknowledgement is of this very message."""
        each = self._pending.pop(number, None)
        if each is not None:
            self.acknowledged += 1
            self._heard_s = now
            if first:
                self._trips_s.append(now - each.first_s)
            if each.tries == 1:
                trip_s = now - each.last_s
                self._trip_s = trip_s if not self._trip_s else 0.8 * self._trip_s + 0.2 * trip_s
        elif number in self._given_up:
            del self._given_up[number]
            self.acknowledged += 1
            self._heard_s = now
            self.lost -= 1

    def _expire(self, now: float) -> None:
        while self._pending:
            number, oldest = next(iter(self._pending.items()))
            if now - oldest.first_s < self._patience_s:
                return
            del self._pending[number]
            self._given_up[number] = None
            if len(self._given_up) > _REMEMBERED:
                del self._given_up[next(iter(self._given_up))]
            self.lost += 1


@dataclass
class Receiver:
    """What a stream's destination knows."""

    received: int = 0
    octets: int = 0
    duplicates: int = 0
    hops: int = 0
    _first_ns: int = 0
    _last_ns: int = 0
    _highest: int = 0
    _come: set[int] = field(default_factory=set)
    _bits: int = 0  # of the last acknowledgement
    _last: int = 0  # its number
    _latencies: deque[int] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def hear(self, packet: Packet) -> bytearray:
        """A message that is whole; gives its acknowledgement."""
        now_ns = time.monotonic_ns()
        number = packet.number
        if number in self._come or number + _REMEMBERED <= self._highest:
            self.duplicates += 1
        else:
            self._come.add(number)
            self._highest = max(self._highest, number)
            if len(self._come) > 2 * _REMEMBERED:
                self._come = {each for each in self._come if each + _REMEMBERED > self._highest}
            self._first_ns = self._first_ns or packet.time_ns
            self._last_ns = now_ns
            self.received += 1
            self.octets += len(packet.body)
            self.hops = packet.hops + 1
            self._latencies.append(now_ns - packet.time_ns)
        if number == self._last + 1 == self._highest:
            self._bits = self._bits << 1 & _ALL | 1
        else:
            self._bits = sum(1 << back for back in range(_ACKED) if number - back in self._come) | 1
        self._last = number
        return encode(
            Packet(
                Kind.ACK, packet.destination, packet.source, stream=packet.stream, number=number,
                body=_ACK.pack(self._bits),
            )
        )  # fmt: skip

    def stats(self) -> dict[str, Any]:
        """Latencies in seconds, one way, of the last messages; ``throughput_bps``: of what messages carry, from when
        the first was sent to when the last one came; ``hops``: of the last one."""
        taken_ns = self._last_ns - self._first_ns
        return {
            "received": self.received,
            "bytes": self.octets,
            "duplicates": self.duplicates,
            "hops": self.hops,
            "throughput_bps": self.octets * 8e9 / taken_ns if taken_ns else 0.0,
            "latency_s": _ranked([latency * 1e-9 for latency in self._latencies]),
        }


def _ranked(values: Iterable[float]) -> dict[str, float]:
    """Their median and other quantiles; empty: of none."""
    ranked = sorted(values)
    parts = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
    return {name: ranked[min(len(ranked) - 1, int(part * len(ranked)))] for name, part in parts if ranked}


class Streams:
    """All streams that begin or end in a process. ``transmit`` carries a packet of a stream; ``repeats``: see
    ``Sender``."""

    def __init__(self, loop: Loop, transmit: Callable[[Stream, bytearray], None], *, repeats: bool) -> None:
        self._loop, self._transmit, self._repeats = loop, transmit, repeats
        self.senders: dict[int, Sender] = {}
        self._receivers: dict[int, Receiver] = {}
        self._timers: dict[int, Timer] = {}

    def start(self, stream: Stream) -> None:
        """Begins to send."""
        self.senders[stream.number] = Sender(stream, time.monotonic(), repeats=self._repeats)
        self.pump(stream.number)

    def stop(self, number: int) -> None:
        """No more messages of a stream."""
        if number in self.senders:
            self.senders[number].stop()

    def pump(self, number: int) -> None:
        """Sends what is due of a stream."""
        sender, now = self.senders[number], time.monotonic()
        for each in sender.due(now):
            self._transmit(sender.stream, sender.packet(each))
        if number in self._timers:
            self._timers[number].call = None
        wait = sender.wait_s(time.monotonic())
        if wait < math.inf:
            self._timers[number] = self._loop.later(wait, lambda: self.pump(number))

    def send_again(self, number: int) -> None:
        """All that a stream has no acknowledgement for."""
        sender = self.senders[number]
        for each in sender.again(time.monotonic()):
            self._transmit(sender.stream, sender.packet(each))

    def hear(self, packet: Packet) -> bytearray | None:
        """A message, for which it gives the acknowledgement, or an acknowledgement."""
        if packet.kind == Kind.DATA:
            return self._receivers.setdefault(packet.stream, Receiver()).hear(packet)
        sender = self.senders.get(packet.stream)
        if packet.kind == Kind.ACK and sender is not None:
            sender.acknowledge(packet, time.monotonic())
            if sender.reliable or sender.ended:
                self.pump(packet.stream)
        return None

    def stats(self) -> dict[str, Any]:
        """By the streams' numbers (as text, for JSON)."""
        return {
            "sending": {str(number): sender.stats() for number, sender in self.senders.items()},
            "receiving": {str(number): receiver.stats() for number, receiver in self._receivers.items()},
        }


def answer(streams: Streams, request: dict[str, Any]) -> dict[str, Any] | None:
    """To the requests that messenger and load generator share; None: it is another one. Raises ValueError."""
    match request:
        case {"do": "stream", "stream": dict() as stream}:
            streams.start(Stream(**stream))
            return {}
        case {"do": "stop", "stream": int() as number}:
            streams.stop(number)
            return {}
    return None


LARGEST_PACKET = HEAD_BYTES + MAX_BODY
