"""A virtual card: the RTL of a card, compiled, with links, host memory and registers around it.

    >>> from headrace.card import Card
    >>> with Card.open("filter", {"CORES": 4}) as card:
    ...     card.source(0, "pcap:in.pcap")
    ...     card.sink(1, "pcap:out.pcap")
    ...     result = card.run()
    >>> result.stats.ports[1].tx_frames
    1024

Packets go through the harness, in C++, and not through Python; ``card.send`` and memory sinks are there for tests and
for looking at single packets. A card belongs to one thread.
"""

from __future__ import annotations

import difflib
import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from headrace import harness, registers
from headrace.build import build_card
from headrace.description import CardDescription, Value, load_card
from headrace.errors import (
    BusError,
    CaptureError,
    CardError,
    HangError,
    HeadraceError,
    ModelError,
    ProtocolError,
)
from headrace.host_memory import HostMemory
from headrace.register_map import GroupView
from headrace.stats import Frame, Irq, MemoryStats, PassthroughStats, PortStats, RunResult, Stats

__all__ = [
    "BusError",
    "CaptureError",
    "Card",
    "CardError",
    "Frame",
    "HangError",
    "Irq",
    "MemoryStats",
    "ModelError",
    "PassthroughStats",
    "PortStats",
    "ProtocolError",
    "RunResult",
    "Stats",
]

_SLICE_MS = 50  # of wall time between looks at Ctrl-C and progress


