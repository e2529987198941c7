"""What the measurements of ``headrace.cards.bridge.tools`` are told, and what they give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.build.description import load_card
from headrace.cards.bridge.host import HostProfile, parse_host
from headrace.cards.bridge.receive import MAX_BATCH
from headrace.errors import HeadraceError
from headrace.net.port_link import check_sink
from headrace.net.source import check_link, check_output

SINGLE_KB = 1  # buffer size that stands for single packets

_LONGEST_MS = ((1 << 32) - 1) / 1e6  # what the card's registers of times hold
_LEAST_FRAME = 14
_LEAST_STEP_S = 1e-6
_LONGEST_S = 1e6
_MOST_KBIT = 1e9


def within(what: str, value: float, least: float, most: float, unit: str, zero: bool = False) -> None:
    """Raises HeadraceError unless a number lies in a range, or is 0 where that has a meaning. nan lies nowhere."""
    if not (least <= value <= most or (zero and value == 0)):
        raise HeadraceError(f"{what} of {value:g} {unit}: must be {'0 or ' * zero}{least:g} to {most:g}", 2)


@dataclass(frozen=True)
class Setting:
    """What all tools have in common.

    ``buffer_kb``: size of batches, 2 to 64; 1: single packets. ``timeout_ms``: of a batch; 0: none. ``profile``: the
    host's name or its costs (``headrace.cards.bridge.host.parse_host``). ``parameters``: the card's. ``output``: a pcap
    file (nanoseconds) of the packets, at the time at which software had them, or at which they left the port.

    Raises HeadraceError for what can't be, before a card is built.
    """

    buffer_kb: int = 64
    timeout_ms: float = 10
    profile: str = "none"
    output: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not SINGLE_KB <= self.buffer_kb <= MAX_BATCH // 1024:
            raise HeadraceError(f"a buffer of {self.buffer_kb} KB: must have 2 to 64, or 1 for single packets", 2)
        within("a timeout", self.timeout_ms, 1e-6, _LONGEST_MS, "ms", zero=True)
        parse_host(self.profile)
        self.card()
        if self.output is not None:
            check_output(self.output)

    def host(self) -> HostProfile:
        """The model of the host."""
        return parse_host(self.profile)

    def card(self) -> dict[str, Any]:
        """All parameters of the card."""
        return load_card("bridge").resolve(self.parameters)

    def batching(self) -> dict[str, Any]:
        """As the drivers want it."""
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

    def __post_init__(self) -> None:
        super().__post_init__()
        most = self.card()["H2S_KB"] // 2
        if self.buffer_kb > most:
            raise HeadraceError(f"a buffer of {self.buffer_kb} KB: H2S_KB={2 * most} holds batches of {most}", 2)
        if self.express and not self.card()["EXPRESS_KB"]:
            raise HeadraceError("no express lane: the card has EXPRESS_KB=0", 2)
        check_link(self.link)
        if self.packets is not None:
            within("a number", self.packets, 1, float("inf"), "packets")
        if self.seconds is not None:
            within("a duration", self.seconds, _LEAST_STEP_S, _LONGEST_S, "s")
        if self.adaptive_ms is not None:
            within("a target", self.adaptive_ms, 1e-6, _LONGEST_MS, "ms")
        if self.step_s is not None:
            within("a step", self.step_s, _LEAST_STEP_S, _LONGEST_S, "s")


@dataclass(frozen=True)
class SendJob(Setting):
    """Packets from software to port 0: ``packets`` of ``packet_bytes`` at ``rate_kbit``, None as fast as it goes, into
    ``sink``, a link of the harness."""

    packet_bytes: int = 64
    rate_kbit: float | None = None
    packets: int = 16384
    sink: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        most = self.card()["MAX_PACKET"]
        if not _LEAST_FRAME <= self.packet_bytes <= most:
            raise HeadraceError(f"packets of {self.packet_bytes} bytes: must have {_LEAST_FRAME} to {most}", 2)
        within("a number", self.packets, 1, float("inf"), "packets")
        if self.rate_kbit is not None:
            within("a rate", self.rate_kbit, 1e-3, _MOST_KBIT, "kbit/s")
        if self.sink is not None:
            check_sink(self.sink)


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
