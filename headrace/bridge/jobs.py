"""What the measurements of ``headrace.bridge.tools`` are told, and what they give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.bridge.receive import MAX_BATCH
from headrace.errors import HeadraceError

SINGLE_KB = 1  # buffer size that stands for single packets


@dataclass(frozen=True)
class Setting:
    """What all tools have in common.

    ``buffer_kb``: size of batches, 2 to 64; 1: single packets. ``timeout_ms``: of a batch; 0: none. ``profile``: the
    host's. ``parameters``: the card's. ``output``: a pcap file (nanoseconds) of the packets, at the time at which
    software had them, or at which they left the port.
    """

    buffer_kb: int = 64
    timeout_ms: float = 10
    profile: str = "none"
    output: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def batching(self) -> dict[str, Any]:
        """As the drivers want it. Raises HeadraceError when the size can't be."""
        if not SINGLE_KB <= self.buffer_kb <= MAX_BATCH // 1024:
            raise HeadraceError(f"a buffer of {self.buffer_kb} KB: must have 2 to 64, or 1 for single packets", 2)
        single = self.buffer_kb == SINGLE_KB
        size = MAX_BATCH if single else self.buffer_kb * 1024
        return {"buffer_bytes": size, "timeout_ns": round(self.timeout_ms * 1e6), "single": single}


@dataclass(frozen=True)
class ReceiveJob(Setting):
    """Packets from port 0 to software.

    ``link``: what the port receives, and ``rate`` how: "lossless", "line", "recorded" or bits per second. ``packets``
    ends it, or ``seconds`` of card time, or the source's end. ``adaptive_ms``: the card chooses batches such that 99
    of 100 packets are in software within so many ms. ``express``: packets are latency-critical and take the express
    lane. ``step_s``: of the trace.
    """

    link: str = "gen:"
    rate: str | float = "lossless"
    packets: int | None = 16384
    seconds: float | None = None
    adaptive_ms: float | None = None
    express: bool = False
    step_s: float | None = None


@dataclass(frozen=True)
class SendJob(Setting):
    """Packets from software to port 0: ``packets`` of ``packet_bytes`` at ``rate_kbit``, None as fast as it goes, into
    ``sink``, a link of the harness."""

    packet_bytes: int = 64
    rate_kbit: float | None = None
    packets: int = 16384
    sink: str | None = None


@dataclass(frozen=True)
class Latency:
    """From a packet's departure, which it carries, to software, in ns; of packets that ``traffic triangle`` made."""

    median: float
    p99: float
    most: float


@dataclass(frozen=True)
class Report:
    """Figures of a run. ``bits_per_s`` is payload over ``seconds`` of card time; ``trace``: bit/s in each step.

    ``seconds``: to software, from the first batch to the last one, of which only the later ones count; to hardware,
    from the first packet to the card's last message. ``missing``: packets that the counters can't account for;
    None: it was stopped with packets on their way.
    """

    packets: int
    bytes: int
    batches: int
    seconds: float
    bits_per_s: float
    packets_per_s: float
    profile: str
    latency_ns: Latency | None
    dropped: dict[str, int]
    missing: int | None
    closed_by: dict[str, int]
    adaptation: dict[str, int] | None
    trace: list[float]
    step_s: float | None
    errors: list[str]
    cycles: int
    wall_s: float

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)