class Card:
    """A card that is built and runs. ``Card.open`` makes it; a ``with`` statement finishes its files at the end."""

    def __init__(
        self,
        library: Path,
        description: CardDescription,
        parameters: dict[str, Value],
        clock_hz: int,
        trace: Path | None,
    ) -> None:
        self.description = description
        self.parameters: dict[str, Any] = dict(parameters)
        self.clock_hz = clock_hz
        self._ffi = harness.interface()
        self._lib: Any = harness.load(library)
        error = self._ffi.new("char[512]")
        trace_name = self._ffi.NULL if trace is None else str(trace).encode()
        handle = self._lib.hr_create(clock_hz, trace_name, error, len(error))
        if handle == self._ffi.NULL:
            raise CardError(self._ffi.string(error).decode(errors="replace"), 2)
        self._handle = self._ffi.gc(handle, self._lib.hr_destroy)
        self.ports: int = self._lib.hr_get_info().ports
        self._programs: int = self._lib.hr_get_info().programs
        self.memory = HostMemory(self)
        self._closed = False

    @classmethod
    def open(
        cls,
        card: str | Path,
        parameters: Mapping[str, Value] | None = None,
        *,
        clock_hz: int | None = None,
        trace: str | Path | None = None,
        progress: bool = True,
    ) -> Self:
        """Builds the card if it isn't in the cache, and resets it.

        ``card`` is a built-in card's name, a folder with ``card.toml`` or a .toml file; ``clock_hz`` is the nominal
        clock unless given; ``trace`` is the path of an FST waveform file to write. Raises HeadraceError as
        ``build_card`` does.
        """
        description = load_card(card)
        library = build_card(description, parameters, trace=trace is not None, progress=progress)
        clock = description.clock_hz if clock_hz is None else clock_hz
        return cls(library, description, description.resolve(parameters), clock, None if trace is None else Path(trace))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except HeadraceError:
            if error is None:
                raise

    def close(self) -> None:
        """Finishes all files and ends the card. Raises CardError when a file can't be written. May be called again."""
        if self._closed:
            return
        self._closed = True
        try:
            self._check(self._lib.hr_close_sinks(self._handle))
        finally:
            self._ffi.release(self._handle)

    def close_files(self) -> None:
        """Finishes and removes all sinks; the card can go on. Raises CardError when a file can't be written."""
        self._check(self._lib.hr_close_sinks(self._open))

    # Registers

    def read(self, address: int) -> int:
        """The 32-bit register at a byte address. Takes some cycles, in which traffic goes on. Raises BusError."""
        value = self._ffi.new("uint32_t *")
        self._check(self._lib.hr_read_register(self._open, self._address(address), value))
        return int(value[0])

    def write(self, address: int, value: int) -> None:
        """Writes the 32-bit register at a byte address. Raises BusError."""
        self.write_many([(address, value)])

    def write_many(self, writes: Sequence[tuple[int, int]]) -> None:
        """Writes (address, value) pairs in order, without waiting for each answer. Raises BusError at the end."""
        items = [(self._address(address), value & 0xFFFFFFFF) for address, value in writes]
        array = self._ffi.new("hr_register_write[]", items)
        self._check(self._lib.hr_write_registers(self._open, array, len(items)))

    @functools.cached_property
    def regs(self) -> GroupView:
        """The registers by name, as in the card's SystemRDL file. Raises CardError when the card has none."""
        if self.description.registers is None:
            raise CardError(f"card {self.description.name} has no register description", 2)
        return registers.load_map(self.description.registers).bind(self.read, self.write, self.write_many)

    # Links

    def set_rate(self, port: int, bits_per_s: float) -> None:
        """Rate of a port's MAC, both ways, in bits per second. 100 Gb/s at first."""
        self._check(self._lib.hr_set_rate(self._open, port, round(bits_per_s)))

    def flow_control(self, port: int, on: bool) -> None:
        """With flow control a MAC holds the link off while the card isn't ready; without, the frame is lost."""
        self._check(self._lib.hr_set_flow_control(self._open, port, on))

    def source(
        self,
        port: int,
        link: str | Iterable[bytes | Frame],
        timing: str | float = "line",
        packets: int | None = None,
    ) -> None:
        """Connects what a port receives, from the next ``run`` on.

        ``link`` is ``pcap:FILE`` (pcap or pcapng; ``-`` is standard input), ``gen:SPEC``, ``port:N`` (a cable from
        that port), ``null``, frames, or a live link: ``iface:NAME``, ``xdp:NAME``, ``tap:NAME``. ``timing``:
        ``"line"``, one frame right after the other; ``"recorded"``, at the times of the capture, the first of which
        sets the card's clock; or a rate in bits per second, gaps counted in. A live link's frames come at the times
        that the kernel gave them, also with ``"line"``. ``packets``: the source ends after so many.
        Raises CardError when the link is wrong, or what it names can't be opened.
        """
        if not isinstance(link, str):
            self._attach_source(port, "queue", timing, packets)
            self.send(port, link)
            return
        self._attach_source(port, link, timing, packets)

    def stop_sources(self) -> None:
        """Lets all live sources end: they take nothing new, but what they have taken still goes through."""
        self._check(self._lib.hr_stop_sources(self._open))

    def end_source(self, port: int) -> None:
        """Lets a port receive nothing more; a frame that is on its way still comes."""
        self._check(self._lib.hr_end_source(self._open, port))

    def _attach_source(self, port: int, link: str, timing: str | float, packets: int | None) -> None:
        name = self._ffi.new("char[]", link.encode())
        rate = 0
        if timing == "line":
            kind = self._lib.HR_TIMING_LINE
        elif timing == "recorded":
            kind = self._lib.HR_TIMING_RECORDED
        elif isinstance(timing, str):
            raise CardError(f"timing '{timing}': must be line, recorded or bits per second", 2)
        else:
            kind, rate = self._lib.HR_TIMING_RATE, round(timing)
        request = self._ffi.new(
            "hr_source *",
            {"port": port, "link": name, "timing": kind, "bits_per_s": rate, "packets": packets or 0},
        )
        self._check(self._lib.hr_attach_source(self._open, request))

    def send(self, port: int, frames: Iterable[bytes | Frame], wire_lens: Iterable[int] | None = None) -> None:
        """Queues frames at a port that has no other source. They go out in the next ``run``.

        ``wire_lens``: bytes that each frame had on the wire, when it was cut; 0 or none: as many as it has.
        """
        lengths = iter(wire_lens) if wire_lens is not None else None
        for item in frames:
            frame = item if isinstance(item, Frame) else Frame(bytes(item))
            wire_len = frame.wire_len if lengths is None else next(lengths)
            self._check(self._lib.hr_send(self._open, port, frame.data, len(frame.data), wire_len, frame.error))

    def sink(
        self,
        port: int,
        link: str,
        program: int | None = None,
        snaplen: int | None = None,
        timestamps: str = "recorded",
        format: str | None = None,
        precision: str = "micro",
        snapshot: int = 0,
        packets: int | None = None,
    ) -> None:
        """Adds a place where the frames that a port sends go; a port can have several.

        ``link`` is ``pcap:FILE`` (``-`` is standard output), ``tap:NAME`` (the host receives them), ``memory`` (see
        ``received``) or ``null``. ``program``:
        only frames that this filter program accepted, cut to the length it returned. ``snaplen``: bytes of a frame
        kept at most. ``timestamps``: ``"recorded"``, those of the capture records that the packets came from, or
        ``"card"``, the card's. ``format``: ``"pcap"`` or ``"pcapng"``; from the file's suffix unless given.
        ``precision``: of pcap, ``"micro"`` or ``"nano"``; pcapng has nanoseconds. ``snapshot``: snapshot length in the
        file's header; 0: as in the capture read. ``packets``: takes so many, and then ends the run. Raises CardError
        when the file can't be opened.
        """
        lib = self._lib
        if format is None:
            format = "pcapng" if link.endswith(".pcapng") else "pcap"
        name = self._ffi.new("char[]", link.encode())
        request = self._ffi.new(
            "hr_sink *",
            {
                "port": port,
                "link": name,
                "program": -1 if program is None else program,
                "snap_length": snaplen or 0,
                "timestamps": pick(
                    "timestamps", timestamps, recorded=lib.HR_TIMESTAMPS_RECORDED, card=lib.HR_TIMESTAMPS_CARD
                ),
                "format": pick("format", format, pcap=lib.HR_FORMAT_PCAP, pcapng=lib.HR_FORMAT_PCAPNG),
                "precision": pick("precision", precision, micro=lib.HR_PRECISION_MICRO, nano=lib.HR_PRECISION_NANO),
                "snapshot": snapshot,
                "packets": packets or 0,
            },
        )
        self._check(lib.hr_attach_sink(self._open, request))

    def received(self, port: int, program: int | None = None) -> list[Frame]:
        """Takes the frames out of a port's memory sink, of all frames or of a program."""
        info = self._ffi.new("hr_frame *")
        frames = []
        while self._check(self._lib.hr_receive(self._open, port, -1 if program is None else program, info)):
            frames.append(
                Frame(
                    data=bytes(self._ffi.buffer(info.data, info.length)),
                    timestamp_ns=info.timestamp_ns,
                    wire_len=info.wire_length,
                    port=info.port,
                    matched=info.matched,
                    snaplens=tuple(info.snap_length[n] for n in range(min(self._programs, len(info.snap_length)))),
                    lost=info.lost,
                    error=bool(info.error),
                )
            )
        return frames

    def expect_passthrough(self, source: int, destination: int) -> None:
        """Checks that each frame into ``source`` comes out of ``destination`` untouched and in order; see ``stats``."""
        self._check(self._lib.hr_expect_passthrough(self._open, source, destination))

    # Running

    def run(
        self,
        until: str | None = "idle",
        cycles: int | None = None,
        seconds: float | None = None,
        packets: int | None = None,
        wall_s: float | None = None,
        progress: Callable[[Stats], None] | None = None,
    ) -> RunResult:
        """Runs the card until all is done, or until a limit: cycles, seconds of card time, packets received, wall time.

        With ``until="interrupt"`` it also stops where ``irqs`` has something to give, with ``until=None`` an idle card
        waits for the limit. ``progress`` is called about 20 times a wall second.
        Ctrl-C ends the run at once; all files are then whole, and the card can go on. Raises CardError and its kin; a
        broken capture (CaptureError) only once everything before the fault is through.
        """
        if until not in ("idle", "interrupt", None):
            raise CardError(f"until '{until}': must be idle, interrupt or None", 2)
        if seconds is not None:
            limit = max(1, round(seconds * self.clock_hz))
            cycles = limit if cycles is None else min(cycles, limit)
        if until is None and cycles is None and packets is None and wall_s is None:
            raise CardError("run() needs a limit when it isn't to stop at idle", 2)
        if cycles == 0 or packets == 0:
            return RunResult("cycles" if cycles == 0 else "packets", self.stats())
        lib = self._lib
        limits = self._ffi.new(
            "hr_run_limits *",
            {"until_idle": until is not None, "until_interrupt": until == "interrupt", "slice_ms": _SLICE_MS},
        )
        start = self.stats()
        deadline = None if wall_s is None else time.monotonic() + wall_s
        reasons: dict[int, Literal["idle", "cycles", "packets", "interrupt"]] = {
            lib.HR_STOP_IDLE: "idle",
            lib.HR_STOP_CYCLES: "cycles",
            lib.HR_STOP_PACKETS: "packets",
            lib.HR_STOP_INTERRUPT: "interrupt",
        }
        while True:
            if deadline is not None:
                limits.slice_ms = min(_SLICE_MS, max(1, round(1000 * (deadline - time.monotonic()))))
            if cycles is not None or packets is not None:
                now = self.stats()
                limits.cycles = 0 if cycles is None else cycles - (now.cycles - start.cycles)
                limits.packets = 0 if packets is None else packets - (_received(now) - _received(start))
            stop = self._check(lib.hr_run(self._open, limits))
            if progress is not None:
                progress(self.stats())
            if stop in reasons:
                return RunResult(reasons[stop], self.stats())
            if deadline is not None and time.monotonic() >= deadline:
                return RunResult("wall", self.stats())

    def stats(self) -> Stats:
        """The counters since the card was opened."""
        raw = self._lib.hr_get_stats(self._open)
        clock_hz = int(raw.clock_hz)
        checks: list[PassthroughStats] = []
        check = self._ffi.new("hr_passthrough_stats *")
        while self._lib.hr_get_passthrough_stats(self._handle, len(checks), check):
            latency = (check.latency_min, check.latency_max) if check.frames else None
            checks.append(
                PassthroughStats(
                    check.source, check.destination, check.frames, check.mismatches, check.waiting, latency
                )
            )
        memory = raw.memory
        return Stats(
            cycles=raw.cycles,
            skipped_cycles=raw.skipped_cycles,
            time_ns=raw.time_ns,
            clock_hz=clock_hz,
            wall_s=raw.wall_ns / 1e9,
            interrupts=raw.interrupts,
            ports=tuple(self._port_stats(port, clock_hz) for port in range(self.ports)),
            memory=MemoryStats(
                memory.read_bursts, memory.read_bytes, memory.write_bursts, memory.write_bytes, memory.errors
            ),
            passthrough=tuple(checks),
        )

    def _port_stats(self, port: int, clock_hz: int) -> PortStats:
        raw = self._lib.hr_get_port_stats(self._handle, port)
        return PortStats(
            rx_frames=raw.rx_frames,
            rx_bytes=raw.rx_bytes,
            rx_overruns=raw.rx_overruns,
            rx_held_cycles=raw.rx_held_cycles,
            rx_held_ns=raw.rx_held_cycles * 1e9 / clock_hz,
            tx_frames=raw.tx_frames,
            tx_bytes=raw.tx_bytes,
            tx_underruns=raw.tx_underruns,
            tx_errors=raw.tx_errors,
            tx_lost=raw.tx_lost,
            rx_missed=raw.rx_missed,
        )

    def irqs(self) -> list[Irq]:
        """Takes the interrupts that came since the last call."""
        found: list[Irq] = []
        array = self._ffi.new("hr_irq[256]")
        while count := self._lib.hr_take_irqs(self._open, array, len(array)):
            found += [Irq(array[n].time_ns, array[n].function, array[n].vector) for n in range(count)]
        return found

    # Settings

    def set_time(self, time_ns: int) -> None:
        """Sets the card's clock to ns since the epoch, as PTP does. Unset, it starts at 0 or at a capture's start."""
        self._option("HR_OPTION_TIME_NS", time_ns)

    def skip_idle(self, on: bool) -> None:
        """Whether idle time is skipped instead of simulated cycle by cycle. On at first; results are the same."""
        self._option("HR_OPTION_SKIP_IDLE", int(on))

    def hang_limit(self, seconds: float) -> None:
        """Card time without progress after which ``run(until="idle")`` gives up; 0: never. 5 ms at first."""
        self._option("HR_OPTION_HANG_LIMIT_US", round(seconds * 1e6))

    def take_irqs(self, on: bool) -> None:
        """Whether the host takes interrupts (irq_ready). On at first."""
        self._option("HR_OPTION_IRQ_READY", int(on))

    def _option(self, name: str, value: int) -> None:
        self._check(self._lib.hr_set_option(self._open, getattr(self._lib, name), value))

    # The C interface

    @property
    def _open(self) -> Any:
        if self._closed:
            raise CardError("the card is closed", 2)
        return self._handle

    def _address(self, address: int) -> int:
        if not 0 <= address < 1 << 16 or address % 4:
            raise BusError(f"register address {address:#x}: must be a multiple of 4 below 0x10000", 2)
        return address

    def _check(self, code: int) -> int:
        if code >= 0:
            return code
        message = self._error()
        lib = self._lib
        if code == lib.HR_ERROR_USAGE:
            raise CardError(message, 2)
        kinds: dict[int, type[CardError]] = {
            lib.HR_ERROR_CAPTURE: CaptureError,
            lib.HR_ERROR_HANG: HangError,
            lib.HR_ERROR_BUS: BusError,
            lib.HR_ERROR_PROTOCOL: ProtocolError,
            lib.HR_ERROR_MODEL: ModelError,
        }
        raise kinds.get(code, CardError)(message)

    def _error(self) -> str:
        return str(self._ffi.string(self._lib.hr_error(self._handle)).decode(errors="replace"))


def _received(stats: Stats) -> int:
    return sum(port.rx_frames for port in stats.ports)


def pick(name: str, chosen: str, **allowed: int) -> int:
    """The number that a word stands for. Raises CardError, with the nearest word, for others."""
    if chosen not in allowed:
        close = difflib.get_close_matches(chosen, allowed, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise CardError(f"{name} '{chosen}': must be one of {', '.join(allowed)}{hint}", 2)
    return allowed[chosen]
