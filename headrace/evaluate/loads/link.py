"""Loads for emulated links, and what becomes of them, in card time: how exact delay and rate are, and how many packets
are lost beside what tc-netem(8) says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.card import Card
from headrace.cards.link.card import open_link_card
from headrace.engines.links import LinkCounters, Links
from headrace.engines.netem import Loss, Netem, netem_text
from headrace.errors import HeadraceError

PORT_BPS = 100e6
"""The ports' rate where a delay is measured."""
SIGMAS = 4
"""Standard deviations that a count may be off: one of 16,000 is, of a right link."""

_FCS = 4  # bytes
_MEMORY_NS = 500  # that host memory takes for a read and for a write's answer
_WAITING = 1 << 30  # packets that may wait: more than there are


@dataclass(frozen=True)
class Delay:
    """Packets of one size through a link that delays, between ports of ``port_bps``. ``least_ns`` and ``most_ns``: from
    a packet's first beat in to its first beat out, less the delay; ``packet_ns``: from its first beat in until it is in
    whole. ``by_memory``: bytes that waited in host memory. ``wrong``: packets that are changed, missing or in another
    order."""

    delay_ns: int
    size: int
    packets: int
    port_bps: float
    packet_ns: float
    least_ns: float
    most_ns: float
    by_memory: int
    wrong: int

    @property
    def error_ns(self) -> float:
        """The most that a packet is early or late. It leaves once it is in whole and then the delay is over, as with
        netem."""
        return max(abs(self.most_ns - self.packet_ns), abs(self.least_ns - self.packet_ns))


@dataclass(frozen=True)
class Rate:
    """Packets that come faster than a link's rate. ``measured_bps``: of the packets after the first, from its time to
    the last one's."""

    rate_bps: float
    size: int
    packets: int
    measured_bps: float

    @property
    def error(self) -> float:
        """Of the rate: 0.001 is 0.1 %."""
        return self.measured_bps / self.rate_bps - 1


@dataclass(frozen=True)
class Lost:
    """Packets lost, of ``packets``, beside what the model expects and how far a count may be from that."""

    netem: str
    packets: int
    lost: int
    expected: float
    bound: float

    @property
    def within(self) -> bool:
        """The count is as near to what is expected as it must be."""
        return abs(self.lost - self.expected) <= self.bound


def measure_delay(
    delay_ns: int, size: int = 1514, packets: int = 200, port_bps: float = PORT_BPS, parameters: Any = None
) -> Delay:
    """Sends ``packets`` of ``size`` bytes, one right after the other, through a link that delays each. Raises
    HeadraceError where packets are lost."""
    with _card(parameters) as (card, links):
        for port in range(2):
            card.set_rate(port, port_bps)
        card.expect_passthrough(0, 1)
        links.set(0, Netem(delay_ns=delay_ns, limit=_WAITING))
        stats = _run(card, links, f"gen:size={size},count={packets}", packets)
        width = int((parameters or {}).get("DATA_W", 512))
        (check,) = stats.passthrough
        least, most = check.latency_cycles or (0, 0)
        return Delay(
            delay_ns=delay_ns,
            size=size,
            packets=packets,
            port_bps=port_bps,
            packet_ns=(max(size, 60) + _FCS - min(size, width // 8)) * 8e9 / port_bps,
            least_ns=least * 1e9 / card.clock_hz - delay_ns,
            most_ns=most * 1e9 / card.clock_hz - delay_ns,
            by_memory=stats.memory.write_bytes,
            wrong=check.mismatches + check.waiting,
        )


def measure_rate(rate_bps: float, size: int = 1514, packets: int = 200, parameters: Any = None) -> Rate:
    """Sends packets of ``size`` bytes at twice the rate, for which they wait in host memory. Raises HeadraceError where
    packets are lost."""
    with _card(parameters) as (card, links):
        card.sink(1, "memory")
        links.set(0, Netem(rate_bps=rate_bps, limit=_WAITING))
        _run(card, links, f"gen:size={size},count={packets},rate={2 * rate_bps:.0f}", packets)
        times = [frame.timestamp_ns for frame in card.received(1)]
        return Rate(rate_bps, size, packets, (packets - 1) * size * 8e9 / (times[-1] - times[0]))


def measure_loss(loss: Loss, packets: int = 100_000, seed: int = 1, parameters: Any = None) -> Lost:
    """Sends packets through a link that loses some, and counts. ``loss`` is without correlation."""
    made = Netem(loss=loss, limit=_WAITING)
    with _card(parameters, seed) as (card, links):
        links.set(0, made)
        links.hold_link(0, True)  # as fast as the link decides
        card.flow_control(0, True)
        _run(card, links, f"gen:size=60,count={packets}", None)
        counted = links.counters(0)
    return Lost(netem_text(made), packets, counted.lost, packets * loss.mean, SIGMAS * deviation(loss, packets))


def deviation(loss: Loss, packets: int) -> float:
    """Standard deviation of the number of packets lost. Losses of the Gilbert-Elliott model come in bursts: the states
    of packets that are n apart have the correlation (1 - p - r) ** n."""
    mean = loss.mean
    variance = packets * mean * (1 - mean)
    if loss.model == "gemodel":
        change = loss.p + loss.r
        states = loss.p * loss.r / change**2 * (loss.bad - loss.good) ** 2
        variance += 2 * packets * states * (1 - change) / change
    return math.sqrt(variance)


def _card(parameters: Mapping[str, Any] | None, seed: int = 1) -> Any:
    return open_link_card(2, seed, parameters, progress=False)


def _run(card: Card, links: Links, source: str, packets: int | None) -> Any:
    """Runs until all packets of a source are through, with host memory as slow as a host's; ``packets`` must come out,
    and none may be unaccounted for."""
    card.memory.configure(read_latency_ns=_MEMORY_NS, write_latency_ns=_MEMORY_NS)
    card.source(0, source)
    stats = card.run().stats
    counted: LinkCounters = links.counters(0)
    if counted.balance or counted.queued or (packets is not None and counted.sent != packets):
        raise HeadraceError(f"the link lost packets: {counted}")
    return stats
