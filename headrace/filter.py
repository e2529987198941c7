"""What the filter card does for a user: filters a capture as tcpdump does, and measures one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headrace.bpf import Program
from headrace.capture_source import parse_source
from headrace.card import Card, Stats
from headrace.errors import HeadraceError
from headrace.filter_driver import LONGEST_FRAME, FilterCounters, FilterDriver, Slot, not_inspected
from headrace.stop_requests import StopRequests

WEST, EAST, MONITOR = 0, 1, 2  # ports of the card
_RET_A = 0x16
LINE_RATE = 100e9  # bit/s, of all ports

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class FilterOutput:
    """A filter, the file for what it accepts (None: only counted), and the bytes to keep of a packet (None: all)."""

    program: Program
    path: str | None = None
    snaplen: int | None = None


@dataclass(frozen=True)
class FilterJob:
    """One run of the filter card over a source.

    ``source`` is a capture's path, ``-``, or a link such as ``gen:size=64,count=1000`` or ``iface:eth0``. ``rate`` is
    "lossless", "line", "recorded" or bits per second; ``cores`` None means the card's default. ``count`` ends the run
    with so many matches of the only filter.
    """

    outputs: list[FilterOutput]
    source: str
    rate: str | float = "lossless"
    cores: int | None = None
    timestamps: str = "recorded"
    trace: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    count: int | None = None


@dataclass(frozen=True)
class ProgramReport:
    """What one filter did: packets matched, their bytes on the wire, runs stopped by an error."""

    expression: str
    path: str | None
    matched: int
    bytes: int
    errors: int


@dataclass(frozen=True)
class FilterReport:
    """Figures of a run. Cycles are those of the simulated card; wall-clock figures are the simulator's.

    ``packets`` and ``bytes`` came in; ``matched`` were accepted by a filter at least; ``uninspected`` passed without a
    verdict; ``lost`` were dropped by a MAC or at the monitor port, ``missed`` by a live link before the card;
    ``held_ns`` is how long flow control held the link off; ``latency_cycles`` are the shortest and longest way from
    port to port. ``fault`` says what ended the run early, or why its answer is not complete.
    """

    packets: int
    bytes: int
    matched: int
    uninspected: int
    lost: int
    held_ns: float
    cycles: int
    clock_hz: int
    core_cpi: float | None
    cycles_per_packet: float | None
    latency_cycles: tuple[int, int] | None
    wall_s: float
    packets_per_wall_s: float
    cores: int
    programs: list[ProgramReport]
    warnings: list[str]
    fault: str | None = None
    missed: int = 0

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def open_filter_card(
    cores: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    trace: str | None = None,
    progress: bool = True,
) -> Card:
    """A filter card with every port at 100 Gb/s. ``cores`` goes before ``parameters["CORES"]``."""
    settings = dict(parameters or {})
    if cores is not None:
        settings["CORES"] = cores
    card = Card.open("filter", settings, trace=Path(trace) if trace else None, progress=progress)
    for port in (WEST, EAST, MONITOR):
        card.set_rate(port, LINE_RATE)
    return card


def driver_of(card: Card) -> FilterDriver:
    """The driver of a filter card, which waits by letting the card run."""
    return FilterDriver(card.regs, lambda: _pass_time(card))


def _pass_time(card: Card) -> None:
    card.run(until=None, cycles=64)


def run_filter(job: FilterJob, progress: Progress | None = None) -> FilterReport:
    """Offers ``job.source`` to port 0 of a filter card and writes what comes out of its monitor port.

    A broken capture, or a file that can't be written on, ends the run: everything up to there is written, and the
    report names the ``fault``. A live source is meant to be ended by SIGINT or SIGTERM; elsewhere, KeyboardInterrupt is
    raised after an interrupt, with whole files. Raises HeadraceError for what is wrong before the first packet.
    """
    _check_snaplens(job.outputs)
    if job.count is not None and len(job.outputs) > 1:
        raise HeadraceError("a number of matches to stop at is one filter's: run it without other filters", exit_code=2)
    with open_filter_card(job.cores, job.parameters, job.trace, progress is not None) as card:
        driver = driver_of(card)
        driver.load({number: Slot(output.program) for number, output in enumerate(job.outputs)})
        _attach_source(card, driver, job.source, job.rate)
        card.expect_passthrough(WEST, EAST)
        for number, output in enumerate(job.outputs):
            if output.path is not None or job.count is not None:
                card.sink(
                    MONITOR,
                    "null" if output.path is None else f"pcap:{output.path}",
                    program=number,
                    snaplen=_snaplen(output, alone=len(job.outputs) == 1),
                    timestamps=job.timestamps,
                    packets=job.count,
                )
        fault = None
        try:
            with _stopping(job.source) as stop:
                card.run(progress=_watch(card, stop, progress))
            card.close_files()
        except HeadraceError as error:
            fault = str(error)
        return _report(job, card, driver, fault or _gap(job, card, driver))


def run_measure(
    program: Program,
    source: str,
    rate: str | float = "lossless",
    cores: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    interval_s: float = 0.5,
    count: int | None = None,
) -> Iterator[dict[int, tuple[int, int]]]:
    """Runs a measurement over a source; gives what its counters hold every ``interval_s`` of wall time and at the end.

    Each snapshot maps a counter to (packets, bytes on the wire). The end comes after ``count`` packets, with the
    source's own, or for a live source by SIGINT or SIGTERM. Raises HeadraceError after the last snapshot if the capture
    is broken.
    """
    with open_filter_card(cores, parameters, progress=progress is not None) as card, _stopping(source) as stop:
        driver = driver_of(card)
        driver.load({0: Slot(program, measurement=True)})
        _attach_source(card, driver, source, rate, count)
        fault: HeadraceError | None = None
        done = False
        while not done:
            try:
                done = card.run(wall_s=interval_s, progress=_watch(card, stop, progress)).idle
            except HeadraceError as error:
                fault = error
                card.run(cycles=10_000, until=None)
                done = True
            yield driver.measurement()
        if fault is not None:
            raise fault


def _attach_source(
    card: Card, driver: FilterDriver, source: str, rate: str | float, packets: int | None = None
) -> None:
    lossless = rate == "lossless"
    driver.set_flow_control(lossless)
    card.flow_control(WEST, lossless)
    card.source(WEST, parse_source(source).link, timing="line" if lossless else rate, packets=packets)
    card.sink(EAST, "null")


def _snaplen(output: FilterOutput, alone: bool) -> int | None:
    """Where to cut a filter's file; None where the card has done it, as it does for a filter that runs alone."""
    return output.snaplen if alone else min(max(output.program.return_constants), output.snaplen or LONGEST_FRAME)


