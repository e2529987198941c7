"""What a card gives back: frames, interrupts, counters and the result of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Frame:
    """A frame without preamble and FCS, as a memory sink received it or a queue source sends it."""

    data: bytes
    timestamp_ns: int = 0
    wire_len: int = 0  # bytes on the wire; 0 when sending: the length of data
    port: int = 0  # where the packet came in
    matched: int = 0  # bit n: program n accepted it
    snaplens: tuple[int, ...] = ()  # of each program; 0: not accepted
    lost: int = 0  # packets lost at the port before this one
    error: bool = False  # bad FCS


@dataclass(frozen=True)
class Irq:
    """An interrupt that the card raised."""

    time_ns: int
    function: int
    vector: int


@dataclass(frozen=True)
class PortStats:
    """Counters of a port's MAC. Frames and bytes are without preamble, FCS and gap."""

    rx_frames: int
    rx_bytes: int
    rx_overruns: int  # frames that the card did not take in time
    rx_held_cycles: int  # that flow control held the link off
    rx_held_ns: float
    tx_frames: int
    tx_bytes: int
    tx_underruns: int  # beats that came later than their time on the wire
    tx_errors: int  # frames with a bad FCS; they are not in pcap files
    tx_lost: int  # packets that the card reports lost beside its frames
    rx_missed: int  # frames that a live source lost before the card, for want of room


@dataclass(frozen=True)
class MemoryStats:
    """What the card did on its host memory port."""

    read_bursts: int
    read_bytes: int
    write_bursts: int
    write_bytes: int
    errors: int  # bursts answered with SLVERR or DECERR


@dataclass(frozen=True)
class PassthroughStats:
    """Result of ``expect_passthrough``."""

    source: int
    destination: int
    frames: int  # that came out as they went in
    mismatches: int  # changed, out of order or never sent in
    waiting: int  # gone in and not come out
    latency_cycles: tuple[int, int] | None  # min, max, from first beat in to first beat out


@dataclass(frozen=True)
class Stats:
    """Counters of a card since it was opened."""

    cycles: int  # of card time, the skipped ones too
    skipped_cycles: int
    time_ns: int  # the card's clock
    clock_hz: int
    wall_s: float  # spent in the simulator
    interrupts: int
    ports: tuple[PortStats, ...]
    memory: MemoryStats
    passthrough: tuple[PassthroughStats, ...]

    @property
    def evaluated_cycles(self) -> int:
        """Cycles that the model was evaluated for."""
        return self.cycles - self.skipped_cycles

    @property
    def card_s(self) -> float:
        """Card time in seconds."""
        return self.cycles / self.clock_hz

    @property
    def passthrough_mismatches(self) -> int:
        """Frames of all passthrough checks that didn't come out as they went in, or not at all."""
        return sum(check.mismatches + check.waiting for check in self.passthrough)

    @property
    def latency_cycles(self) -> tuple[int, int] | None:
        """Minimum and maximum over all passthrough checks."""
        found = [check.latency_cycles for check in self.passthrough if check.latency_cycles]
        return (min(low for low, _ in found), max(high for _, high in found)) if found else None


@dataclass(frozen=True)
class RunResult:
    """Why ``run`` came back, and the counters then."""

    reason: Literal["idle", "cycles", "packets", "interrupt", "wall"]
    stats: Stats

    @property
    def idle(self) -> bool:
        """Whether all was done: sources at their end, card idle, everything sent."""
        return self.reason == "idle"
