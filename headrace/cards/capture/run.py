"""What the capture card does for a user: captures from a file, host memory or a live interface, as tcpdump does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.card import Card
from headrace.card.process import Drain, StopRequests, Tell, drop_rights
from headrace.card.records import RecordWriter
from headrace.cards.capture.driver import (
    ERROR,
    MAX_CAPTURED,
    RECORD_HEADER,
    RING_BYTES,
    CaptureCounters,
    CaptureDriver,
    CaptureSettings,
)
from headrace.cards.capture.feeds import Feed, MemoryFeed, WireFeed
from headrace.cards.capture.savefiles import Limits, SaveFiles
from headrace.engines.filter import FilterDriver, Slot, longest_run_s, not_inspected, stopped
from headrace.errors import HeadraceError
from headrace.net import bpf, devices
from headrace.net.bpf import Expression, Filter, LinkFormat, Program, filter_of, for_link
from headrace.net.source import Path, Source, listening

DEFAULT_CORES = 4
DEFAULT_RING = 1 << 22  # bytes
LINE_RATE = 100e9  # bit/s

_SLICE_S = 0.05  # of wall time: how long packets wait at most until the host looks into the ring by itself
_SHOW_S = 0.2


@dataclass(frozen=True)
class CaptureJob:
    """One capture.

    ``program``: captures what it accepts, an expression's text will do; None: everything. ``output``: a file (``-``:
    standard output) that ``limits`` may turn into several, or None: packets are only counted. ``way``: into the card,
    by wire or memory; None: as suits the source. ``snaplen``: bytes of a packet to keep (None: up to 65,600).
    ``ring_bytes`` is rounded up to a power of two. ``rate`` is how frames of a file or generator are offered on the
    wire: "lossless", "line", "recorded" or bits per second. ``timestamps``: "recorded", those of the source, or "card",
    those of the card's clock. ``packet_buffered``: packets are in the file as soon as they are captured.
    """

    source: Source
    program: Filter | None = None
    output: str | None = None
    limits: Limits = field(default_factory=Limits)
    way: Path | None = None
    snaplen: int | None = None
    format: str = "pcap"
    precision: str = "micro"
    timestamps: str = "recorded"
    ring_bytes: int = DEFAULT_RING
    rate: str | float = "lossless"
    packet_buffered: bool = False
    cores: int | None = None
    trace: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.program is not None:
            object.__setattr__(self, "program", filter_of(self.program, self.snaplen))


@dataclass(frozen=True)
class CaptureProgress:
    """Packets so far: written, come into the card, dropped by it."""

    captured: int
    received: int
    dropped: int


@dataclass(frozen=True)
class CaptureReport:
    """Figures of a capture, in packets unless named otherwise.

    ``captured`` are in ``files``; ``received`` came into the card, its filter ``rejected`` some; ``dropped`` says by
    cause what the card dropped, ``dropped_by_kernel`` and ``dropped_by_interface`` what a live source lost before it
    (None: no live source).
    ``unwritten``: captured, but after the last one that was wanted, or not in the file since it could not be written.
    ``missing``: what the counters and the files can't account for, 0 unless something is faulty. Cycles are those of
    the simulated card, ``wall_s`` is the simulator's time. ``fault`` says what ended the capture early, or why it is
    not complete.
    """

    captured: int
    received: int
    rejected: int
    dropped: dict[str, int]
    dropped_by_kernel: int | None
    unwritten: int
    missing: int
    captured_bytes: int
    wire_bytes: int
    files: list[str]
    cycles: int
    clock_hz: int
    wall_s: float
    cores: int
    warnings: list[str]
    fault: str | None = None
    dropped_by_interface: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def open_capture_card(
    cores: int = 0,
    parameters: Mapping[str, Any] | None = None,
    trace: str | None = None,
    progress: bool = True,
) -> Card:
    """A capture card, with so many filter cores, whose ports have 100 Gb/s."""
    card = Card.open("capture", {"CORES": cores, **(parameters or {})}, trace=trace, progress=progress)
    for port in range(card.ports):
        card.set_rate(port, LINE_RATE)
    if card.parameters["CORES"]:
        card.hang_limit(longest_run_s(card.clock_hz))
    return card


def driver_of(card: Card) -> CaptureDriver:
    """The driver of a capture card, which waits by letting the card run."""
    return CaptureDriver(
        card.regs.capture,
        card.memory,
        card.memory.allocate,
        lambda: [irq.vector for irq in card.irqs()],
        lambda: _pass_time(card),
        lambda: card.regs.filter.instructions.read() if card.parameters["CORES"] else None,
    )


def filter_driver_of(card: Card) -> FilterDriver:
    """The driver of a capture card's filters, if it has any."""
    return FilterDriver(card.regs.filter, lambda: _pass_time(card))


