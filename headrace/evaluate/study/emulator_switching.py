"""What the emulator's study has of a thesis' comparison of an OpenFlow switch on an FPGA with Open vSwitch (its chapter
6), as far as nodes take part: two nodes, small packets, streams among six nodes, and a filter in the sender or in the
card. The card's values are modelled, on virtual functions; the others are this machine's, wall clock, through nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import HeadraceError
from headrace.evaluate.loads import emulator_fabrics
from headrace.evaluate.loads.emulator import FIVE
from headrace.evaluate.loads.emulator_card import Cut
from headrace.evaluate.loads.emulator_fabrics import Datagrams, Pair, Stream
from headrace.evaluate.loads.host import Carried, Latency
from headrace.evaluate.loads.host_card import CLOCK_HZ
from headrace.evaluate.loads.switch import Filtered
from headrace.evaluate.points import Progress
from headrace.evaluate.study.emulator_points import SAMPLES, SEGMENT, SIZES, UDP_HEADERS
from headrace.evaluate.study.emulator_rows import (
    CARD,
    OVS,
    SOFTWARE,
    FilterRow,
    PairRow,
    SixRow,
    SmallRow,
    Switching,
)
from headrace.evaluate.study.switch_published import SMALL_GBIT_S

_STREAMS = len(FIVE[6])


@dataclass
class Beside:
    """What fabrics carry between nodes of this machine; ``without``: why one wasn't measured."""

    pairs: list[Pair] = field(default_factory=list)
    datagrams: list[Datagrams] = field(default_factory=list)
    cuts: dict[int, float] = field(default_factory=dict)
    streams: list[Stream] = field(default_factory=list)
    without: dict[str, str] = field(default_factory=dict)

    def bps(self, size: int, way: str = "none") -> float | None:
        """Of datagrams through Open vSwitch."""
        return next((each.bps for each in self.datagrams if (each.size, each.way) == (size, way)), None)

    def streamed(self, fabric: str, ends: tuple[int, int]) -> Stream | None:
        """A stream on a fabric."""
        found = (each for each in self.streams if (each.fabric, each.source, each.destination) == (fabric, *ends))
        return next(found, None)


def beside(full: bool, report: Progress) -> Beside:
    """Measures fabrics. ``full``: more seconds and runs."""
    found = Beside()
    for fabric in (OVS, SOFTWARE):
        if reason := emulator_fabrics.why_not(fabric):
            found.without[fabric] = reason
            continue
        try:
            _measure(found, fabric, full, report)
        except HeadraceError as error:
            found.without[fabric] = str(error)
    return found


def _measure(found: Beside, fabric: str, full: bool, report: Progress) -> None:
    seconds, loads = (5.0 if full else 0.5), emulator_fabrics
    report(f"two nodes on {fabric}", None)
    with loads.two_nodes(fabric) as emulation:
        found.pairs.append(loads.pair(emulation, fabric, seconds, 100 if full else 10))
        if fabric == OVS:
            for size in SIZES:
                report(f"packets of {size:,} bytes on {fabric}", None)
                found.datagrams.append(loads.datagrams(emulation, fabric, size, seconds=seconds))
                found.cuts[size] = loads.cut(emulation, size, seconds)
            for count in SAMPLES:
                report(f"{count:,} samples on {fabric}", None)
                found.datagrams += [
                    loads.datagrams(emulation, fabric, 4 * count, way, seconds)
                    for way in loads.WAYS
                    if found.bps(4 * count, way) is None
                ]
    report(f"six nodes on {fabric}", None)
    found.streams += loads.six_nodes(fabric, seconds, 5 if full else 1)


def rows(card: Sequence[tuple[Mapping[str, Any], Any]], measured: Beside) -> Switching:
    """The rows, of what the card's loads gave by their arguments, and of the fabrics."""
    cuts = {(result.segment, len(result.bps)): result.bps for _, result in card if isinstance(result, Cut)}
    carried = {result.size: result.packets_s for _, result in card if isinstance(result, Carried)}
    filtered = {result.samples: result for _, result in card if isinstance(result, Filtered)}
    latency = next((result for _, result in card if isinstance(result, Latency)), None)
    pairs = [PairRow(each.fabric, each.tcp_bps / 1e9, each.round_trip_s * 1e6) for each in measured.pairs]
    if latency is not None and (SEGMENT, 1) in cuts:
        pairs.insert(0, PairRow(CARD, cuts[SEGMENT, 1][0] / 1e9, 2 * latency.most / CLOCK_HZ * 1e6))
    small = []
    for size in SIZES:
        rate, cut = carried.get(size + UDP_HEADERS), cuts.get((size, 1))
        if rate is not None or measured.bps(size) is not None:
            published = SMALL_GBIT_S.get(size, (None, None))
            data = None if rate is None else rate * 8 * size
            values = (data, cut[0] if cut else None, measured.bps(size), measured.cuts.get(size))
            small.append(SmallRow(size, *map(_giga, values), *published))
    card_streams = cuts.get((SEGMENT, _STREAMS))
    six = []
    if card_streams or measured.streams:
        for number, ends in enumerate(FIVE[6]):
            streams = [measured.streamed(fabric, ends) for fabric in (OVS, SOFTWARE)]
            ours = _giga(card_streams[number] if card_streams else None)
            ovs, software = (_giga(each.bps if each else None) for each in streams)
            six.append(SixRow(*ends, ours, ovs, software, sum(each.lost for each in streams if each)))
    filters = []
    for count in SAMPLES:
        ways = [measured.bps(4 * count, way) for way in emulator_fabrics.WAYS]
        result = filtered.get(count)
        if result is not None or ways[-1] is not None:
            filters.append(FilterRow(count, *map(_giga, (None if result is None else _samples_bps(result), *ways))))
    return Switching(pairs, small, six, filters, measured.without)


def _giga(bps: float | None) -> float | None:
    return None if bps is None else bps / 1e9


def _samples_bps(found: Filtered) -> float:
    return 32 * found.samples * found.packets * found.clock_hz / found.cycles
