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
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from headrace import cache as cachedir
from headrace.build.description import CardDescription, Value, load_card
from headrace.build.later import Later
from headrace.build.libraries import harness_library
from headrace.build.models import build_card
from headrace.card import interface as harness
from headrace.card.host_memory import HostMemory
from headrace.card.stats import FileTotals, Frame, Irq, PassthroughStats, PortStats, RunResult, Stats
from headrace.errors import (
    BusError,
    CaptureError,
    CardError,
    HangError,
    HeadraceError,
    ModelError,
    ProtocolError,
)
from headrace.registers import compile as registers
from headrace.registers.views import GroupView

_SLICE_MS = 50  # of wall time between looks at Ctrl-C and progress


@harness.in_range
class Card:
    """A card that is built and runs. ``Card.open`` makes it; a ``with`` statement finishes its files at the end."""

    def __init__(
        self,
        library: Path,
        description: CardDescription,
        parameters: dict[str, Value],
        clock_hz: int,
        trace: Path | None,
        progress: bool = True,
    ) -> None:
        self.description = description
        self.parameters: dict[str, Any] = dict(parameters)
        self.clock_hz = clock_hz
        self._ffi = harness.interface()
        shared = harness_library(progress)
        self._lib: Any = harness.load(shared)
        trace_name = self._ffi.NULL if trace is None else harness.text(trace)
        handle = self._lib.hr_create(harness.text(cachedir.trusted(library)), clock_hz, trace_name)
        if handle == self._ffi.NULL:
            raise CardError(self._error(), 2)
        self._handle = self._ffi.gc(handle, self._lib.hr_destroy)
        info = self._lib.hr_get_info(handle)
        self.ports: int = info.ports
        self._user_bits: int = info.user_bits
        self._address_bits: int = info.address_bits
        self.memory = HostMemory(self)
        self._closed = False
        self._later = Later.of((library, shared), description, parameters, trace is not None)
        self._checks = 0  # that expect_passthrough() has made
        # Made once, so that a short run and a look at the time cost little.
        self._limits = self._ffi.new("hr_run_limits *")
        own, each = self._ffi.sizeof("hr_stats"), self._ffi.sizeof("hr_port_stats")
        numbers = self._ffi.new("uint64_t[]", (own + each * self.ports) // 8)
        raw, ports = self._ffi.cast("hr_stats *", numbers), self._ffi.cast("hr_port_stats *", numbers + own // 8)
        self._numbers = raw, ports, self._ffi.buffer(numbers)
        lib = self._lib
        self._reasons: dict[int, Literal["idle", "cycles", "packets", "interrupt", "asked"]] = {
            lib.HR_STOP_IDLE: "idle",
            lib.HR_STOP_CYCLES: "cycles",
            lib.HR_STOP_PACKETS: "packets",
            lib.HR_STOP_INTERRUPT: "interrupt",
            lib.HR_STOP_ASKED: "asked",
        }

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
        trace_path = None if trace is None else Path(trace)
        return cls(library, description, description.resolve(parameters), clock, trace_path, progress)

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
        if self._later is not None:
            self._later.ran(self.stats().wall_s)
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
        items = [(self._address(address), _register(value)) for address, value in writes]
        array = self._ffi.new("hr_register_write[]", items)
        self._check(self._lib.hr_write_registers(self._open, array, len(items)))

    @functools.cached_property
    def regs(self) -> GroupView:
        """The registers by name, as in the card's SystemRDL file. Raises CardError when the card has none."""
        if self.description.registers is None:
            raise CardError(f"card {self.description.name} has no register description", 2)
        return registers.load_map(self.description.registers).bind(self.read, self.write, self.write_many)

    # Accelerator slots

    def load_slot(self, number: int, library: Path) -> None:
        """Fills an accelerator slot with what ``headrace.build.slots`` has built, in place of what is there. The card's
        registers cut the slot off meanwhile. Raises CardError when there is no such slot, or it is none for it."""
        self._check(self._lib.hr_load_slot(self._open, number, harness.text(cachedir.trusted(library))))

    def unload_slot(self, number: int) -> None:
        """Empties an accelerator slot. Raises CardError when there is no such slot."""
        self._check(self._lib.hr_unload_slot(self._open, number))

    # Links

    def set_rate(self, port: int, bits_per_s: float) -> None:
        """Rate of a port's MAC, both ways, in bits per second. 100 Gb/s at first."""
        self._check(self._lib.hr_set_rate(self._open, port, harness.whole(bits_per_s)))

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

    def capture_format(self) -> tuple[int, int, bool]:
        """Link type (libpcap's number), snapshot length in bytes, and whether the byte order is another machine's, of
        what packets come from: the first capture or interface that is a source. Ethernet and 262,144 from elsewhere."""
        found = self._lib.hr_get_capture_format(self._open)
        return int(found.link_type), int(found.snapshot), bool(found.swapped)

    def stop_sources(self) -> None:
        """Lets all live sources and the console's input end: they take nothing new, but what they have taken still goes
        through."""
        self._check(self._lib.hr_stop_sources(self._open))

    def end_source(self, port: int) -> None:
        """Lets a port receive nothing more; a frame that is on its way still comes."""
        self._check(self._lib.hr_end_source(self._open, port))

    def link_up(self, port: int) -> bool:
        """Whether the link that a port receives by is up: a TAP device is while the host has its end up. False also
        where the source has broken off, or there is none."""
        return bool(self._check(self._lib.hr_link_up(self._open, port)))

    def link_name(self, port: int) -> str:
        """What the host calls the TAP device now that a port receives from: it may have been renamed. Empty for other
        links, and for a device that has gone."""
        name = self._ffi.new("char[16]")
        self._check(self._lib.hr_get_link_name(self._open, port, name))
        return str(self._ffi.string(name), errors="replace")

    def _attach_source(self, port: int, link: str, timing: str | float, packets: int | None) -> None:
        name = self._ffi.new("char[]", harness.text(link))
        rate = 0
        if timing == "line":
            kind = self._lib.HR_TIMING_LINE
        elif timing == "recorded":
            kind = self._lib.HR_TIMING_RECORDED
        elif isinstance(timing, str):
            raise CardError(f"timing '{timing}': must be line, recorded or bits per second", 2)
        else:
            kind, rate = self._lib.HR_TIMING_RATE, harness.whole(timing)
        request = self._ffi.new(
            "hr_source *",
            {"port": port, "link": name, "timing": kind, "bits_per_s": rate, "packets": packets or 0},
        )
        self._check(self._lib.hr_attach_source(self._open, request))

    def send(self, port: int, frames: Iterable[bytes | Frame], wire_lens: Iterable[int | None] | None = None) -> None:
        """Queues frames at a port that has no other source. They go out in the next ``run``.

        ``wire_lens``: bytes that each frame had on the wire before a capture cut it; None: as many as it has.
        """
        lengths = iter(wire_lens) if wire_lens is not None else None
        lib = self._lib
        for item in frames:
            frame = item if isinstance(item, Frame) else Frame(bytes(item))
            wire_len = frame.wire_len if lengths is None else next(lengths)
            flags = lib.HR_FRAME_BAD_FCS if frame.error else 0
            if wire_len is not None and wire_len != len(frame.data):
                flags |= lib.HR_FRAME_CUT
            self._check(lib.hr_send(self._open, port, frame.data, len(frame.data), wire_len or 0, flags))

    def sink(
        self,
        port: int,
        link: str,
        select: int | None = None,
        length_at: int | None = None,
        snaplen: int | None = None,
        timestamps: str = "recorded",
        format: str | None = None,
        precision: str = "micro",
        snapshot: int = 0,
        packets: int | None = None,
    ) -> None:
        """Adds a place where the frames that a port sends go; a port can have several.

        ``link`` is ``pcap:FILE`` (``-`` is standard output), ``tap:NAME`` (the host receives them), ``iface:NAME`` or
        ``xdp:NAME`` (the interface sends them), ``memory`` (see ``received``) or ``null``. ``select``: only frames that
        have this one of the card's own bits beside them;
        ``length_at``: cut to the length that 32 bits from this one on say. ``snaplen``: bytes of a frame
        kept at most. ``timestamps``: ``"recorded"``, those of the capture records that the packets came from, or
        ``"card"``, the card's. ``format``: ``"pcap"`` or ``"pcapng"``; from the file's suffix unless given.
        ``precision``: of pcap, ``"micro"`` or ``"nano"``; pcapng has nanoseconds. ``snapshot``: snapshot length in the
        file's header; 0: as in the capture read. ``packets``: takes so many, and then ends the run. Raises CardError
        when the file can't be opened.
        """
        lib = self._lib
        if format is None:
            format = "pcapng" if link.endswith(".pcapng") else "pcap"
        name = self._ffi.new("char[]", harness.text(link))
        request = self._ffi.new(
            "hr_sink *",
            {
                "port": port,
                "link": name,
                "select": -1 if select is None else select,
                "length_at": -1 if length_at is None else length_at,
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

    def received(self, port: int, select: int | None = None) -> list[Frame]:
        """Takes the frames out of a port's memory sink, that of all frames or the one that selects some."""
        info = self._ffi.new("hr_frame *")
        words = -(-self._user_bits // 64) * 8
        frames = []
        while self._check(self._lib.hr_receive(self._open, port, -1 if select is None else select, info)):
            frames.append(
                Frame(
                    data=bytes(self._ffi.buffer(info.data, info.length)),
                    timestamp_ns=info.timestamp_ns,
                    wire_len=info.wire_length,
                    port=info.port,
                    user=int.from_bytes(self._ffi.buffer(info.user, words), "little") if words else 0,
                    lost=info.lost,
                    error=bool(info.error),
                )
            )
        return frames

    def written(self, port: int, select: int | None = None) -> FileTotals:
        """What a port's sinks with this ``select`` have taken so far and could write.

        Files that have been finished count too.
        """
        return FileTotals.of(self._lib.hr_get_sink_totals(self._open, port, -1 if select is None else select))

    def expect_passthrough(self, source: int, destination: int) -> None:
        """Checks that each frame into ``source`` comes out of ``destination`` untouched and in order; see ``stats``."""
        self._check(self._lib.hr_expect_passthrough(self._open, source, destination))
        self._checks += 1

    # Running

    def run(
        self,
        until: str | None = "idle",
        cycles: int | None = None,
        seconds: float | None = None,
        packets: int | None = None,
        wall_s: float | None = None,
        progress: Callable[[Stats], None] | None = None,
        until_ns: int | None = None,
        asking: Sequence[int] = (),
    ) -> RunResult:
        """Runs the card until all is done, or until a limit: cycles, seconds of card time, packets received, wall time,
        or (``until_ns``) a time of the card's clock.

        With ``until="interrupt"`` it also stops where ``irqs`` has something to give, with ``until=None`` an idle card
        waits for the limit. With live sources or doorbells an idle card sleeps until they have something. It stops
        soon after one of the file descriptors ``asking`` can be read. ``progress`` is called about 20 times a wall
        second.
        Ctrl-C ends the run at once; all files are then whole, and the card can go on. Raises CardError and its kin; a
        broken capture (CaptureError) only once everything before the fault is through.
        """
        if until not in ("idle", "interrupt", None):
            raise CardError(f"until '{until}': must be idle, interrupt or None", 2)
        if seconds is not None:
            limit = max(1, harness.whole(seconds * self.clock_hz))
            cycles = limit if cycles is None else min(cycles, limit)
        if until is None and cycles is None and packets is None and wall_s is None and until_ns is None:
            raise CardError("run() needs a limit when it isn't to stop at idle", 2)
        if cycles == 0 or packets == 0 or until_ns == 0:
            return RunResult("packets" if packets == 0 else "cycles", self.stats())
        limits = self._limits
        limits.until_idle = until is not None
        limits.until_interrupt = until == "interrupt"
        limits.slice_ms = _SLICE_MS
        limits.asking_count = len(asking)
        if asking:
            limits.asking = asked_at = self._ffi.new("int32_t[]", list(asking))  # noqa: F841  kept until the run is over
        limits.cycles, limits.packets, limits.until_ns = cycles or 0, packets or 0, until_ns or 0
        start = None if cycles is None and packets is None else self.stats()
        deadline = None if wall_s is None else time.monotonic() + harness.whole(1e9 * wall_s) / 1e9
        while True:
            if deadline is not None:
                limits.slice_ms = min(_SLICE_MS, max(1, round(1000 * (deadline - time.monotonic()))))
            stop = self._check(self._lib.hr_run(self._open, limits))
            now = self.stats()
            if self._later is not None:
                self._later.ran(now.wall_s)
            if progress is not None:
                progress(now)
            if (reason := self._reasons.get(stop)) is not None:
                return RunResult(reason, now)
            if deadline is not None and time.monotonic() >= deadline:
                return RunResult("wall", now)
            if start is not None:
                limits.cycles = 0 if cycles is None else cycles - (now.cycles - start.cycles)
                limits.packets = 0 if packets is None else packets - (now.rx_frames - start.rx_frames)

    def stats(self) -> Stats:
        """The counters since the card was opened."""
        raw, ports, numbers = self._numbers
        self._check(self._lib.hr_get_stats(self._open, raw, ports))
        return Stats(numbers[:], self._passthrough() if self._checks else ())

    def _passthrough(self) -> tuple[PassthroughStats, ...]:
        check = self._ffi.new("hr_passthrough_stats *")
        found = []
        for number in range(self._checks):
            self._check(self._lib.hr_get_passthrough_stats(self._open, number, check))
            latency = (check.latency_min, check.latency_max) if check.frames else None
            counts = (check.source, check.destination, check.frames, check.mismatches, check.waiting)
            found.append(PassthroughStats(*counts, latency))
        return tuple(found)

    @property
    def next_event_ns(self) -> int | None:
        """When something happens next in the card that nobody else causes: a frame that arrives, a timer, or now while
        it is at work. None: never."""
        time_ns = self._ffi.new("uint64_t *")
        self._check(self._lib.hr_get_next_event(self._open, time_ns))
        return None if time_ns[0] == (1 << 64) - 1 else int(time_ns[0])

    def irqs(self) -> list[Irq]:
        """Takes the interrupts that came since the last call."""
        found: list[Irq] = []
        array = self._ffi.new("hr_irq[256]")
        while count := self._lib.hr_take_irqs(self._open, array, len(array)):
            found += [Irq(array[n].time_ns, array[n].function, array[n].vector) for n in range(count)]
        return found

    def console(self, link: str, *, input: str | None = None, core: int = 0, prefix: bool = False) -> str | None:
        """Connects the card's console, of all its cores (0 to 255); output before that is forgotten.

        ``link`` is ``file:NAME``, ``-`` (standard output), ``pty:`` (a pseudo-terminal, whose path is given back) or
        ``memory`` (see ``console_read``). ``input``: ``file:NAME`` or ``-`` (standard input); none unless given, but a
        pseudo-terminal's own. ``core`` gets it. ``prefix``: lines go out whole, each after ``core N: ``; ``memory``
        keeps the cores' bytes apart anyway.

        A run with a pseudo-terminal or standard input waits for it as for a live link. Raises CardError when the card
        has no console, or the link is wrong or can't be opened.
        """
        names = [self._ffi.new("char[]", harness.text(name)) for name in (link, input or "")]
        request = self._ffi.new("hr_console *", {"link": names[0], "input": names[1], "core": core, "prefix": prefix})
        self._check(self._lib.hr_attach_console(self._open, request))
        terminal = self._ffi.string(self._lib.hr_get_console_terminal(self._open))
        return os.fsdecode(terminal) or None

    def console_write(self, data: bytes, core: int = 0) -> None:
        """Input for a core's console, which is offered from the next ``run`` on. Raises CardError."""
        self._check(self._lib.hr_write_console(self._open, core, data, len(data)))

    def console_read(self, core: int = 0) -> bytes:
        """Takes what a core has written to the console ``memory``. Raises CardError when the console is another."""
        found, buffer = b"", self._ffi.new("uint8_t[4096]")
        while count := self._check(self._lib.hr_read_console(self._open, core, buffer, len(buffer))):
            found += bytes(self._ffi.buffer(buffer, count))
        return found

    @property
    def console_lost(self) -> int:
        """Bytes of output that a pseudo-terminal had no room for, because nobody read it."""
        return int(self._lib.hr_get_console_lost(self._open))

    def bind_interrupt(self, function: int, vector: int, fd: int) -> None:
        """Lets interrupts of a function and vector add 1 to an eventfd, as VFIO and vhost do, and not wait in ``irqs``.

        What the card wrote to host memory before is seen by who is woken. ``fd`` may be closed afterwards. Raises
        CardError when it is no eventfd, or the interrupt is bound already.
        """
        self._check(self._lib.hr_bind_interrupt(self._open, function, vector, fd))

    def unbind_interrupt(self, function: int, vector: int) -> None:
        """Lets these interrupts wait in ``irqs`` again. Raises CardError when they are not bound."""
        self._check(self._lib.hr_unbind_interrupt(self._open, function, vector))

    def bind_doorbell(self, fd: int, address: int, value: int) -> None:
        """Has 32 bits written to the register at a byte address when an eventfd is signalled, as KVM's ioeventfd does
        the other way round. Several signals that are seen together are one write.

        Signals are seen in runs: at once by a card that is idle, otherwise within 1,024 cycles. ``run`` waits for them
        as for live links, and raises BusError when the card refuses the write. ``fd`` may be closed afterwards; its
        number stands for the doorbell. Raises CardError when it is no eventfd, or is bound already.
        """
        write = {"address": self._address(address), "value": _register(value)}
        self._check(self._lib.hr_bind_doorbell(self._open, fd, write))

    def unbind_doorbell(self, fd: int) -> None:
        """Lets the card know nothing of the eventfd that was bound by this number. Raises CardError when none was."""
        self._check(self._lib.hr_unbind_doorbell(self._open, fd))

    # Virtual functions

    def attach_function(
        self,
        function: int,
        address: int,
        entries: int,
        buffer_bytes: int,
        bells: Sequence[tuple[int, int]] | Mapping[Any, tuple[int, int]],
        vectors: Sequence[int] | Mapping[Any, int],
        offload: bool = False,
    ) -> tuple[int, list[tuple[int, int, int]]]:
        """Lets the harness play the network driver of a function, over a transmit and a receive queue (0 and 1 of all
        that is given for each).

        Queues of ``entries`` descriptors and buffers of ``buffer_bytes`` are mapped at ``address`` of the function's
        space; ``bells`` are the registers and values that tell the card of descriptors. With ``offload`` a TAP device
        leaves checksums and TCP segmentation to the card. Gives the number of a port for ``source``, ``sink`` and
        ``port_stats``, and each queue's addresses: descriptors, the driver's event suppression structure, the
        device's. Raises CardError.
        """
        request = self._ffi.new(
            "hr_function *",
            {
                "address": address,
                "function": function,
                "entries": entries,
                "buffer_bytes": buffer_bytes,
                "transmit_vector": vectors[0],
                "receive_vector": vectors[1],
                "transmit_bell": dict(zip(("address", "value"), bells[0], strict=True)),
                "receive_bell": dict(zip(("address", "value"), bells[1], strict=True)),
                "offload": offload,
            },
        )
        queues = self._ffi.new("hr_virtqueue[2]")
        port = self._check(self._lib.hr_attach_function(self._open, request, queues))
        return port, [(queue.ring, queue.driver, queue.device) for queue in queues]

    def detach_function(self, port: int) -> None:
        """Finishes a function's links and takes its queues' memory away, which the card uses no more. Raises
        CardError."""
        self._check(self._lib.hr_detach_function(self._open, port))

    def port_stats(self, port: int) -> PortStats:
        """Counters of an Ethernet port or of a function's: what it gave to the card is received there. Raises
        CardError when there is no such port."""
        stats = self._ffi.new("hr_port_stats *")
        self._check(self._lib.hr_get_port_stats(self._open, port, stats))
        return PortStats.of(memoryview(self._ffi.buffer(stats)).cast("Q"), self.clock_hz)

    # Settings

    def set_time(self, time_ns: int) -> None:
        """Sets the card's clock to ns since the epoch, as PTP does. Unset, it starts at 0 or at a capture's start."""
        self._option("HR_OPTION_TIME_NS", time_ns)

    def skip_idle(self, on: bool) -> None:
        """Whether idle time is skipped instead of simulated cycle by cycle. On at first; results are the same."""
        self._option("HR_OPTION_SKIP_IDLE", int(on))

    def hang_limit(self, seconds: float) -> None:
        """Card time without progress after which ``run(until="idle")`` gives up; 0: never. 5 ms at first."""
        self._option("HR_OPTION_HANG_LIMIT_US", harness.whole(seconds * 1e6))

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
        if not 0 <= address < 1 << self._address_bits or address % 4:
            raise BusError(
                f"register address {address:#x}: must be a multiple of 4 below {1 << self._address_bits:#x}", 2
            )
        return address

    def _check(self, code: int) -> int:
        if code >= 0:
            return code
        message = self._error()
        lib = self._lib
        if code in (lib.HR_ERROR_USAGE, lib.HR_ERROR_THREAD):
            raise CardError(message, 2)
        kinds: dict[int, type[CardError]] = {
            lib.HR_ERROR_CAPTURE: CaptureError,
            lib.HR_ERROR_HANG: HangError,
            lib.HR_ERROR_BUS: BusError,
            lib.HR_ERROR_PROTOCOL: ProtocolError,
            lib.HR_ERROR_MODEL: ModelError,
            lib.HR_ERROR_INTERNAL: ModelError,
        }
        raise kinds.get(code, CardError)(message)

    def _error(self) -> str:
        return str(self._ffi.string(self._lib.hr_error()).decode(errors="replace"))


def _register(value: int) -> int:
    """32 bits; negative numbers as two's complement."""
    if not -(1 << 31) <= value < 1 << 32:
        raise OverflowError(f"{value:#x} has more than 32 bits")
    return value & 0xFFFFFFFF


def pick(name: str, chosen: str, **allowed: int) -> int:
    """The number that a word stands for. Raises CardError, with the nearest word, for others."""
    if chosen not in allowed:
        close = difflib.get_close_matches(chosen, allowed, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise CardError(f"{name} '{chosen}': must be one of {', '.join(allowed)}{hint}", 2)
    return allowed[chosen]