def _check_snaplens(outputs: list[FilterOutput]) -> None:
    """A packet leaves the card once, as long as any of its filters asked for; each file is then cut to its filter's."""
    if len(outputs) > 1:
        for output in outputs:
            if len(output.program.return_constants - {0}) > 1 or any(i.code == _RET_A for i in output.program):
                name = output.program.source or "a program"
                raise HeadraceError(f"{name}: returns several lengths: run it without other filters", exit_code=2)


def _gap(job: FilterJob, card: Card, driver: FilterDriver) -> str | None:
    """Why the answer of a run that promised to lose nothing is not complete; None where it is."""
    if job.rate != "lossless" or parse_source(job.source).live:
        return None
    return _too_long(card, driver.counters())


def _too_long(card: Card, counters: FilterCounters) -> str | None:
    too_long = sum(port.bad for port in counters.ingress)
    if not too_long:
        return None
    return not_inspected(too_long, card.parameters["MAX_FRAME"])


def _stopping(source: str) -> AbstractContextManager[StopRequests]:
    """What a signal to stop makes true, where the source is live; elsewhere signals do what they always do."""
    stop = StopRequests()
    return stop if parse_source(source).live else nullcontext(stop)


def _watch(card: Card, stop: StopRequests, progress: Progress | None) -> Callable[[Stats], None]:
    """What is done about 20 times a second of a run: shows how far it is, and ends live sources once asked to."""

    def watch(stats: Stats) -> None:
        if stop:
            card.stop_sources()
        if progress is not None:
            west = stats.ports[WEST]
            parts = [f"{west.rx_frames:,} packets", f"{stats.ports[MONITOR].tx_frames:,} matched"]
            progress(", ".join([*parts, f"{west.rx_missed:,} missed"] if west.rx_missed else parts), None)

    return watch


def _report(job: FilterJob, card: Card, driver: FilterDriver, fault: str | None) -> FilterReport:
    stats = card.stats()
    counters = driver.counters()
    west, monitor = stats.ports[WEST], stats.ports[MONITOR]
    offered = west.rx_frames + west.rx_overruns
    return FilterReport(
        packets=offered,
        bytes=west.rx_bytes,
        matched=counters.accepted,
        uninspected=counters.uninspected,
        lost=west.rx_overruns + counters.monitor_dropped,
        held_ns=west.rx_held_cycles * 1e9 / card.clock_hz,
        cycles=stats.cycles,
        clock_hz=card.clock_hz,
        core_cpi=counters.core_cpi,
        cycles_per_packet=stats.cycles / offered if offered else None,
        latency_cycles=stats.latency_cycles,
        wall_s=stats.wall_s,
        packets_per_wall_s=offered / stats.wall_s if stats.wall_s else 0.0,
        cores=card.parameters["CORES"],
        programs=[
            ProgramReport(output.program.source, output.path, count.matched, count.bytes, count.errors)
            for output, count in zip(job.outputs, counters.programs, strict=False)
        ],
        warnings=_warnings(job, card, counters, monitor.tx_frames),
        fault=fault,
        missed=west.rx_missed,
    )


def _warnings(job: FilterJob, card: Card, counters: FilterCounters, sent: int) -> list[str]:
    warnings = []
    if parse_source(job.source).live and (too_long := _too_long(card, counters)):
        warnings.append(too_long)
    for output, count in zip(job.outputs, counters.programs, strict=False):
        if count.errors:
            name = output.program.source or "the filter"
            reason = "the instruction budget or a jump out of the program"
            warnings.append(f"{name}: {count.errors:,} runs were stopped by {reason}, and count as not matched")
    if sent != counters.forwarded and job.count is None:
        warnings.append(f"{counters.forwarded - sent:,} packets were still at the monitor port at the end")
    return warnings
