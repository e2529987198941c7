"""What the filter card does for a user: filters a capture as tcpdump does, and measures one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headrace.card import Card, Stats
from headrace.card.process import Drain, StopRequests, Tell, drop_rights
from headrace.engines.filter import FilterCounters, FilterDriver, Slot, longest_run_s, not_inspected, sink_of, stopped
from headrace.errors import HeadraceError
from headrace.net.bpf import Filter, LinkFormat, Program, filter_of, for_link
from headrace.net.source import listening, parse_source

WEST, EAST, MONITOR = 0, 1, 2  # ports of the card
LINE_RATE = 100e9  # bit/s, of all ports

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class FilterOutput:
    """A filter, the file for what it accepts (None: only counted), and the bytes to keep of a packet (None: all).

    An expression instead of a program, or its text, is compiled for the link type that the source has once it is open.
    """

    program: Filter
    path: str | None = None
    snaplen: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "program", filter_of(self.program, self.snaplen))


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
    """What one filter did: packets matched, their bytes on the wire, runs stopped by an error; ``written`` are in the
    file at ``path``, None without one."""

    expression: str
    path: str | None
    matched: int
    bytes: int
    errors: int
    written: int | None = None


@dataclass(frozen=True)
class FilterReport:
    """Figures of a run. Cycles are those of the simulated card; wall-clock figures are the simulator's.

    ``packets`` and ``bytes`` came in; ``matched`` were accepted by a filter at least; ``uninspected`` passed without a
    verdict; ``lost`` were dropped by a MAC or at the monitor port, ``missed`` by a live link before the card;
    ``held_ns`` is how long flow control held the link off; ``latency_cycles`` are the shortest and longest way from
    port to port. ``fault`` says what ended the run early, or why its answer is not complete. ``live``: packets came
    when they did, so that most cycles had none.
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
    live: bool = False

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
    card.hang_limit(longest_run_s(card.clock_hz))
    return card


def driver_of(card: Card) -> FilterDriver:
    """The driver of a filter card, which waits by letting the card run."""
    return FilterDriver(card.regs, lambda: _pass_time(card))


def _pass_time(card: Card) -> None:
    card.run(until=None, cycles=64)


def run_filter(job: FilterJob, progress: Progress | None = None, tell: Tell | None = None) -> FilterReport:
    """Offers ``job.source`` to port 0 of a filter card and writes what comes out of its monitor port.

    A broken capture, or a file that can't be written on, ends the run: everything up to there is written, and the
    report names the ``fault``. A live source is meant to be ended by SIGINT or SIGTERM; elsewhere, KeyboardInterrupt is
    raised after an interrupt, with whole files. ``tell`` gets lines for the user: that a live source is listened to,
    the counts at SIGUSR1, what is still to go through. Raises HeadraceError for what is wrong before the first packet.
    """
    if job.count is not None and len(job.outputs) > 1:
        raise HeadraceError("a number of matches to stop at is one filter's: run it without other filters", exit_code=2)
    with open_filter_card(job.cores, job.parameters, job.trace, progress is not None) as card:
        driver = driver_of(card)
        _attach_source(card, driver, job.source, job.rate)
        drop_rights()
        programs = [_program(card, output.program, job.source) for output in job.outputs]
        driver.load({number: Slot(program) for number, program in enumerate(programs)})
        card.expect_passthrough(WEST, EAST)
        for number, output in enumerate(job.outputs):
            if output.path is not None or job.count is not None:
                card.sink(
                    MONITOR,
                    "null" if output.path is None else f"pcap:{output.path}",
                    **sink_of(number),
                    snaplen=output.snaplen,
                    timestamps=job.timestamps,
                    packets=job.count,
                )
        source = parse_source(job.source)
        with StopRequests(catch=source.live) as stop:
            if source.live and tell is not None:
                tell(listening(source, *card.capture_format()[:2]))
            watch = _watch(card, stop, progress, tell)
            faults = [_attempt(lambda: card.run(progress=watch)), _attempt(card.close_files)]
            fault = next(filter(None, faults), None)
            if fault is not None:  # what the card has taken still goes through, and is counted
                card.end_source(WEST)
                _attempt(card.run)
        return _report(job, card, driver, fault)


def _attempt(action: Callable[[], object]) -> str | None:
    """Why it failed; None where it did not."""
    try:
        action()
    except HeadraceError as error:
        return str(error)
    return None


def _program(card: Card, wanted: Filter, source: str) -> Program:
    """What a filter is for the packets of a card's source, which is open."""
    return for_link(wanted, LinkFormat(*card.capture_format(), live=parse_source(source).live), source)


