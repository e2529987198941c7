"""Runs programs on the RPU card: packets from links to links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.card import Card, HangError
from headrace.card.control import open_control
from headrace.card.functions import Plugs
from headrace.card.process import StopRequests, Tell, drop_rights
from headrace.card.rings import HostPort
from headrace.cards.rpu import blocklist as blocklists
from headrace.cards.rpu import elf, program, rules, tables
from headrace.cards.rpu.alerts import LOOK_CYCLES, Alerts, RuleMatches, unread
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.driver import Policy
from headrace.cards.rpu.health import UnitHealth
from headrace.cards.rpu.host import STEP, FunctionHost, RpuFunctions
from headrace.cards.rpu.service import CONTROL, Service
from headrace.engines.functions import FunctionPorts, count_of, link_of
from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.port_link import port_link

PORTS = 2
HOST = 2  # the host port's number
_WAIT_MS = 50
_LIVE_S = 0.001  # of wall time, between looks at a live link of the host
POLICIES: tuple[Policy, ...] = ("round_robin", "least_loaded", "flow_hash")


@dataclass(frozen=True)
class RpuJob:
    """Programs by unit (ELF files, C files or names of programs that come with Headrace), accelerators by unit, what
    the ports receive (``sources``) and the capture files of what they send (``sinks``). A live source is its port's
    sink, too. ``functions``: links of virtual functions, by their numbers from 0, in place of the host port's link, and
    ``function_sinks``, the capture files of what these receive.
    ``rate``: "lossless", "line", "recorded" or bits per second. ``seconds`` of the card's time end the run.
    ``control``: the path of its control socket. ``strict``: a line of ``blocklist`` or ``rules`` that
    can't be used is an error; ``first``: of ``rules``, so many are loaded at most."""

    programs: Mapping[int, str]
    sources: Mapping[int, str]
    sinks: Mapping[int, str] = field(default_factory=dict)
    functions: Mapping[int, str] = field(default_factory=dict)
    function_sinks: Mapping[int, str] = field(default_factory=dict)
    accelerators: Mapping[int, str] = field(default_factory=dict)
    units: int = 8
    policy: Policy = "round_robin"
    rate: str | float = "lossless"
    blocklist: str | None = None
    rules: str | None = None
    strict: bool = False
    first: int | None = None
    seconds: float | None = None
    control: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class UnitReport:
    """A unit's packets and bytes, its errors, what its program did wrong (None: nothing), and what else there is to
    tell."""

    unit: int
    program: str
    rx_packets: int
    rx_bytes: int
    tx_packets: int
    tx_bytes: int
    outstanding: int
    errors: int
    too_long: int  # packets longer than its slots, which it has dropped
    fault: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class RpuReport:
    """Packets of all ports and functions: received, sent, dropped before a unit had them, as too long for its slots or
    on their way out of an Ethernet port, dropped on their way to the host, and what the units did. ``kept``: packets in
    units at the end. ``matches`` by rule; of ``matches_unknown`` it is not known which, as they came too fast."""

    received: int
    sent: int
    dropped: int
    from_host: int  # of those received
    to_host: int  # of those sent
    host_dropped: int
    kept: int
    cycles: int
    units: tuple[UnitReport, ...]
    matches: tuple[RuleMatches, ...] = ()
    matches_unknown: int = 0


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


def parse_ports(texts: Sequence[str], option: str, host: bool = False) -> dict[int, str]:
    """What texts such as ``0=in.pcap``, values of a command's option, say by port; with ``host``, ``host=in.pcap``,
    too."""
    found: dict[int, str] = {}
    for text in texts:
        number, equals, what = text.partition("=")
        is_host = host and number == "host"
        if not equals or not (is_host or number in map(str, range(PORTS))):
            raise HeadraceError(
                f"{option} {text}: not N=..., with N from 0 to {PORTS - 1}{', or host' if host else ''}", 2
            )
        found[HOST if is_host else int(number)] = what
    return found


