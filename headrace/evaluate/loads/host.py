"""Loads for virtual functions on the switch card: what they carry, whom they hold up, how long a packet takes, and what
interrupts cost. Sizes count the FCS. Cycles are counted in the RTL, the same on every machine; host memory answers
reads 1 us after they come."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.card.functions import Side
from headrace.evaluate.loads import host_card
from headrace.evaluate.loads.host_card import CLOCK_HZ, FCS, FUNCTIONS, GAP, pairs, running

WARM = 10_000  # cycles
SPAN = 20_000
SPANS = 10  # in which a rate is looked at, one after the other: it can fall to another one and stay there
QUIET_RATE = 100e6  # bit/s that a function offers beside one that offers a thousand times as much
TIMES = 1_000

_NS = 1e9 / CLOCK_HZ
_HEADER = bytes.fromhex("020000000002020000000001") + b"\x88\xb5"
_NUMBER = struct.Struct("<I")


@dataclass(frozen=True)
class Carried:
    """Packets that functions handed over and got in so many cycles, while each had more. ``lost``: that found no room.
    ``reads`` and ``read_bytes``, ``writes`` and ``write_bytes``: what the card did in host memory meanwhile."""

    functions: int
    size: int
    sent: int
    received: int
    lost: int
    least: int  # that one of the functions handed over
    most: int
    cycles: int
    reads: int
    read_bytes: int
    writes: int
    write_bytes: int

    @property
    def packets_s(self) -> float:
        """A direction, the slower one."""
        return min(self.sent, self.received) * CLOCK_HZ / self.cycles

    @property
    def line_bit_s(self) -> float:
        """What an Ethernet line would carry: preambles and gaps counted."""
        return self.packets_s * 8 * (self.size + GAP)


@dataclass(frozen=True)
class Fair:
    """Functions that offer little, beside one that offers nothing (``loud_bit_s`` 0) or a lot: the frames that they
    sent and those that arrived, ns from a frame's hand-over to its receiver's having it."""

    loud_bit_s: float
    offered: int
    arrived: int
    least_share: float  # of a function's frames
    median_ns: float
    p99_ns: float
    most_ns: float
    loud_packets_s: float


@dataclass(frozen=True)
class Latency:
    """Cycles from a frame's hand-over by one function's driver until another's has it, one frame at a time."""

    size: int
    frames: int
    read_latency_ns: int
    least: int
    most: int


@dataclass(frozen=True)
class Moderated:
    """Frames at a rate into a function whose interrupts wait for some packets or some time."""

    packets: int
    time_ns: int
    gap_ns: float
    frames: int
    interrupts: int
    median_ns: float
    p99_ns: float


def run(kind: str, **arguments: Any) -> Any:
    """One of the loads by its name, for a list of points that has several kinds."""
    from headrace.evaluate.loads import host_rings

    loads: dict[str, Callable[..., Any]] = {
        "carried": carried, "fair": fair, "latency": latency, "moderated": moderated, "mutated": host_rings.mutated,
    }  # fmt: skip
    return loads[kind](**arguments)


def frame(number: int, size: int) -> bytes:
    """A frame of ``size`` bytes, the FCS counted, with a number in it."""
    return (_HEADER + _NUMBER.pack(number)).ljust(size - FCS, b"\xa5")


def _numbers(frames: Sequence[bytes]) -> np.ndarray[Any, np.dtype[np.int64]]:
    at = len(_HEADER)
    return np.array([_NUMBER.unpack_from(each, at)[0] for each in frames], np.int64)


