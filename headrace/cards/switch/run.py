"""Runs the switch card: packets from links to links, as controllers, a file of flows or learning say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.card.attended import run_attended
from headrace.card.control import asking_at, open_control
from headrace.card.functions import Functions, Plugs
from headrace.card.process import StopRequests, Tell, drop_rights
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware, open_switch_card
from headrace.cards.switch.controllers import Controllers
from headrace.cards.switch.endpoints import Tls
from headrace.cards.switch.function_ports import SwitchFunctions
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.learning import Learning
from headrace.cards.switch.links import SwitchLinks
from headrace.cards.switch.ofctl import load_flows
from headrace.cards.switch.ports import PortInfo
from headrace.cards.switch.service import CONTROL, Service
from headrace.engines.functions import count_of, link_of
from headrace.engines.netem import Netem
from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.port_link import port_link
from headrace.net.source import Source, parse_source

_LINE_BPS = 100e9
_LIVE_BPS = 400e9  # more than the card takes: no cycles go by in which a live link has packets and their bytes are late
_YEAR_S = 3e7


@dataclass(frozen=True)
class SwitchJob:
    """What ports receive, by their OpenFlow numbers (``sources``; a live one is its port's sink, too), and the capture
    files of what they send (``sinks``). ``functions``: links of virtual functions, by their numbers from 0; their ports
    follow the Ethernet ports'. ``controllers``: ``tcp:HOST:PORT`` or ``ssl:HOST:PORT``; ``listens``:
    ``ptcp:PORT`` or ``pssl:PORT``. ``flows``: a file in ovs-ofctl's syntax. ``links``: what emulated links do to
    packets that leave by a port; with any, each port has one. ``rate``: "lossless", "line", "recorded" or bits per
    second. ``seconds`` of the card's time end the run. ``control``: the path of its control socket."""

    sources: Mapping[int, str]
    sinks: Mapping[int, str] = field(default_factory=dict)
    functions: Mapping[int, str] = field(default_factory=dict)
    controllers: Sequence[str] = ()
    listens: Sequence[str] = ()
    tls: Tls | None = None
    flows: str | None = None
    links: Mapping[int, Netem] = field(default_factory=dict)
    learning: bool = False
    datapath_id: int = 1
    rate: str | float = "lossless"
    seconds: float | None = None
    control: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PortReport:
    """Of a port: packets received, sent, and dropped at its input and its output queue."""

    port: int
    received: int
    sent: int
    rx_dropped: int
    tx_dropped: int


@dataclass(frozen=True)
class SwitchReport:
    """What became of the packets. ``to_host`` are packets that controllers or learning got."""

    ports: tuple[PortReport, ...]
    to_host: int
    host_dropped: int
    flows: int
    cycles: int


def ports_of(job: SwitchJob) -> int:
    """Ports that the card has: as the parameters say, otherwise up to the highest that is named, two at least. Raises
    HeadraceError for a port that isn't there."""
    named = max((*job.sources, *job.sinks), default=1)
    count = int(job.parameters.get("PORTS", max(2, named)))
    if named > count:
        raise HeadraceError(f"port {named}: the card has ports 1 to {count}", 2)
    return count


def run(job: SwitchJob, progress: Callable[[int], None] | None = None, tell: Tell | None = None) -> SwitchReport:
    """Runs until all packets are through; with live links or controllers, until SIGINT or SIGTERM. ``progress`` gets
    the number of packets received, ``tell`` lines for the user. Raises HeadraceError where a setting is wrong or a file
    can't be read."""
    say = tell or (lambda _: None)
    links = {port: port_link(text) for port, text in job.sources.items()}
    lossless = job.rate == "lossless"
    count, functions = ports_of(job), count_of(job.functions, job.parameters)
    sizes: dict[str, Any] = {"PORTS": count, "FUNCTIONS": functions} | ({"LINKS": 1} if job.links else {})
    with (
        open_switch_card(parameters={**job.parameters, **sizes}, progress=progress is not None) as card,
        StopRequests() as stop,
        Plugs(Functions(card, card.regs.functions) if functions else None, say) as plugs,
    ):
        for function, link in job.functions.items():
            plugs.plug(function, link_of(link))
        hardware = CardHardware(card)
        emulated = SwitchLinks(card) if int(card.parameters["LINKS"]) else None
        for port, made in job.links.items():
            if emulated is not None:
                emulated.set(port, made)
        live = [port for port, link in links.items() if link.live]
        for port in links:
            card.flow_control(port - 1, lossless)
        for port in live:
            card.source(port - 1, links[port].link)
            card.sink(port - 1, links[port].link)
            card.set_rate(port - 1, _LIVE_BPS)
        used = [*links, *(count + 1 + function for function in plugs)]
        held = sum(1 << port - 1 for port in used) if lossless else 0
        hardware.hold(held)
        bpf.load()
        drop_rights()
        for port, path in job.sinks.items():
            card.sink(port - 1, f"pcap:{path}", precision="nano", timestamps="card")
        card.run(until=None, cycles=1)  # with live links its time is that of day from then on, for flows' timeouts too
        datapath = HardwareDatapath(hardware)
        infos = [_port(job.datapath_id, number, links.get(number)) for number in range(1, count + 1)]
        infos += [_function_port(job, count, function) for function in range(functions)]
        switch = OpenFlowSwitch(datapath, job.datapath_id, infos, description="Headrace switch")
        for number in set(switch.ports.numbers) - set(used) - job.sinks.keys():
            switch.set_link(number, False)
        if job.learning:
            Learning(switch)
        if job.flows is not None:
            load_flows(switch, Path(job.flows))
        for port in links.keys() - set(live):  # now that the flows are there
            card.source(port - 1, links[port].link, timing="line" if lossless else job.rate)
        plugs.begin("line" if lossless else job.rate)
        waits = bool(live) or bool(job.controllers) or bool(job.listens) or plugs.live
        if waits:
            card.hang_limit(0)
        seconds = _YEAR_S if waits and job.seconds is None else job.seconds  # with an end idle time passes, too
        end_ns = None if seconds is None else card.stats().time_ns + round(seconds * 1e9)
        with (
            Controllers(switch, job.controllers, job.listens, job.tls, tell=say) as controllers,
            open_control(CONTROL, job.control, waits, say) as control,
        ):
            function_ports = SwitchFunctions(switch, hardware, plugs, count, held if lossless else None)
            service = Service(switch, datapath, controllers, hardware, function_ports, emulated)
            for address in controllers.listening:
                say(f"listens for controllers at {address}")
            to_host = 0

            def attend() -> int:
                nonlocal to_host
                for port in live:
                    switch.set_link(port, card.link_up(port - 1), card.link_name(port - 1))
                function_ports.look()
                said = controllers.poll() + service.attend(control) + plugs.poll()
                said += hardware.received_packets - to_host
                to_host = hardware.received_packets
                return said

            def asking() -> list[int]:
                return [controllers.fileno(), *plugs.asking(), *asking_at(control)]

            run_attended(card, stop, attend, asking, waits, say, end_ns, progress)
            controllers.poll()
        return _report(datapath, hardware, switch)


def _port(datapath_id: int, number: int, link: Source | None) -> PortInfo:
    name, bps = (link.name, _LIVE_BPS) if link is not None and link.live else (f"port{number}", _LINE_BPS)
    mac = bytes((2, 0)) + (datapath_id << 8 | number).to_bytes(8, "big")[-4:]
    return PortInfo(number, name, mac, round(bps / 1000))


def _function_port(job: SwitchJob, ports: int, function: int) -> PortInfo:
    link = job.functions.get(function)
    name = f"vf{function}" if link is None or link.startswith("vhost:") else parse_source(link).name
    return _port(job.datapath_id, ports + 1 + function, None)._replace(name=name, speed=round(_LIVE_BPS / 1000))


def _report(datapath: HardwareDatapath, hardware: CardHardware, switch: OpenFlowSwitch) -> SwitchReport:
    counts = {number: datapath.count_port(number) for number in switch.ports.numbers}
    return SwitchReport(
        ports=tuple(
            PortReport(number, count.rx_packets, count.tx_packets, count.rx_dropped + count.rx_errors, count.tx_dropped)
            for number, count in counts.items()
        ),
        to_host=hardware.received_packets,
        host_dropped=hardware.host_dropped(),
        flows=sum(1 for _ in switch.flow_tables),
        cycles=hardware.card.stats().cycles,
    )
