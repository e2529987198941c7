"""What the emulator's study has of a thesis' comparison of an OpenFlow switch on an FPGA with Open vSwitch (its chapter
6), as far as nodes take part: two nodes, small packets, streams among six nodes, and a filter in the sender or in the
card. The card's values are modelled, on virtual functions; the others are this machine's, wall clock, through nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from headrace.evaluate.study.switch_published import SMALL_GBIT_S

Progress = Callable[[str, float | None], None]

CARD, OVS, SOFTWARE = "card", "ovs", "software"
SIZES = (100, 256, 512, 1_024, 1_400)
SAMPLES = (16, 64, 256, 1_024, 2_048)
SEGMENT = 1_448  # bytes of data in a packet of 1,500

_STREAMS = len(FIVE[6])
_PING = 102  # bytes of Ethernet, with FCS
_UDP_HEADERS = 46  # bytes, with FCS


@dataclass(frozen=True)
class PairRow:
    """Two nodes (figure 6.2): Gb/s of one TCP connection with messages of 64 KB, and a ping's round trip. ``fabric``:
    ``card``, modelled without the nodes' own time; ``ovs`` and ``software``, wall clock."""

    fabric: str
    gbit_s: float
    round_trip_us: float


@dataclass(frozen=True)
class SmallRow:
    """Packets of so many bytes of data between two nodes (figure 6.3), Gb/s of data: handed over as such, and cut from
    messages of 64 KB, by the card or by the sender's kernel. The card is modelled, Open vSwitch wall clock."""

    size: int
    card_gbit_s: float | None
    card_cut_gbit_s: float | None
    ovs_gbit_s: float | None
    ovs_cut_gbit_s: float | None
    published_ovs_gbit_s: float | None
    published_gbit_s: float | None


@dataclass(frozen=True)
class SixRow:
    """A stream of images beside four others among six nodes (figure 6.4), Gb/s: the card's modelled, others wall
    clock. ``lost``: messages."""

    source: int
    destination: int
    card_gbit_s: float | None
    ovs_gbit_s: float | None
    software_gbit_s: float | None
    lost: int


@dataclass(frozen=True)
class FilterRow:
    """Datagrams of so many samples through a FIR filter (figure 6.6), Gb/s of samples: in the card, modelled; through
    Open vSwitch, wall clock: not filtered, filtered by the sending node with compiled code, and with NumPy."""

    samples: int
    card_gbit_s: float | None
    none_gbit_s: float | None
    cpp_gbit_s: float | None
    numpy_gbit_s: float | None


@dataclass(frozen=True)
class Switching:
    """All of it. ``without``: why a fabric wasn't measured, by its name."""

    pairs: list[PairRow] = field(default_factory=list)
    small: list[SmallRow] = field(default_factory=list)
    six: list[SixRow] = field(default_factory=list)
    filtered: list[FilterRow] = field(default_factory=list)
    without: dict[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Sequence[Any]]:
        """All rows by their table's name."""
        return {"pairs": self.pairs, "small": self.small, "six": self.six, "filtered": self.filtered}

    @property
    def lost(self) -> int:
        """Messages."""
        return sum(row.lost for row in self.six)


def points(quick: bool) -> list[dict[str, Any]]:
    """The arguments of the card's loads. ``quick``: fewer sizes and messages."""
    messages = 4 if quick else 32
    found: list[dict[str, Any]] = [{"kind": "latency", "size": _PING}]
    found += [
        {"kind": "cut", "segment": SEGMENT, "streams": count, "messages": messages} for count in (1, len(FIVE[6]))
    ]
    for size in _some(SIZES, quick):
        found.append({"kind": "carried", "size": size + _UDP_HEADERS, "functions": 1})
        found.append({"kind": "cut", "segment": size, "streams": 1, "messages": messages})
    return found + [{"kind": "fir", "samples": count} for count in _some(SAMPLES, quick)]


def _some(all_: Sequence[int], quick: bool) -> Sequence[int]:
    return all_[::3] if quick else all_


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


def beside(quick: bool, report: Progress) -> Beside:
    """Measures fabrics. ``quick``: fewer sizes, seconds and runs."""
    found = Beside()
    for fabric in (OVS, SOFTWARE):
        if reason := emulator_fabrics.why_not(fabric):
            found.without[fabric] = reason
            continue
        try:
            _measure(found, fabric, quick, report)
        except HeadraceError as error:
            found.without[fabric] = str(error)
    return found


def _measure(found: Beside, fabric: str, quick: bool, report: Progress) -> None:
    seconds, loads = (1.0 if quick else 5.0), emulator_fabrics
    report(f"two nodes on {fabric}", None)
    with loads.two_nodes(fabric) as emulation:
        found.pairs.append(loads.pair(emulation, fabric, seconds, 10 if quick else 100))
        if fabric == OVS:
            for size in _some(SIZES, quick):
                report(f"packets of {size:,} bytes on {fabric}", None)
                found.datagrams.append(loads.datagrams(emulation, fabric, size, seconds=seconds))
                found.cuts[size] = loads.cut(emulation, size, seconds)
            for count in _some(SAMPLES, quick):
                report(f"{count:,} samples on {fabric}", None)
                found.datagrams += [
                    loads.datagrams(emulation, fabric, 4 * count, way, seconds)
                    for way in loads.WAYS
                    if found.bps(4 * count, way) is None
                ]
    report(f"six nodes on {fabric}", None)
    found.streams += loads.six_nodes(fabric, seconds, 1 if quick else 5)


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
        rate, cut = carried.get(size + _UDP_HEADERS), cuts.get((size, 1))
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
