"""A bridge that stays up between two links, with a chain of functional blocks that others move (``headrace bridge
run``, ``map``, ``status``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.card import Card, Stats
from headrace.card.control import ControlSocket, Owner
from headrace.card.process import Drain, StopRequests, Tell, drop_rights
from headrace.cards.bridge.blocks import KINDS, Generic, SoftwareBlock
from headrace.cards.bridge.card import check_link_type, driver_of, let_go, open_bridge_card
from headrace.cards.bridge.chain import Ingress, ProtocolGraph
from headrace.cards.bridge.driver import BridgeDriver
from headrace.cards.bridge.host import Host, is_live
from headrace.cards.bridge.jobs import Setting
from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.port_link import check_sink, port_link
from headrace.net.source import check_link

CONTROL = Owner("bridge", "a bridge")
_WAIT_LIMIT_NS = 100_000_000  # software that reads nothing for so long loses packets, rather than stop others
_WALL_S = 0.05  # between looks at the control socket and Ctrl-C


@dataclass(frozen=True)
class RunJob:
    """A bridge: from port 0 through the ``chain`` to port 1, and from port 1 to port 0 directly.

    ``chain``: kinds of blocks, ``crc32`` or ``generic``, each as KIND or KIND=NAME. ``links``: what the ports receive,
    ``sinks``: where they send to (None: a tap: link goes both ways, others nowhere). ``rate``: "lossless", "line",
    "recorded" or bits per second, of links that are not live.
    """

    chain: tuple[str, ...] = ()
    links: tuple[str, str] = ("null", "null")
    sinks: tuple[str | None, str | None] = (None, None)
    packet_ns: int = 0
    buffer_kb: int = 64
    timeout_ms: float = 1
    rate: str | float = "lossless"
    profile: str = "none"
    control: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises HeadraceError for what can't be, before a card is built."""
        self.setting()
        self.blocks()
        for link in self.links:
            check_link(link)
            _received(link)
        for sink in filter(None, self.sinks):
            check_sink(sink)

    def setting(self) -> Setting:
        """What it has in common with other jobs."""
        return Setting(self.buffer_kb, self.timeout_ms, self.profile, None, self.parameters)

    def blocks(self) -> list[tuple[str, SoftwareBlock]]:
        """Named blocks; those without a name are called as their kind. Raises HeadraceError for unknown kinds."""
        result: list[tuple[str, SoftwareBlock]] = []
        for word in self.chain:
            kind, _, name = word.partition("=")
            if kind not in KINDS:
                raise HeadraceError(f"block {word}: must be one of {', '.join(KINDS)}", 2)
            made = Generic(self.packet_ns) if kind == "generic" else KINDS[kind]()
            result.append((name or kind, made))
        return result


def run(job: RunJob, tell: Tell | None = None) -> dict[str, Any]:
    """Runs until SIGINT or SIGTERM, or until both links are at their ends; gives the last status.

    What live links have for the card then still goes through, unless there is a second signal. ``tell`` gets lines for
    the user: the status at SIGUSR1 too. Raises HeadraceError for what is wrong before the first packet.
    """
    say = tell or (lambda _: None)
    blocks = job.blocks()
    batching = job.setting().batching()
    with (
        open_bridge_card(job.parameters, progress=tell is not None) as card,
        ExitStack() as files,
        StopRequests() as stop,
    ):
        driver = driver_of(card)
        graph = _set_up(job, driver, batching, blocks)
        live = any(is_live(link) for link in job.links)
        host = Host(card, driver, job.setting().host(), graph=graph, live=live)
        _connect(job, card)
        control = files.enter_context(ControlSocket(CONTROL, job.control))
        say(f"ready: the bridge is up; control at {control.path}")
        _serve(card, host, graph, control, stop, job.links, say)
        result = status(host, graph, card.stats())
        if not result["at_rest"]:
            result["missing"] = 0  # packets are still on their way
    for line in status_lines(result):
        say(line)
    return result


def _set_up(
    job: RunJob, driver: BridgeDriver, batching: Mapping[str, Any], blocks: Sequence[tuple[str, SoftwareBlock]]
) -> ProtocolGraph:
    lossless = job.rate == "lossless"
    driver.h2s.configure(**batching, wait_for_room=lossless, wait_limit_ns=_WAIT_LIMIT_NS)
    driver.s2h.configure(**batching)
    driver.start()
    graph = ProtocolGraph(driver)
    graph.add_chain("forward", blocks, Ingress(0), 1)
    graph.add_chain("back", [], Ingress(1), 0)
    for port in range(2):
        driver.setup_port(port, flow_control=lossless)
    return graph


