"""The tables of the switch card's study."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.evaluate.study import Study


@dataclass(frozen=True)
class DepthRow:
    """A pipeline of so many tables: cycles in the card of a packet that sees all of them, and of the smallest packets
    at their limit; Open vSwitch's processor time for a packet of a new connection and of one that it knows."""

    tables: int
    least_cycles: int
    most_cycles: int
    ns: float
    cycles_per_packet: float
    ovs_new_ns: float | None
    ovs_known_ns: float | None


@dataclass(frozen=True)
class SizeRow:
    """A part of a table on UltraScale+: ``ram_bits`` are those of its entries, ``cam_bits`` those of the thesis' CAM
    with as many."""

    part: str
    entries: int
    luts: int
    lutram: int
    ffs: int
    bram36: float
    cam_bits: int


@dataclass(frozen=True)
class ConnectionRow:
    """Connections that begin and end, thousands of packets a second. ``data``: packets of each beside the two that open
    it. The card's are modelled, ``ovs`` those of this machine, wall clock and a core's processor time: in the best of
    some runs, and in the worst."""

    data: int
    payload: int
    card_kpps: float
    ovs_kpps: float | None
    ovs_core_kpps: float | None
    ovs_core_least_kpps: float | None
    ovs_known_core_kpps: float | None
    published_ovs_kpps: float
    published_kpps: float


@dataclass(frozen=True)
class SmallRow:
    """Packets of a size, Gb/s of frames: the card's two lines are modelled; Open vSwitch's on a core of this machine,
    of one flow, wall clock and processor time: in the best of some runs, and in the worst."""

    size: int
    card_gbit_s: float
    lines_gbit_s: float
    ovs_gbit_s: float | None
    ovs_core_gbit_s: float | None
    ovs_core_least_gbit_s: float | None


@dataclass(frozen=True)
class FirRow:
    """A FIR filter of 4 taps on packets of so many samples, Gb/s of samples: the card's are modelled, the others a
    core's of this machine."""

    samples: int
    card_gbit_s: float
    cpp_gbit_s: float
    numpy_gbit_s: float


@dataclass(frozen=True)
class BarrierRow:
    """Packets sent when a barrier was answered, behind a change of their flow: modified, or deleted and added."""

    switch: str
    change: str
    trials: int
    stale: int
    lost: int


@dataclass(frozen=True, kw_only=True)
class SwitchStudy(Study):
    """What the study found. ``without_ovs``: why there are no rates of Open vSwitch's, if there are none."""

    depths: list[DepthRow]
    sizes: list[SizeRow]
    connections: list[ConnectionRow]
    small: list[SmallRow]
    fir: list[FirRow]
    barriers: list[BarrierRow]
    without_ovs: str

    @property
    def faults(self) -> int:
        """Packets that the card sent the old way, or lost, behind a barrier's answer."""
        return sum(row.stale + row.lost for row in self.barriers if row.switch == "card")