def _pass_time(card: Card) -> None:
    card.run(until=None, cycles=64)


def run_capture(
    job: CaptureJob, progress: Callable[[CaptureProgress], None] | None = None, tell: Tell | None = None
) -> CaptureReport:
    """Captures until the source ends, a limit is reached, or SIGINT or SIGTERM comes; writes all that is on its way,
    or what there is if they come again. ``tell`` gets lines for the user: that a live capture listens, the counts at
    SIGUSR1, what is still to go through.

    What goes wrong on the way (a broken capture, a full disk, an interface that vanishes, a memory error) ends the
    capture, everything before it is in the files, and the report names the ``fault``. Raises HeadraceError for what is
    wrong before the first packet.
    """
    cores = DEFAULT_CORES if job.cores is None and job.program is not None else job.cores or 0
    if not job.source.live:
        job.source.format()  # before a build: a missing file is told at once
    with open_capture_card(cores, job.parameters, job.trace, progress is not None) as card, StopRequests() as stop:
        return _Capture(job, card, stop, progress, tell).run()


def summary(report: CaptureReport) -> list[str]:
    """The counts as tcpdump says them at the end of a live capture, and what else became of packets."""
    dropped = sum(report.dropped.values())
    causes = ", ".join(f"{count} {cause.replace('_', ' ')}" for cause, count in report.dropped.items() if count)
    counts = [(report.captured, "captured"), (report.received, "received by filter")]
    if report.dropped_by_kernel is not None:
        counts.append((report.dropped_by_kernel, "dropped by kernel"))
    if report.dropped_by_interface:
        counts.append((report.dropped_by_interface, "dropped by interface"))
    lines = [f"{count} packet{'s' * (count != 1)} {what}" for count, what in counts]
    lines.append(f"{dropped} packet{'s' * (dropped != 1)} dropped by card{': ' * bool(causes)}{causes}")
    if report.unwritten:
        lines.append(f"{report.unwritten} packet{'s' * (report.unwritten != 1)} captured but not written")
    return lines