def load_program(source: str) -> elf.Program:
    """A program from its ELF file, its C file or its name."""
    path = Path(source)
    compiled = path.suffix in (".c", ".S", ".s") or source in program.programs()
    return elf.read(program.build([source]) if compiled else path)


def run(job: RpuJob, progress: Callable[[int], None] | None = None, tell: Tell | None = None) -> RpuReport:
    """Runs until all packets are through; with live links, until SIGINT or SIGTERM. ``progress`` gets the number of
    packets received, ``tell`` lines for the user. Raises HeadraceError where a setting is wrong, a file can't be read
    or a program isn't one."""
    if not job.programs:
        raise HeadraceError("no program", 2)
    loaded = {source: load_program(source) for source in dict.fromkeys(job.programs.values())}
    links = {port: port_link(text) for port, text in job.sources.items()}
    for path, accelerator in ((job.blocklist, "blacklist"), (job.rules, "matcher")):
        if path is not None:
            _with(job.accelerators, accelerator, path)
    rule_file = rules.read_rules(job.rules, job.strict, job.first) if job.rules is not None else None
    blocklist = blocklists.read_blocklist(job.blocklist, job.strict) if job.blocklist is not None else None
    words = accelerator_tables(job.accelerators, blocklist, rule_file)
    count = count_of((*job.functions, *job.function_sinks), job.parameters)
    if count and (HOST in job.sources or HOST in job.sinks):
        raise HeadraceError("host: the card has virtual functions instead of the host port's rings: use vf:N=LINK", 2)
    say = tell or (lambda _: None)
    if rule_file is not None and (left_out := unread(str(job.rules), rule_file)) is not None:
        say(left_out)
    if blocklist is not None and (left_out := blocklists.blocklist_left_out(blocklist)) is not None:
        say(left_out)
    with (
        open_rpu_card(
            job.units,
            job.accelerators,
            parameters={**job.parameters, "FUNCTIONS": count},
            progress=progress is not None,
        ) as card,
        StopRequests() as stop,
        Plugs(RpuFunctions(card, driver_of(card)) if count else None, say) as plugs,
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
        lossless = job.rate == "lossless"
        driver.set_flow_control(lossless)
        functions = FunctionPorts(plugs, HOST, STEP)
        rings = HostPort(card, driver.rings)
        host = FunctionHost(card, functions) if count else rings
        for function, text in job.functions.items():
            plugs.plug(function, link_of(text))
        for port, link in links.items():
            if port == HOST:
                rings.send(link.link, link.live)
                if link.live and HOST not in job.sinks:
                    rings.receive(link.link)
                continue
            card.flow_control(port, lossless)
            card.source(port, link.link, timing="line" if link.live or lossless else job.rate)
            if link.live:
                card.sink(port, link.link)
        bpf.load()
        drop_rights()
        for port, path in job.sinks.items():
            if port != HOST:
                card.sink(port, f"pcap:{path}", precision="nano", timestamps="card")
        for function, path in job.function_sinks.items():
            number = plugs.port(function) if function in job.functions else None
            if number is None:
                raise HeadraceError(f"-w vf:{function}={path}: no such link, or its driver is another process", 2)
            card.sink(number, f"pcap:{path}", precision="nano", timestamps="card")
        if HOST in job.sinks:
            rings.receive(f"pcap:{job.sinks[HOST]}")
        plugs.begin("line" if lossless else job.rate)
        service = Service(
            card, driver, {unit: (name, loaded[name]) for unit, name in job.programs.items()}, words, functions
        )
        live, hung = any(link.live for link in links.values()) or plugs.live, False
        end_ns = None if job.seconds is None else card.stats().time_ns + round(job.seconds * 1e9)
        alerts = Alerts(driver, rule_file.rules if rule_file is not None else (), wait=not live and lossless)
        if rule_file is not None:
            _look(alerts, service)
        with open_control(CONTROL, job.control, live, say) as control:
            while not stop:
                wall_s = service.attend(control)
                if live or host.live or service.debugged:
                    card.hang_limit(0)
                busy = host.serve()
                if host.live:
                    wall_s = min(wall_s, _LIVE_S)
                try:
                    looks = rule_file is not None and not live
                    until_ns = _next_look(card, end_ns) if looks else end_ns
                    result = card.run("interrupt", wall_s=wall_s, until_ns=until_ns)
                except HangError:  # a program that neither sends its packets nor sleeps
                    hung = True
                    break
                if progress is not None:
                    progress(result.stats.rx_frames)
                if rule_file is not None:
                    _look(alerts, service)
                ended = result.reason == "cycles" and until_ns == end_ns
                if ended or (result.idle and not (busy or host.serve() or host.wait(_WAIT_MS))):
                    break
        card.stop_sources()
        host.end()
        if stop and not stop.at_once:
            card.hang_limit(0)
            card.run(wall_s=1.0)
            host.serve()
        host.close()
        stats = card.stats()
        from_host, to_host = host.counted()
        units = tuple(_unit(service.health(unit, hung)) for unit in sorted(job.programs))
        if rule_file is not None:
            _look(alerts, service)
        return RpuReport(
            received=stats.rx_frames + from_host,
            sent=sum(port.tx_frames for port in stats.ports) + to_host,
            from_host=from_host,
            to_host=to_host,
            dropped=sum(source.dropped + source.refused for source in driver.source_counters().values())
            + sum(driver.out_dropped())
            + sum(driver.counters(unit).too_long for unit in driver.all_units())
            + functions.totals().refused,
            host_dropped=service.host_dropped(),
            kept=sum(unit.outstanding for unit in units),
            cycles=stats.cycles,
            units=units,
            matches=alerts.matches(),
            matches_unknown=alerts.unknown,
        )


def _next_look(card: Card, end_ns: int | None) -> int:
    """When the host looks for matches again: a short time after there is something to do."""
    now_ns = card.stats().time_ns
    look_ns = max(now_ns, card.next_event_ns or now_ns) + LOOK_CYCLES * 1_000_000_000 // card.clock_hz
    return look_ns if end_ns is None else min(look_ns, end_ns)


def _look(alerts: Alerts, service: Service) -> None:
    for unit, (_, code) in service.programs.items():
        alerts.look(unit, code)


def accelerator_tables(
    accelerators: Mapping[int, str], blocklist: blocklists.Blocklist | None, rule_file: rules.RuleFile | None
) -> dict[int, Sequence[tuple[int, int]]]:
    """What accelerators load, by unit. Raises HeadraceError when nothing is there that takes it, or it is too much."""
    found: dict[int, Sequence[tuple[int, int]]] = {}
    if blocklist is not None:
        chosen = _with(accelerators, "blacklist", blocklist.path)
        found |= dict.fromkeys(chosen, blocklists.blocklist_words(blocklist))
    if rule_file is not None:
        chosen = _with(accelerators, "matcher", rule_file.path)
        found |= dict.fromkeys(chosen, tables.matcher_words(rule_file.patterns))
    return found


def _with(accelerators: Mapping[int, str], name: str, path: str) -> list[int]:
    chosen = [unit for unit, found in accelerators.items() if found == name]
    if not chosen:
        raise HeadraceError(f"{path}: no unit has the accelerator {name}, which the file is for", 2)
    return chosen


def _unit(found: UnitHealth) -> UnitReport:
    counters = found.counters
    return UnitReport(
        unit=found.unit,
        program=found.program,
        rx_packets=counters.rx_packets,
        rx_bytes=counters.rx_bytes,
        tx_packets=counters.tx_packets,
        tx_bytes=counters.tx_bytes,
        outstanding=found.state.outstanding,
        errors=counters.errors,
        too_long=counters.too_long,
        fault=found.fault,
        notes=found.notes,
    )
