"""A bridge that stays up between two links, with a chain of functional blocks that others move (``headrace bridge
run``, ``map``, ``status``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.bridge.blocks import KINDS, Generic, SoftwareBlock
from headrace.bridge.card import driver_of, open_bridge_card
from headrace.bridge.chain import Ingress, ProtocolGraph
from headrace.bridge.control import ControlSocket
from headrace.bridge.driver import BridgeDriver
from headrace.bridge.host import PROFILES, Host, is_live
from headrace.bridge.jobs import Setting
from headrace.card import Card
from headrace.errors import HeadraceError
from headrace.stop_requests import StopRequests

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


def run(job: RunJob, tell: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Runs until SIGINT or SIGTERM, or until both links are at their ends; gives the last status.

    ``tell`` gets lines for the user. Raises HeadraceError for what is wrong before the first packet.
    """
    say = tell or (lambda _: None)
    blocks = job.blocks()
    if job.profile not in PROFILES:
        raise HeadraceError(f"host {job.profile}: must be one of {', '.join(PROFILES)}", 2)
    batching = Setting(job.buffer_kb, job.timeout_ms).batching()
    with (
        ControlSocket(job.control) as control,
        open_bridge_card(job.parameters, progress=tell is not None) as card,
        StopRequests() as stop,
    ):
        driver = driver_of(card)
        graph = _set_up(job, driver, batching, blocks)
        live = any(is_live(link) for link in job.links)
        host = Host(card, driver, PROFILES[job.profile], graph=graph, live=live)
        _connect(job, card)
        say(f"the bridge is up; control at {control.path}")
        _serve(card, host, graph, control, stop, live)
        result = status(host, graph)
        if not result["at_rest"]:
            result["missing"] = 0  # packets are still on their way
    for line in status_lines(result):
        say(line)
    return result


def _set_up(
    job: RunJob, driver: BridgeDriver, batching: Mapping[str, Any], blocks: Sequence[tuple[str, SoftwareBlock]]
) -> ProtocolGraph:
    lossless = job.rate == "lossless"
    driver.h2s.configure(**batching, wait_for_room=lossless)
    driver.s2h.configure(**batching)
    driver.start()
    graph = ProtocolGraph(driver)
    graph.add_chain("forward", blocks, Ingress(0), 1)
    graph.add_chain("back", [], Ingress(1), 0)
    for port in range(2):
        driver.setup_port(port, flow_control=lossless)
    return graph


def _connect(job: RunJob, card: Card) -> None:
    lossless = job.rate == "lossless"
    for port, (link, sink) in enumerate(zip(job.links, job.sinks, strict=True)):
        card.flow_control(port, lossless)
        card.source(port, link, timing="line" if lossless else job.rate)
        target = link if sink is None and link.startswith("tap:") else sink
        if target is not None:
            card.sink(port, target)
    card.run(until=None, cycles=1)  # sources are there from now on: they can be ended


def _serve(
    card: Card, host: Host, graph: ProtocolGraph, control: ControlSocket, stop: StopRequests, live: bool
) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        match request:
            case {"command": "status"}:
                return status(host, graph)
            case {"command": "map", "block": str(block), "side": ("hw" | "sw") as side}:
                return asdict(host.move(block, side))
        raise HeadraceError(f"unknown request: {request}", 2)

    def stopped() -> bool:
        return bool(stop)

    while not stop:
        control.poll(answer)
        if host.run(stopped, None, _WALL_S, turns=1) == "idle":
            break
    if live:
        card.stop_sources()
    else:
        for port in range(card.ports):
            card.end_source(port)
    host.finish()


def status(host: Host, graph: ProtocolGraph) -> dict[str, Any]:
    """Where the blocks are, what they have done, and all counters, as plain data."""
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
        "ports": [asdict(port) for port in counters.ports],
        "to_software": {"packets": counters.taken, "batches": host.batches, "unknown": graph.unknown},
        "to_hardware": {"packets": driver.s2h.packets, "batches": driver.s2h.completed},
        "dropped": counters.dropped,
        "at_rest": counters.in_flight == 0 and not driver.s2h.backlog,
        "missing": counters.missing(),
        "errors": [*host.errors, *driver.s2h.errors],
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
    for name, text in (("to_software", "hardware to software"), ("to_hardware", "software to hardware")):
        lines.append(f"{text}: {data[name]['packets']:,} packets in {data[name]['batches']:,} batches")
    lines += [f"{count:,} packets dropped: {where}" for where, count in data["dropped"].items()]
    return [*lines, *dict.fromkeys(data["errors"])]
