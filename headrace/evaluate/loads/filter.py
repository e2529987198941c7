"""What the filter card's study does at each of its points: packets by size, and traffic as FFShark's examples have it.

Sizes are those of frames without FCS. Cycles are counted in the RTL, the same on every machine.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.card import Card
from headrace.cards.filter.run import EAST, MONITOR, WEST, driver_of, open_filter_card
from headrace.engines.filter import FilterDriver, Slot
from headrace.errors import HeadraceError
from headrace.net import bpf

ADDRESS = "tcp src port 100"
HTTP = "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)"
"""Table III's filter; its caption leaves out "and"."""
AVERAGE = 680  # bytes of a packet in tables II and III
_HEADERS = 54  # Ethernet, IPv4, TCP


@dataclass(frozen=True)
class Class:
    """A class of a table's packets, which all take the same way through the filter. ``share`` of all packets; FFShark's
    ``instructions`` of a packet."""

    name: str
    share: float
    instructions: int
    packet: str


CLASSES: Mapping[str, Sequence[Class]] = {
    ADDRESS: (
        Class("neither IPv4 nor IPv6", 0.20, 4, "arp"),
        Class("IPv4 and UDP", 0.30, 6, "udp"),
        Class("IPv4 and TCP, not from port 100", 0.25, 11, "tcp from 101"),
        Class("IPv4 and TCP, from port 100", 0.25, 11, "tcp from 100"),
    ),
    HTTP: (
        Class("neither IPv4 nor IPv6", 0.20, 4, "arp"),
        Class("IPv4 and UDP", 0.30, 6, "udp"),
        Class("IPv4 and TCP, rejected on the way", 0.20, 13, "tcp from 101"),
        Class("HTTP with data", 0.05, 28, "http"),
        Class("IPv4 and TCP, from port 100", 0.25, 13, "tcp from 100"),
    ),
}
"""Tables II and III."""


@dataclass(frozen=True)
class Sized:
    """Packets of one size, or of sizes at random, at a full line of 100 Gb/s.

    ``wrong``: not passed on untouched. ``latency_cycles``: the longest from a beat's end to that beat at the other
    port. ``lost``: dropped by the receiving MAC; ``uninspected``: passed on without a verdict.
    """

    size: str
    packets: int
    lost: int
    uninspected: int
    wrong: int
    latency_cycles: int
    clock_hz: int


@dataclass(frozen=True)
class Classed:
    """Packets of one class: instructions of each in the RTL, and how many were accepted."""

    expression: str
    name: str
    packets: int
    accepted: int
    instructions: float


@dataclass(frozen=True)
class Mixed:
    """A table's classes at random at a full line, through so many cores."""

    expression: str
    cores: int
    packets: int
    uninspected: int
    cpi: float
    clock_hz: int


def run(kind: str, **point: Any) -> Any:
    """A point of the study, by name. Raises HeadraceError."""
    return _KINDS[kind](**point)


def build(cores: int) -> None:
    """Compiles a card, unless that has been done."""
    Card.open("filter", {"CORES": cores}, progress=False).close()


def sized(sizes: Sequence[str], count: int, cores: int) -> list[Sized]:
    """Offers ``count`` TCP packets of each size ("60", "64-9000"), of which the filter accepts none."""
    found = []
    with _card(cores, ADDRESS) as (card, driver):
        card.expect_passthrough(WEST, EAST)
        for size in sizes:
            before, start = driver.counters(), card.stats()
            card.source(WEST, f"gen:size={size},count={count},seed=1,frame=tcp,sport=101")
            card.run()
            after, end = driver.counters(), card.stats()
            if end.latency_cycles is None:
                raise HeadraceError(f"no packet of {size} bytes went through the filter card")
            found.append(
                Sized(
                    size,
                    count,
                    count - (end.ports[EAST].tx_frames - start.ports[EAST].tx_frames),
                    after.uninspected - before.uninspected,
                    end.passthrough_mismatches - start.passthrough_mismatches,
                    end.latency_cycles[1],
                    card.clock_hz,
                )
            )
    return found


def classed(expression: str, count: int, cores: int) -> list[Classed]:
    """Offers ``count`` packets of each of a table's classes."""
    found = []
    with _card(cores, expression) as (card, driver):
        for each in CLASSES[expression]:
            before = driver.counters()
            card.send(WEST, [_packet(each.packet)] * count)
            card.run()
            after = driver.counters()
            accepted, instructions = after.accepted - before.accepted, after.instructions - before.instructions
            found.append(Classed(expression, each.name, count, accepted, instructions / count))
    return found


def mixed(expression: str, count: int, cores: int) -> Mixed:
    """Offers ``count`` packets whose classes are drawn by their shares."""
    classes = CLASSES[expression]
    kinds = random.Random(1).choices(
        [_packet(each.packet) for each in classes], [each.share for each in classes], k=count
    )
    with _card(cores, expression) as (card, driver), tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "mix.pcap"
        _write(capture, kinds)
        card.source(WEST, f"pcap:{capture}", timing="line")
        card.run()
        counters = driver.counters()
        return Mixed(expression, cores, counters.packets, counters.uninspected, counters.core_cpi or 0.0, card.clock_hz)


_KINDS: dict[str, Any] = {"sized": sized, "classed": classed, "mixed": mixed}


class _card:
    """A card that runs a filter, with its driver."""

    def __init__(self, cores: int, expression: str) -> None:
        self._cores, self._expression = cores, expression

    def __enter__(self) -> tuple[Card, FilterDriver]:
        self._card = open_filter_card(self._cores, progress=False)
        driver = driver_of(self._card)
        driver.load({0: Slot(bpf.compile(self._expression))})
        for port in (EAST, MONITOR):
            self._card.sink(port, "null")
        return self._card, driver

    def __exit__(self, *_: object) -> None:
        self._card.close()


def _packet(kind: str) -> bytes:
    """A frame of the average length."""
    from scapy.layers.inet import IP, TCP, UDP
    from scapy.layers.l2 import ARP, Ether
    from scapy.packet import Raw

    ethernet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    if kind == "arp":
        return bytes(ethernet / ARP()).ljust(AVERAGE, b"\0")
    ip = IP(src="10.0.0.1", dst="10.0.0.2")
    if kind == "udp":
        return bytes(ethernet / ip / UDP() / Raw(bytes(AVERAGE - _HEADERS + 12)))
    sport, dport = (1000, 80) if kind == "http" else (int(kind.rpartition(" ")[2]), 1000)
    return bytes(ethernet / ip / TCP(sport=sport, dport=dport) / Raw(bytes(AVERAGE - _HEADERS)))


def _write(path: Path, frames: Sequence[bytes]) -> None:
    from scapy.utils import RawPcapWriter

    with RawPcapWriter(str(path), linktype=1) as writer:
        for frame in frames:
            writer.write(frame)
