"""The tables of the host interface's study."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.evaluate.study import Study


@dataclass(frozen=True)
class PayloadRow:
    """PCIe 3.0 x8 by bytes of a TLP at most, Gb/s of payload: what the link carries by formula, with 32-bit and 64-bit
    addresses and in completions; what the RTL moves."""

    payload: int
    limit_32_gbit_s: float
    limit_64_gbit_s: float
    limit_reads_gbit_s: float
    writes_gbit_s: float
    reads_gbit_s: float


@dataclass(frozen=True)
class WindowRow:
    """Reads that may be without an answer, of 512 bytes, on PCIe 3.0 x8."""

    window: int
    gbit_s: float
    limit_gbit_s: float


@dataclass(frozen=True)
class TransferRow:
    """PCIe 3.0 x8 by bytes of a transfer, Gb/s: reads one at a time, reads and writes one after the other without
    waiting, both at once; each with all of a descriptor's, the data's and the way back's latencies, as the thesis
    describes its engine; what it published."""

    size: int
    single_gbit_s: float
    reads_gbit_s: float
    writes_gbit_s: float
    both_gbit_s: float
    described_gbit_s: float
    published_gbit_s: float | None


@dataclass(frozen=True)
class LinkRow:
    """A link of PCI Express, Gb/s each way: of the link, its limit of payload in completions and in writes at 256
    bytes, what the RTL moves on a bus of 512 bits at 250 MHz; what is published of it."""

    generation: int
    lanes: int
    link_gbit_s: float
    limit_reads_gbit_s: float
    limit_writes_gbit_s: float
    reads_gbit_s: float
    writes_gbit_s: float
    published_gbit_s: float | None


@dataclass(frozen=True)
class LatencyRow:
    """Cycles from one driver to another, by host memory's latency."""

    size: int
    read_latency_ns: int
    least_cycles: int
    most_cycles: int
    ns: float


@dataclass(frozen=True)
class ModerationRow:
    """Frames at even distances into a function whose interrupts wait."""

    packets: int
    time_ns: int
    gap_ns: float
    frames_per_interrupt: float
    interrupts_s: float
    median_ns: float
    p99_ns: float


@dataclass(frozen=True)
class PathRow:
    """Processor time of this machine for a packet of 64 bytes between two functions, by who drives the first one."""

    path: str
    frames: int
    cpu_ns: float
    card_ns: float  # of these, the RTL's and the harness', as with frames out of memory
    path_ns: float


@dataclass(frozen=True, kw_only=True)
class HostStudy(Study):
    """What the study found. ``without_pcie``, ``without_paths``: why some tables are empty, if they are."""

    payloads: list[PayloadRow]
    windows: list[WindowRow]
    transfers: list[TransferRow]
    links: list[LinkRow]
    latencies: list[LatencyRow]
    moderations: list[ModerationRow]
    paths: list[PathRow]
    wrong: int  # bytes that came otherwise over the modelled link
    without_pcie: str
    without_paths: str

    @property
    def faults(self) -> int:
        """Bytes that were wrong."""
        return self.wrong
