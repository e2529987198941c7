"""Runs the NIC card: packets between links of Ethernet ports and of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.card.attended import run_attended
from headrace.card.control import asking_at, open_control
from headrace.card.functions import Plugs
from headrace.card.process import StopRequests, Tell, drop_rights
from headrace.cards.nic.card import Nic, NicFunctions, Setting, mac_text, open_nic_card
from headrace.cards.nic.service import CONTROL, Service
from headrace.engines.functions import count_of, link_of
from headrace.errors import HeadraceError
from headrace.net import bpf, netlink
from headrace.net.port_link import port_link

DEFAULT_MAC = 0x02 << 40
"""Of function 0; function N has its MAC + N."""

_LIVE_BPS = 400e9  # more than the card takes: no cycles go by in which a live link has packets and their bytes are late


@dataclass(frozen=True)
class NicJob:
    """What Ethernet ports receive, by their numbers from 0 (``sources``; a live one is its port's sink, too), the
    capture files of what they send (``sinks``), and links of functions, by their numbers from 0. ``settings`` of
    functions; others have ``default_setting``. ``rate``: "lossless", "line", "recorded" or bits per second. ``seconds``
    of the card's time end the run. ``control``: the path of its control socket."""

    sources: Mapping[int, str]
    functions: Mapping[int, str]
    sinks: Mapping[int, str] = field(default_factory=dict)
    settings: Mapping[int, Setting] = field(default_factory=dict)
    rate: str | float = "lossless"
    seconds: float | None = None
    control: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


def default_setting(function: int) -> Setting:
    """MAC 02:00:00:00:00:NN, at Ethernet port 0, frames without a tag."""
    return Setting(DEFAULT_MAC + function)


def sizes_of(job: NicJob) -> dict[str, int]:
    """Ethernet ports and functions that the card has: as the parameters say, otherwise as many as are named, two ports
    and a function at least. Raises HeadraceError for one that isn't there."""
    ports = max((*job.sources, *job.sinks, *(one.uplink for one in job.settings.values())), default=0)
    count = int(job.parameters.get("PORTS", max(2, ports + 1)))
    if ports >= count:
        raise HeadraceError(f"port {ports}: the card has ports 0 to {count - 1}", 2)
    return {"PORTS": count, "FUNCTIONS": count_of((*job.functions, *job.settings), job.parameters, least=1)}


def run(job: NicJob, progress: Callable[[int], None] | None = None, tell: Tell | None = None) -> dict[str, Any]:
    """Runs until all packets are through; with live links, until SIGINT or SIGTERM. Gives what ``Service.stats`` does,
    and ``cycles``. ``progress`` gets the number of packets received, ``tell`` lines for the user. Raises HeadraceError
    where a setting is wrong or a file can't be read."""
    say = tell or (lambda _: None)
    links = {port: port_link(text) for port, text in job.sources.items()}
    lossless = job.rate == "lossless"
    timing = "line" if lossless else job.rate
    with (
        open_nic_card(parameters={**job.parameters, **sizes_of(job)}, progress=progress is not None) as card,
        StopRequests() as stop,
    ):
        nic = Nic(card)
        functions = NicFunctions(nic)
        with Plugs(functions, say) as plugs:
            _plug(nic, plugs, job)
            live = [port for port, link in links.items() if link.live]
            for port in live:
                card.source(port, links[port].link)
                card.sink(port, links[port].link)
                card.set_rate(port, _LIVE_BPS)
            bpf.load()
            drop_rights()
            for port, path in job.sinks.items():
                card.sink(port, f"pcap:{path}", precision="nano", timestamps="card")
            every = (1 << nic.ports) - 1
            nic.set_ports(every, every if lossless else 0)
            for port, link in links.items():
                card.flow_control(port, lossless)
                if not link.live:
                    card.source(port, link.link, timing=timing)
            plugs.begin(timing)
            waits = bool(live) or plugs.live
            if waits:
                card.hang_limit(0)
            end_ns = None if job.seconds is None else card.stats().time_ns + round(job.seconds * 1e9)
            service = Service(nic, functions)
            with open_control(CONTROL, job.control, waits, say) as control:

                def attend() -> int:
                    return plugs.poll() + service.attend(control)

                def asking() -> list[int]:
                    return plugs.asking() + asking_at(control)

                run_attended(card, stop, attend, asking, waits, say, end_ns, progress)
            return {**service.stats(), "cycles": card.stats().cycles}


def _plug(nic: Nic, plugs: Plugs, job: NicJob) -> None:
    for function, text in job.functions.items():
        setting = job.settings.get(function, default_setting(function))
        nic.enable(function, setting)
        link = link_of(text)
        plugs.plug(function, link)
        kind, _, argument = link.partition(":")
        if kind == "tap":
            netlink.set_mac(argument.partition(",")[0], mac_text(setting.mac))
