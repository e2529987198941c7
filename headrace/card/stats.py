"""What a card gives back: frames, interrupts, counters and the result of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Frame:
    """A frame without preamble and FCS, as a memory sink received it or a queue source sends it."""

    data: bytes
    timestamp_ns: int = 0
    wire_len: int | None = None  # bytes on the wire, also of a frame that a capture cut; None: the length of data
    port: int = 0  # where the packet came in
    user: int = 0  # the card's own bits beside the frame, above tx_meta_t
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
    rx_waiting: int = 0  # frames that a live source is known to have for the card

    @classmethod
    def of(cls, numbers: Iterable[int], clock_hz: int) -> PortStats:
        """From the fields of the C interface's hr_port_stats."""
        rx_frames, rx_bytes, rx_overruns, held, *others = numbers
        return cls(rx_frames, rx_bytes, rx_overruns, held, held * 1e9 / clock_hz, *others)


@dataclass(frozen=True)
class FileTotals:
    """The packets in a capture file: how many, their bytes there, and those that they had on the wire."""

    packets: int = 0
    captured_bytes: int = 0
    wire_bytes: int = 0

    def __add__(self, other: FileTotals) -> FileTotals:
        return FileTotals(
            self.packets + other.packets,
            self.captured_bytes + other.captured_bytes,
            self.wire_bytes + other.wire_bytes,
        )

    @classmethod
    def of(cls, raw: Any) -> FileTotals:
        """From the C interface's hr_totals."""
        return cls(raw.packets, raw.captured_bytes, raw.wire_bytes)


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


_CARD_NUMBERS, _PORT_NUMBERS = 11, 11  # in hr_stats, of which the last five are the memory's, and hr_port_stats


class Stats:
    """Counters of a card since it was opened.

    ``raw`` are the bytes of hr_stats and then of hr_port_stats for each port, as sim/headrace.h has them: what they say
    is taken out when it is asked for, so that a look at the time costs little.
    """

    __slots__ = ("_raw", "passthrough")

    def __init__(self, raw: bytes, passthrough: tuple[PassthroughStats, ...] = ()) -> None:
        self._raw = raw
        self.passthrough = passthrough

    @property
    def _numbers(self) -> memoryview[int]:
        return memoryview(self._raw).cast("Q")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stats) and (self._raw, self.passthrough) == (other._raw, other.passthrough)

    def __hash__(self) -> int:
        return hash((self._raw, self.passthrough))

    def __repr__(self) -> str:
        return f"Stats(cycles={self.cycles}, time_ns={self.time_ns}, ports={self.ports}, memory={self.memory})"

    @property
    def cycles(self) -> int:
        """Cycles of card time, the skipped ones too."""
        return self._numbers[0]

    @property
    def skipped_cycles(self) -> int:
        """Cycles of idle time that were not evaluated."""
        return self._numbers[1]

    @property
    def time_ns(self) -> int:
        """The card's clock."""
        return self._numbers[2]

    @property
    def clock_hz(self) -> int:
        """Cycles in a second."""
        return self._numbers[3]

    @property
    def wall_s(self) -> float:
        """Seconds spent in the simulator."""
        return self._numbers[4] / 1e9

    @property
    def interrupts(self) -> int:
        """Interrupts that the host has taken."""
        return self._numbers[5]

    @property
    def memory(self) -> MemoryStats:
        """What the card did on its host memory port."""
        return MemoryStats(*self._numbers[6:_CARD_NUMBERS])

    @property
    def ports(self) -> tuple[PortStats, ...]:
        """Counters of each port's MAC."""
        numbers = self._numbers
        starts = range(_CARD_NUMBERS, len(numbers), _PORT_NUMBERS)
        return tuple(PortStats.of(numbers[at : at + _PORT_NUMBERS], self.clock_hz) for at in starts)

    @property
    def rx_frames(self) -> int:
        """Frames that the card took at all its ports."""
        return sum(self._numbers[_CARD_NUMBERS::_PORT_NUMBERS])

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

    reason: Literal["idle", "cycles", "packets", "interrupt", "asked", "wall"]
    stats: Stats

    @property
    def idle(self) -> bool:
        """Whether all was done: sources at their end, card idle, everything sent."""
        return self.reason == "idle"
