"""The tables of the bridge card's study."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.evaluate.study import Study


@dataclass(frozen=True)
class ThroughputRow:
    """Payload that gets across in one direction under full load.

    ``buffer_kb``: 0 for single packets. ``gain``: times the single packets' throughput at the same size.
    ``published_mbit_s``: EmbedNet's, where its text gives a number.
    """

    host: str
    direction: str
    buffer_kb: int
    size: int
    messages: int
    packets: int
    mbit_s: float
    gain: float
    published_mbit_s: float | None


@dataclass(frozen=True)
class LatencyRow:
    """Time from a packet's arrival at one end to its arrival at the other, at a rate. ``timeout_ms``: 0 for none."""

    host: str
    direction: str
    buffer_kb: int
    timeout_ms: float
    size: int
    rate_mbit_s: float
    packets: int
    min_us: float
    median_us: float
    p99_us: float
    max_us: float


@dataclass(frozen=True)
class TraceRow:
    """A step of time of a trace: what came to the port and what software got. Percentiles of the packets of the step,
    0 where there were none."""

    load: str
    mode: str
    time_s: float
    offered_mbit_s: float
    delivered_mbit_s: float
    p99_us: float
    packets_per_message: float


@dataclass(frozen=True)
class ModeRow:
    """A whole trace. ``worst_p99_us``: of its steps; ``delivered``: share of the packets that came."""

    host: str
    load: str
    mode: str
    target_us: float
    packets: int
    messages: int
    p99_us: float
    worst_p99_us: float
    max_us: float
    delivered: float
    mbit_s: float


@dataclass(frozen=True)
class CriticalRow:
    """Latency-critical packets beside a saturating burst: from the last bit on the wire to the message's interrupt.

    ``allowed_us``: that of single packets without the burst and the transfer of a packet of maximum size.
    """

    mode: str
    burst: str
    packets: int
    median_us: float
    p99_us: float
    max_us: float
    allowed_us: float


@dataclass(frozen=True)
class WireRow:
    """Both directions at once at a full line of 10 Gb/s: shares of the line's packets that get across."""

    size: int
    h2s_share: float
    s2h_share: float
    dropped: int
    faults: int


@dataclass(frozen=True)
class PublishedRow:
    """A published number beside ours. ``fitted``: the model of the host was fitted to it."""

    where: str
    what: str
    unit: str
    published: float
    ours: float
    fitted: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ours by the published one."""
        return self.ours / self.published


@dataclass(frozen=True)
class SizeRow:
    """What a block costs. ``tool``: how it is known."""

    block: str
    what: str
    tool: str
    luts: float
    flip_flops: float
    brams: float


@dataclass(frozen=True, kw_only=True)
class BridgeStudy(Study):
    """What the study found. ``faults``: packets that are wrong, out of order or unaccounted for."""

    throughput: list[ThroughputRow]
    latency: list[LatencyRow]
    traces: list[TraceRow]
    modes: list[ModeRow]
    critical: list[CriticalRow]
    wire: list[WireRow]
    sizes: list[SizeRow]
    faults: int