class _Capture:
    """A capture that is running."""

    def __init__(
        self,
        job: CaptureJob,
        card: Card,
        stop: StopRequests,
        progress: Callable[[CaptureProgress], None] | None,
        tell: Tell | None,
    ) -> None:
        self._job = job
        self._card = card
        self._stop = stop
        self._progress = progress
        self._tell = tell
        self._shown = 0.0
        self._interface_drops = devices.InterfaceDrops(job.source)
        self._way = job.way or job.source.usual_path
        self._driver = driver_of(card)
        self._filter = self._make_filter()
        self._driver.setup(_settings(job))
        self._feed = self._make_feed()
        bpf.load()
        drop_rights()
        if self._filter is not None:
            self._filter.load({0: Slot(self._program())})
        self._idle = True  # the card, when it was last run
        self._broken = False  # something went wrong: nothing more is wanted
        self._lost = 0  # packets lost before the records that come next
        self._dropped = 0  # packets dropped, when they were last counted
        begin = int(time.time()) if job.source.live else None
        longest = 0 if job.snaplen and job.snaplen <= MAX_CAPTURED else MAX_CAPTURED
        self._files = SaveFiles(job.output, job.limits, self._open_file, self._totals, begin, longest)

    def _make_filter(self) -> FilterDriver | None:
        if self._driver.cores == 0:
            if self._job.program is not None:
                raise HeadraceError("a card without filter cores has no filter: leave CORES=0 out", 2)
            return None
        driver = filter_driver_of(self._card)
        driver.set_flow_control(True)
        return driver

    def _program(self) -> Program:
        """The filter for the packets of the source, which is open."""
        link = LinkFormat(*self._card.capture_format(), live=self._job.source.live)
        everything = Expression("", self._job.snaplen)
        return for_link(self._job.program or everything, link, self._job.source.argument)

    def _make_feed(self) -> Feed:
        job = self._job
        if self._way == "wire":
            return WireFeed(self._card, job.source, job.rate)
        return MemoryFeed(self._card, self._driver, job.source, self._keeps_times)

    @property
    def _keeps_times(self) -> bool:
        return self._job.timestamps == "recorded" and self._job.source.has_times

    def _open_file(self, name: str | None) -> RecordWriter:
        job = self._job
        return RecordWriter(
            self._card,
            "null" if name is None else f"pcap:{name}",
            format=job.format,
            precision=job.precision,
            timestamps=job.timestamps if self._way == "wire" else "kept" if self._keeps_times else "card",
            snapshot=self._job.snaplen or 0,
            interface=job.source.name,
            filter=job.program.source if job.program is not None else None,
        )

    def _totals(self) -> tuple[int, int]:
        counters = self._driver.counters()
        return counters.received, sum(counters.dropped.values())

    def run(self) -> CaptureReport:
        steps = (self._run_until_stopped, self._finish, self._driver.stop, self._drain, self._files.close)
        faults = [self._attempt(step) for step in steps]
        return self._report(next((fault for fault in faults if fault is not None), None))

    def _attempt(self, action: Callable[[], None]) -> str | None:
        try:
            action()
        except HeadraceError as error:
            self._broken = True
            return str(error)
        return None

    def _run_until_stopped(self) -> None:
        """Captures until the source is through, the files are full, or somebody wants to stop."""
        self._drain()  # so that the header is there for who waits for it
        if self._tell is not None and self._job.source.live:
            linktype, snapshot, _ = self._card.capture_format()
            self._tell(listening(self._job.source, linktype, self._job.snaplen or snapshot))
        stop_s = self._job.limits.stop_seconds if self._job.source.live else None
        end = None if stop_s is None else time.monotonic() + stop_s
        while not (self._stop or self._files.done or (end and time.monotonic() >= end) or self._turn()):
            pass

    def _finish(self) -> None:
        """Gets what is on its way into the files, once nothing more is to come. Another request leaves the rest out."""
        abandon = self._files.done or self._broken
        self._feed.end(abandon)
        drain = Drain(self._tell)
        while not self._turn():
            if self._stop.at_once and not abandon:
                abandon = True
                self._feed.end(abandon)
            elif self._stop and not abandon:
                drain.show(self._feed.waiting)

    def _turn(self) -> bool:
        """Brings the card what there is, and lets it work; gives whether everything is through."""
        if self._stop.counts_wanted() and self._tell is not None:
            self._tell(", ".join(summary(self._report(None))))
        if self._feed.offer() or not self._idle:
            self._idle = self._step()
        elif not self._feed.at_end:
            self._feed.wait()
        return self._idle and self._feed.at_end

    def _step(self) -> bool:
        """Lets the card work until there is something to do; gives whether it has nothing left to do."""
        try:
            idle = self._card.run(until="interrupt", wall_s=_SLICE_S).idle
        finally:
            self._feed.retire()
            self._drain()
        if ERROR in self._driver.pending():
            errors = self._driver.errors()
            if errors:
                raise HeadraceError("; ".join(errors))
        self._driver.arm()
        self._show()
        return idle

    def _drain(self) -> None:
        start, end = self._driver.available()
        lost, self._lost = self._lost, 0
        if self._job.format == "pcapng":
            dropped = self._driver.dropped()
            self._lost, self._dropped = dropped - self._dropped, dropped
        if start == end:
            self._lost += lost
        flush = self._job.packet_buffered or self._job.output == "-"
        self._files.write(self._driver.ring, start, end, lost, flush)
        self._driver.release(end)

    def _show(self) -> None:
        now = time.monotonic()
        if self._progress is not None and now - self._shown >= _SHOW_S:
            self._shown = now
            counters = self._driver.counters()
            self._progress(
                CaptureProgress(self._files.totals.packets, counters.received, sum(counters.dropped.values()))
            )

    def _report(self, fault: str | None) -> CaptureReport:
        counters = self._driver.counters()
        stats, files = self._card.stats(), self._files.totals
        rejected, uninspected = self._filtered(counters)
        unwritten = counters.records - files.packets
        missing = counters.missing(rejected + uninspected)
        if fault is None and not self._files.done:
            missing, unwritten = missing + unwritten, 0
        gaps = self._gaps(counters, uninspected)
        if missing and fault is None:
            fault = f"the card's counters don't add up: {missing:+,} packets"
        whole = self._job.rate == "lossless" and not self._job.source.live
        if whole and fault is None:
            fault = "; ".join(gaps) or None
        of_interface = self._interface_drops.count
        return CaptureReport(
            captured=files.packets,
            received=counters.received,
            rejected=rejected,
            dropped={**counters.dropped, "not_inspected": uninspected},
            dropped_by_kernel=max(0, self._feed.missed - of_interface) if self._job.source.live else None,
            dropped_by_interface=of_interface if self._job.source.live else None,
            unwritten=unwritten,
            missing=missing,
            captured_bytes=files.captured_bytes,
            wire_bytes=files.wire_bytes,
            files=self._files.paths,
            cycles=stats.cycles,
            clock_hz=stats.clock_hz,
            wall_s=stats.wall_s,
            cores=self._driver.cores,
            warnings=[] if whole else gaps,
            fault=fault,
        )

    def _filtered(self, engine: CaptureCounters) -> tuple[int, int]:
        """Packets that the filter rejected, and those that are too long for it."""
        if self._filter is None:
            return 0, 0
        counters = self._filter.counters()
        bad = sum(port.bad for port in counters.ingress)  # with those that could not be read
        return counters.inspected - counters.accepted - bad, bad - engine.read_errors

    def _gaps(self, counters: CaptureCounters, uninspected: int) -> list[str]:
        """Why the capture is not complete."""
        gaps = []
        if uninspected:
            gaps.append(not_inspected(uninspected, self._card.parameters["MAX_FRAME"]))
        if oversize := sum(port.oversize for port in counters.ports):
            gaps.append(f"{oversize:,} packets are longer than {MAX_CAPTURED:,} bytes and were not captured")
        # A record of the longest kind may be of a packet that the source had cut.
        if cut := min(self._feed.too_long, self._files.cut):
            gaps.append(f"{cut:,} packets are longer than {MAX_CAPTURED:,} bytes, of which no more were captured")
        if counters.too_long:
            size = self._driver.ring.size
            gaps.append(f"{counters.too_long:,} packets are longer than the ring of {size:,} bytes: use a larger -B")
        if counters.read_errors:
            gaps.append(f"{counters.read_errors:,} packets could not be read from host memory")
        if self._filter is not None and (errors := self._filter.counters().programs[0].errors):
            gaps.append(f"the filter: {stopped(errors)}")
        return gaps


def _settings(job: CaptureJob) -> CaptureSettings:
    ring = max(RING_BYTES[0], 1 << (job.ring_bytes - 1).bit_length())
    snaplen = min(job.snaplen or MAX_CAPTURED, MAX_CAPTURED)
    lossless = job.rate == "lossless" or job.source.live
    # The host is called while the longest packet still fits: none waits for room that nobody makes.
    watermark = max(1, min(ring // 2, ring - snaplen - RECORD_HEADER))
    return CaptureSettings(
        ring_bytes=ring,
        snaplen=snaplen,
        watermark=watermark,
        wait_for_room=lossless,
        flow_control=lossless,
    )