def _received(link: str) -> str:
    """What a port receives of a link, as the harness takes it."""
    return link if link.partition(":")[0] in ("null", "port") else port_link(link).link


def _connect(job: RunJob, card: Card) -> None:
    lossless = job.rate == "lossless"
    files = []
    if lossless and any(map(is_live, job.links)):
        let_go(card)
    for port, (link, sink) in enumerate(zip(job.links, job.sinks, strict=True)):
        card.flow_control(port, lossless)
        card.source(port, _received(link), timing="line" if lossless else job.rate)
        check_link_type(card)
        target = link if sink is None and link.startswith("tap:") else sink
        if target is not None and is_live(target):
            card.sink(port, target)
        elif target is not None:
            files.append((port, target))
    bpf.load()
    drop_rights()
    for port, target in files:
        card.sink(port, target)
    card.run(until=None, cycles=1)  # a link's first time sets the clock


def _serve(
    card: Card,
    host: Host,
    graph: ProtocolGraph,
    control: ControlSocket,
    stop: StopRequests,
    links: Sequence[str],
    say: Tell,
) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        match request:
            case {"command": "status"}:
                return status(host, graph, card.stats())
            case {"command": "map", "block": str(block), "side": ("hw" | "sw") as side}:
                return asdict(host.move(block, side))
        raise HeadraceError(f"unknown request: {request}", 2)

    def attend() -> None:
        control.poll(answer)
        if stop.counts_wanted():
            for line in status_lines(status(host, graph, card.stats())):
                say(line)

    def end_sources(at_once: bool) -> None:
        for port, link in enumerate(links):
            if at_once or not is_live(link):
                card.end_source(port)

    def attend_to_the_rest() -> None:
        attend()
        if stop.at_once:
            end_sources(at_once=True)
        else:
            drain.show(sum(port.rx_waiting for port in card.stats().ports))

    while not stop:
        attend()
        if host.run(lambda: bool(stop), None, _WALL_S, turns=1) == "idle":
            break
    drain = Drain(say)
    card.stop_sources()
    end_sources(at_once=False)
    host.finish(attend_to_the_rest)


def status(host: Host, graph: ProtocolGraph, stats: Stats) -> dict[str, Any]:
    """Where the blocks are, what they have done, and all counters, as plain data.

    ``missed`` of a port: packets that its live link lost before the card; ``waiting``: that the link has for it.
    """
    driver = host.driver
    counters = driver.counters()
    blocks = []
    for chain in graph.chains:
        for block in chain.blocks:
            hardware = None if block.slot is None else asdict(counters.slots[block.slot])
            blocks.append(
                {
                    "name": block.name,
                    "chain": chain.name,
                    "side": block.side,
                    "slot": block.slot,
                    "idp": block.idp,
                    "hardware": hardware,
                    "software": {**asdict(block.software.counters), "waiting": block.software.waiting},
                }
            )
    return {
        "time_ns": driver.clock(),
        "blocks": blocks,
        "ports": [
            {**asdict(port), "missed": mac.rx_missed, "waiting": mac.rx_waiting}
            for port, mac in zip(counters.ports, stats.ports, strict=True)
        ],
        "to_software": {"packets": counters.taken, "batches": host.batches, "unknown": graph.unknown},
        "to_hardware": {"packets": driver.s2h.packets, "batches": driver.s2h.completed},
        "dropped": counters.dropped,
        "at_rest": counters.in_flight == 0 and not driver.s2h.backlog,
        "missing": counters.missing(),
        "errors": [*host.errors, *driver.s2h.errors, *counters.complaints],
    }


def status_lines(data: Mapping[str, Any]) -> list[str]:
    """The status for a person."""
    lines = []
    for block in data["blocks"]:
        hardware, software = block["hardware"] or {"sent": 0, "refused": 0}, block["software"]
        lines.append(
            f"{block['name']}: in {block['side']}; sent {hardware['sent']:,} in hardware, {software['sent']:,} in "
            f"software; refused {hardware['refused'] + software['refused']:,}"
        )
    for number, port in enumerate(data["ports"]):
        lines.append(f"port {number}: {port['frames']:,} frames received, {port['sent']:,} sent")
        if port["missed"]:
            lines.append(f"port {number}: {port['missed']:,} packets dropped by the kernel before it")
    for name, text in (("to_software", "hardware to software"), ("to_hardware", "software to hardware")):
        lines.append(f"{text}: {data[name]['packets']:,} packets in {data[name]['batches']:,} batches")
    lines += [f"{count:,} packets dropped: {where}" for where, count in data["dropped"].items()]
    return [*lines, *dict.fromkeys(data["errors"])]
