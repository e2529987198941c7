"""The tables of the RPU card's study."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.evaluate.study import Study


@dataclass(frozen=True)
class RateRow:
    """What units carry of a full line: Gb/s of frames with their FCS (modelled), and cycles a packet and unit.

    ``what``: "forwarded" by our firmware, or by "the original's"; "generated" by the units; "CRC checked" by the
    accelerator. ``line_gbit_s``: what a line of 100 Gb/s has room for. ``rosebud_gbit_s``: of
    Rosebud's cycles a packet, where it forwards.
    """

    what: str
    units: int
    size: int
    gbit_s: float
    line_gbit_s: float
    cycles: float
    rosebud_gbit_s: float | None


@dataclass(frozen=True)
class StayRow:
    """Cycles in the card, from a packet's first beat in to its first beat out, at a share of the line."""

    size: int
    load: float
    packets: int
    least_cycles: float
    mean_cycles: float
    most_cycles: float
    mean_ns: float


@dataclass(frozen=True)
class SwapRow:
    """Units whose accelerator is changed while the others forward: times in the card in us, one unit after the other;
    packets of the others that were lost, and the worst stay beside that without a change."""

    units: int
    drain_us: float
    swap_us: float
    boot_us: float
    lost: int
    most_cycles: float
    most_cycles_without: float


@dataclass(frozen=True, kw_only=True)
class RpuStudy(Study):
    """What the study found."""

    rates: list[RateRow]
    stays: list[StayRow]
    swaps: list[SwapRow]

    @property
    def faults(self) -> int:
        """Packets that were lost where none may be."""
        return sum(row.lost for row in self.swaps)
