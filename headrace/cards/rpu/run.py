"""Runs programs on the RPU card: packets from links to links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.card.process import StopRequests, drop_rights
from headrace.cards.rpu import elf, program, rules, tables
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.driver import Policy, RpuDriver
from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.source import parse_source

PORTS = 2
POLICIES: tuple[Policy, ...] = ("round_robin", "least_loaded", "flow_hash")
_WALL_S = 0.05
_STOPPED = 0xEC  # the highest byte of DEBUG_OUT: EXCEPTION_MARK of firmware/include/headrace.h


@dataclass(frozen=True)
class RpuJob:
    """Programs by unit (ELF files, C files or names of programs that come with Headrace), accelerators by unit, what
    the ports receive (``sources``) and the capture files of what they send (``sinks``). A live source is its port's
    sink, too. ``rate``: "line", "recorded" or bits per second. ``seconds`` of the card's time end the run."""

    programs: Mapping[int, str]
    sources: Mapping[int, str]
    sinks: Mapping[int, str] = field(default_factory=dict)
    accelerators: Mapping[int, str] = field(default_factory=dict)
    units: int = 8
    policy: Policy = "round_robin"
    rate: str | float = "line"
    blocklist: str | None = None
    seconds: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class UnitReport:
    """A unit's packets and bytes, its errors, and why it stopped (None: it runs)."""

    unit: int
    program: str
    rx_packets: int
    rx_bytes: int
    tx_packets: int
    tx_bytes: int
    outstanding: int
    errors: int
    fault: str | None


@dataclass(frozen=True)
class RpuReport:
    """Packets of all ports: received, sent, dropped before a unit had them, to the host port (dropped), and what the
    units did. ``kept``: packets in units at the end."""

    received: int
    sent: int
    dropped: int
    host_dropped: int
    kept: int
    cycles: int
    units: tuple[UnitReport, ...]


def parse_units(text: str, count: int) -> list[int]:
    """Units that a text such as ``0-3,6`` names, of so many."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise HeadraceError(f"units '{text}': not like 0-3,6", 2)
        numbers = range(int(first), int(last or first) + 1)
        if not numbers or numbers[-1] >= count:
            raise HeadraceError(f"units '{text}': the card has units 0 to {count - 1}", 2)
        found += numbers
    return found


def load_program(source: str) -> elf.Program:
    """A program from its ELF file, its C file or its name."""
    path = Path(source)
    compiled = path.suffix in (".c", ".S", ".s") or source in program.programs()
    return elf.read(program.build([source]) if compiled else path)


def run(job: RpuJob, progress: Callable[[int], None] | None = None) -> RpuReport:
    """Runs until all packets are through; with live links, until SIGINT or SIGTERM. ``progress`` gets the number of
    packets received. Raises HeadraceError where a setting is wrong, a file can't be read or a program isn't one."""
    if not job.programs:
        raise HeadraceError("no program", 2)
    loaded = {source: load_program(source) for source in dict.fromkeys(job.programs.values())}
    links = {port: parse_source(text) for port, text in job.sources.items()}
    words = _tables(job)
    with (
        open_rpu_card(
            job.units, job.accelerators, parameters=dict(job.parameters), progress=progress is not None
        ) as card,
        StopRequests() as stop,
    ):
        driver = driver_of(card)
        driver.set_policy(job.policy)
        for source, code in loaded.items():
            driver.load(code, [unit for unit, name in job.programs.items() if name == source])
        driver.boot(job.programs, enable=False)
        for unit, table in words.items():
            driver.load_table(table, [unit])
        driver.enable(job.programs)
        driver.ready(job.programs)
        for port, link in links.items():
            card.source(port, link.link, timing="line" if link.live else job.rate)
            if link.live:
                card.sink(port, link.link)
        bpf.load()
        drop_rights()
        for port, path in job.sinks.items():
            card.sink(port, f"pcap:{path}", precision="nano")
        end_ns = None if job.seconds is None else card.stats().time_ns + round(job.seconds * 1e9)
        while not stop:
            result = card.run(wall_s=_WALL_S, until_ns=end_ns)
            if progress is not None:
                progress(result.stats.rx_frames)
            if result.reason != "wall":
                break
        card.stop_sources()
        if stop and not stop.at_once:
            card.run(wall_s=1.0)
        stats = card.stats()
        units = tuple(_unit(driver, unit, source, loaded[source]) for unit, source in sorted(job.programs.items()))
        return RpuReport(
            received=stats.rx_frames,
            sent=sum(port.tx_frames for port in stats.ports),
            dropped=sum(source.dropped + source.refused for source in driver.source_counters().values()),
            host_dropped=driver.host_dropped(),
            kept=sum(unit.outstanding for unit in units),
            cycles=stats.cycles,
            units=units,
        )


def _tables(job: RpuJob) -> dict[int, Sequence[tuple[int, int]]]:
    """What accelerators load, by unit."""
    if job.blocklist is None:
        return {}
    chosen = [unit for unit, name in job.accelerators.items() if name == "blacklist"]
    if not chosen:
        raise HeadraceError(f"{job.blocklist}: no unit has the accelerator blacklist, which it is for", 2)
    return dict.fromkeys(chosen, tables.blacklist_words(rules.read_blocklist(job.blocklist).prefixes))


def _unit(driver: RpuDriver, unit: int, source: str, loaded: elf.Program) -> UnitReport:
    counters, state = driver.counters(unit), driver.state(unit)
    fault = None
    if state.debug_out >> 56 == _STOPPED:
        pc = state.debug_out & 0xFFFF_FFFF
        function, line = loaded.function_at(pc), loaded.line_at(pc)
        where = "".join(f", {text}" for text in (function.name if function else None, line) if text)
        fault = f"stopped at {pc:#x}{where}; last wrong address {state.error_address:#x}"
    return UnitReport(
        unit=unit,
        program=Path(source).name,
        rx_packets=counters.rx_packets,
        rx_bytes=counters.rx_bytes,
        tx_packets=counters.tx_packets,
        tx_bytes=counters.tx_bytes,
        outstanding=state.outstanding,
        errors=counters.errors,
        fault=fault,
    )
