"""The tables of the capture card's study."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.evaluate.study import Study


@dataclass(frozen=True)
class TableRow:
    """A point of table 5.1: ours in ns (modelled: cycles times the clock's period) and in cycles (measured).

    They count as bpfcap does, from the packet's descriptor on; ``doorbell_`` ones from the doorbell on. ``ratio``: the
    published mean by ours.
    """

    memory: str
    clock_mhz: int
    burst_words: int
    payload_bytes: int
    packets: int
    mean_ns: float
    sigma_ns: float
    median_ns: float
    min_ns: float
    max_ns: float
    mean_cycles: float
    doorbell_mean_ns: float
    doorbell_mean_cycles: float
    published_mean_ns: int
    published_sigma_ns: int
    published_median_ns: int
    published_min_ns: int
    published_max_ns: int
    ratio: float
    doorbell_ratio: float
    faults: int


@dataclass(frozen=True)
class SingleRow:
    """Packets one at a time: cycles (measured) and ns (modelled) from the descriptor on, or from the doorbell on."""

    sweep: str
    mem_w: int
    burst: int
    clock_mhz: float
    memory: str
    latency_ns: int
    size: int
    packets: int
    mean_cycles: float
    min_cycles: int
    max_cycles: int
    mean_ns: float
    doorbell_mean_cycles: float
    faults: int


@dataclass(frozen=True)
class TogetherRow:
    """One, two and eight packets: cycles (measured) from the doorbell until all are written, and what more ones add."""

    mem_w: int
    burst: int
    memory: str
    size: int
    one: int
    two: int
    eight: int
    second_adds: int
    later_add: float
    faults: int


@dataclass(frozen=True)
class FlowRow:
    """A stream: cycles and shares of the bus's bandwidth (measured), Gb/s of packets in the ring (modelled)."""

    sweep: str
    mem_w: int
    burst: int
    clock_mhz: float
    latency_ns: int
    offset: int
    read_buffer: int
    ports: int
    size: str
    packets: int
    cycles: int
    share: float
    payload_share: float
    gbit_s: float
    dropped: int
    lag_cycles: int
    faults: int


Row = TableRow | SingleRow | TogetherRow | FlowRow


@dataclass(frozen=True)
class KernelRow:
    """One way of receiving, packets of one size.

    ``receiver_ns``: processor time of the receiving process a packet. ``sender_ns``: that of the sending one, on whose
    account the kernel brings a veth's packets to the other end; without a receiver, what sending costs alone.
    ``total_ns``: the receiver's, and what it makes the sender spend more. ``latency_ns``: median from the packet's
    arrival in the kernel to user space, one packet at a time (None: not measured).
    """

    way: str
    size: int
    packets: int
    received: int
    receiver_ns: float
    sender_ns: float
    total_ns: float
    latency_ns: float | None


@dataclass(frozen=True, kw_only=True)
class CaptureStudy(Study):
    """What the study found. Without ``kernel_path``, ``no_kernel_path`` says why."""

    table_5_1: list[TableRow]
    single_packets: list[SingleRow]
    back_to_back: list[TogetherRow]
    streams: list[FlowRow]
    wire: list[FlowRow]
    kernel_path: list[KernelRow]
    no_kernel_path: str | None

    @property
    def faults(self) -> int:
        """Bytes of the ring that are wrong, and packets that the counters can't account for."""
        tables = (self.table_5_1, self.single_packets, self.back_to_back, self.streams, self.wire)
        return sum(row.faults for rows in tables for row in rows)