def run_measure(
    program: Filter,
    source: str,
    rate: str | float = "lossless",
    cores: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    interval_s: float = 0.5,
    count: int | None = None,
    tell: Tell | None = None,
) -> Iterator[dict[int, tuple[int, int]]]:
    """Runs a measurement over a source; gives what its counters hold every ``interval_s`` of wall time and at the end.

    Each snapshot maps a counter to (packets, bytes on the wire). The end comes after ``count`` packets, with the
    source's own, or for a live source by SIGINT or SIGTERM. ``tell``: as for ``run_filter``, and at the end of a live
    source it has the packets that were missed. Raises HeadraceError after the last snapshot if the capture is broken,
    or if runs of the program were stopped.
    """
    catch = parse_source(source).live
    with (
        open_filter_card(cores, parameters, progress=progress is not None) as card,
        StopRequests(catch) as stop,
    ):
        driver = driver_of(card)
        _attach_source(card, driver, source, rate, count)
        drop_rights()
        driver.load({0: Slot(_program(card, program, source), measurement=True)})
        fault: HeadraceError | None = None
        if catch and tell is not None:
            tell(listening(parse_source(source), *card.capture_format()[:2]))
        watch = _watch(card, stop, progress, tell)
        done = False
        while not done:
            try:
                done = card.run(wall_s=interval_s, progress=watch).idle
            except HeadraceError as error:
                fault = error
                card.run(cycles=10_000, until=None)
                done = True
            yield driver.measurement()
        if catch and tell is not None:
            tell(", ".join(_counted(card.stats())))
        if fault is None and (errors := driver.counters().programs[0].errors):
            fault = HeadraceError(stopped(errors))
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


def _gaps(job: FilterJob, card: Card, counters: FilterCounters) -> list[str]:
    """Why the answer of a run is not complete."""
    too_long = sum(port.bad for port in counters.ingress)
    gaps = [not_inspected(too_long, card.parameters["MAX_FRAME"])] if too_long else []
    for output, count in zip(job.outputs, counters.programs, strict=False):
        if count.errors:
            gaps.append(f"{output.program.source or 'the filter'}: {stopped(count.errors)}")
    return gaps


def _watch(card: Card, stop: StopRequests, progress: Progress | None, tell: Tell | None) -> Callable[[Stats], None]:
    """What is done about 20 times a second of a run: shows how far it is, and ends live sources once asked to."""
    drain = Drain(tell)

    def watch(stats: Stats) -> None:
        west = stats.ports[WEST]
        if stop.at_once:
            card.end_source(WEST)
        elif stop:
            card.stop_sources()
            drain.show(card.stats().ports[WEST].rx_waiting)
        counted = _counted(stats)
        if stop.counts_wanted() and tell is not None:
            tell(", ".join(counted))
        if progress is not None:
            progress(", ".join(counted if west.rx_missed else counted[:-1]), None)

    return watch


def _counted(stats: Stats) -> list[str]:
    """What a run has come to, the last of it what a live link missed."""
    west = stats.ports[WEST]
    matched = stats.ports[MONITOR].tx_frames
    return [f"{west.rx_frames:,} packets", f"{matched:,} matched", f"{west.rx_missed:,} missed"]


def _report(job: FilterJob, card: Card, driver: FilterDriver, fault: str | None) -> FilterReport:
    counters = driver.counters()
    stats = card.stats()  # behind the counters, whose reads let the card go on
    live = parse_source(job.source).live
    west, monitor = stats.ports[WEST], stats.ports[MONITOR]
    offered = west.rx_frames + west.rx_overruns
    whole = fault is None and job.count is None  # otherwise it was stopped before the last packets came out
    gaps, warnings = _gaps(job, card, counters), []
    if job.rate == "lossless" and not live:
        fault = fault or "; ".join(gaps) or None
    else:
        warnings += gaps
    if whole and monitor.tx_frames != counters.forwarded:
        warnings.append(f"{counters.forwarded - monitor.tx_frames:,} packets were still at the monitor port at the end")
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
        cycles_per_packet=stats.cycles / offered if offered and not live else None,
        latency_cycles=stats.latency_cycles,
        wall_s=stats.wall_s,
        packets_per_wall_s=offered / stats.wall_s if stats.wall_s else 0.0,
        cores=card.parameters["CORES"],
        programs=[
            ProgramReport(
                output.program.source,
                output.path,
                count.matched,
                count.bytes,
                count.errors,
                None if output.path is None else card.written(MONITOR, number).packets,
            )
            for number, (output, count) in enumerate(zip(job.outputs, counters.programs, strict=False))
        ],
        warnings=warnings,
        fault=fault,
        missed=west.rx_missed,
        live=live,
    )