def carried(size: int, functions: int = FUNCTIONS, span: int = SPAN, spans: int = SPANS) -> Carried:
    """Functions that send to each other as fast as the card lets them: the slowest of so many spans of cycles."""
    to = pairs(functions)
    with running(to) as host:
        card, ports = host.card, [host.link(function) for function in to]
        for port in ports:
            card.source(port, f"gen:size={size - FCS},frame=raw")
        card.run(until=None, cycles=WARM)

        def spanned() -> Carried:
            before, sent, received = card.stats(), host.sent(ports), host.received(ports)
            after = card.run(until=None, cycles=span).stats
            each = [now - then for now, then in zip(host.sent(ports), sent, strict=True)]
            memory, old = after.memory, before.memory
            return Carried(
                functions,
                size,
                sum(each),
                sum(host.received(ports)) - sum(received),
                sum(host.functions.counters(Side.RECEIVE, function).dropped_full for function in to),
                min(each),
                max(each),
                after.cycles - before.cycles,
                memory.read_bursts - old.read_bursts,
                memory.read_bytes - old.read_bytes,
                memory.write_bursts - old.write_bursts,
                memory.write_bytes - old.write_bytes,
            )

        return min((spanned() for _ in range(spans)), key=lambda found: found.packets_s)


def fair(loud: bool, size: int = 64, frames: int = 100, functions: int = FUNCTIONS) -> Fair:
    """All but function 0 send so many frames at ``QUIET_RATE``; function 0 nothing, or a thousand times as much."""
    to = pairs(functions)
    with running(to) as host:
        card = host.card
        ports = {function: host.link(function, "null" if function == to[0] else "memory") for function in to}
        quiet = [function for function in to if function]
        loud_rate = TIMES * QUIET_RATE if loud else 0.0
        if loud:
            card.source(ports[0], f"gen:size={size - FCS},frame=raw", timing=loud_rate)
            card.run(until=None, cycles=WARM)
        for function in quiet:
            card.source(ports[function], [frame(number, size) for number in range(frames)], timing=QUIET_RATE)
        before, sent = card.stats(), host.sent([ports[0]])[0]
        gap_ns = 8 * (size + GAP) / QUIET_RATE * 1e9
        after = card.run(until=None, cycles=round(frames * gap_ns / _NS) + WARM).stats
        times: list[float] = []
        shares = []
        for function in quiet:
            got = card.received(ports[to[function]])
            numbers = _numbers([each.data for each in got])
            shares.append(len(numbers) / frames)
            due = before.time_ns + numbers * gap_ns
            times += list(np.array([each.timestamp_ns for each in got]) - due)
        median, p99, most = np.percentile(times, (50, 99, 100))
        louds = (host.sent([ports[0]])[0] - sent) / (after.cycles - before.cycles) * CLOCK_HZ
        return Fair(
            loud_rate,
            frames * len(quiet),
            round(sum(shares) * frames),
            min(shares),
            float(median),
            float(p99),
            float(most),
            louds,
        )


def latency(size: int, frames: int = 20, read_latency_ns: int = host_card.LATENCY_NS) -> Latency:
    """A frame after the other from one function to another."""
    with running({0: 1}, read_latency_ns) as host:
        card, (port, to) = host.card, [host.link(function, "memory") for function in (0, 1)]
        card.source(port, [])
        found = []
        for number in range(frames):
            before = card.stats().time_ns
            card.send(port, [frame(number, size)])
            card.run()
            [got] = card.received(to)
            found.append(round((got.timestamp_ns - before) / _NS))
        return Latency(size, frames, read_latency_ns, min(found), max(found))


def moderated(packets: int, time_ns: int, gap_ns: float, frames: int = 2_000, size: int = 64) -> Moderated:
    """Frames at even distances to a function whose interrupts are moderated."""
    with running({0: 1}) as host:
        card, (port, to) = host.card, [host.link(function, "memory") for function in (0, 1)]
        host.functions.moderate(Side.RECEIVE, 1, packets, time_ns)
        before = card.stats()
        card.source(port, [frame(number, size) for number in range(frames)], timing=8 * (size + GAP) / gap_ns * 1e9)
        card.run()
        got = card.received(to)
        due = before.time_ns + _numbers([each.data for each in got]) * gap_ns
        arrived = np.array([each.timestamp_ns for each in got])
        median, p99 = np.percentile(arrived - due, (50, 99))
        # The driver takes all that there is when it is told: those at the same time are of one interrupt.
        interrupts = len(np.unique(arrived))
        return Moderated(packets, time_ns, gap_ns, len(got), interrupts, float(median), float(p99))
