"""The tables of the filter card's study."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.evaluate.study import Study


@dataclass(frozen=True)
class SizeRow:
    """A size at a full line of 100 Gb/s; its way through the card, and FFShark's insertion latency (table IV, fig. 11).

    ``ns``: modelled, ``latency_cycles`` at the nominal clock. ``store_ns``: the frame's bytes at 100 Gb/s.
    """

    size: str
    packets: int
    lost: int
    uninspected: int
    latency_cycles: int
    ns: float
    published_ns: float | None
    store_ns: float | None


@dataclass(frozen=True)
class ClassRow:
    """A class of packets of tables II and III: instructions of each, published and in the RTL."""

    table: str
    name: str
    share: float
    published: int
    instructions: float


@dataclass(frozen=True)
class CoresRow:
    """Cores for a mix at 100 Gb/s. Published; FFShark's by its own bound of four cycles an instruction, as its
    equations average rates and as packets take time; packets that so many cores of ours did not inspect."""

    table: str
    published: int
    by_rates: int
    by_times: int
    cores: int
    packets: int
    uninspected: int
    cpi: float


@dataclass(frozen=True)
class PartRow:
    """What a part takes on UltraScale+: FFShark's (Vivado), ours (Yosys). ``None``: not published, or not measured."""

    part: str
    what: str
    luts: int
    flip_flops: int
    brams: float
    dsps: int | None


@dataclass(frozen=True, kw_only=True)
class FilterStudy(Study):
    """What the study found. ``faults``: packets of the sizes that were changed, lost or not inspected."""

    sizes: list[SizeRow]
    classes: list[ClassRow]
    cores: list[CoresRow]
    parts: list[PartRow]
    faults: int
