"""The tables of the emulator's study; ``Switching`` are those that have a switch between the nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.evaluate.loads.emulator_healing import Healed
from headrace.evaluate.study import Study, Tables
from headrace.evaluate.study.emulator_points import RANGE_M

CARD, OVS, SOFTWARE = "card", "ovs", "software"


@dataclass(frozen=True)
class CoverageRow:
    """PHYs of a node, the endpoint (0: none) and the coordinator; moments, those in which all nodes were reached, and
    those in which they could be; parts of the nodes. ``published``: whether the thesis reached all."""

    range_m: float
    phys: int
    endpoint: int
    coordinator: int
    scenes: int
    full: int
    possible: int
    mean: float
    least: float
    published: bool | None

    @property
    def reproduced(self) -> bool | None:
        """Whether it is as the thesis says: in all moments that allow it."""
        return None if self.published is None else self.published == (self.full == self.possible > 0)


@dataclass(frozen=True)
class ResiliencyRow:
    """Links that were jammed of 4 PHYs a node, and parts of the nodes that are reached: with those that are left, and
    when others have been found. ``published``: the thesis' part, and what it found."""

    range_m: float
    jammed: int
    seeds: int
    before: float
    left: float
    after: float
    least: float
    most: float
    found: float
    published: float | None
    published_found: int | None


@dataclass(frozen=True)
class SingleRow:
    """One stream alone, Mb/s of payload on this machine: between two nodes (TCP), within one (UDP: what comes, and the
    part that doesn't), and of whole messages over both. The least of some runs, their median, and the most."""

    nodes: int
    payload: int
    within_lost: float
    between_least_mbit_s: float
    between_mbit_s: float
    between_most_mbit_s: float
    within_least_mbit_s: float
    within_mbit_s: float
    within_most_mbit_s: float
    messages_least_mbit_s: float
    messages_mbit_s: float
    messages_most_mbit_s: float


@dataclass(frozen=True)
class StreamRow:
    """A stream of images beside others, Mb/s on this machine: the least of some runs, their median, and the most.
    ``what``: "five streams" (figure 3.4) or "table 3.1", whose values are published, on 20 cores. ``lost``: messages of
    all runs."""

    what: str
    nodes: int
    source: int
    destination: int
    hops: int
    least_mbit_s: float
    mbit_s: float
    most_mbit_s: float
    lost: int
    published_mbit_s: float | None


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
class Switching(Tables):
    """All of it. ``without``: why a fabric wasn't measured, by its name."""

    pairs: list[PairRow] = field(default_factory=list)
    small: list[SmallRow] = field(default_factory=list)
    six: list[SixRow] = field(default_factory=list)
    filtered: list[FilterRow] = field(default_factory=list)
    without: dict[str, str] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """Messages."""
        return sum(row.lost for row in self.six)


@dataclass(frozen=True, kw_only=True)
class EmulatorStudy(Study):
    """What the study found. ``without_traffic``: why there is no bandwidth, if there is none."""

    coverage: list[CoverageRow]
    resiliency: list[ResiliencyRow]
    healed: list[Healed]
    singles: list[SingleRow]
    streams: list[StreamRow]
    without_traffic: str
    switching: Switching

    @property
    def tables(self) -> dict[str, list[Any]]:
        """All rows by their table's name."""
        return {**super().tables, **self.switching.tables}

    @property
    def faults(self) -> int:
        """Cells of table 3.2 that come out otherwise, where the range allows them, jams after which nodes found other
        links than counted, and messages that were lost."""
        cells = sum(row.reproduced is False for row in self.coverage if row.range_m == RANGE_M)
        cells += sum(row.counted != row.lived for row in self.healed)
        return cells + sum(row.lost for row in self.streams) + self.switching.lost
