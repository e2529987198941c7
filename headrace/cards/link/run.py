"""Runs the link card: packets between links of its ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from headrace.card.attended import run_attended
from headrace.card.control import asking_at, open_control
from headrace.card.process import StopRequests, Tell, drop_rights
from headrace.cards.link.card import PORTS, open_link_card
from headrace.cards.link.service import CONTROL, Service
from headrace.engines.netem import Netem
from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.port_link import port_link

_LIVE_BPS = 400e9  # more than the card takes: no cycles go by in which a live link has packets and their bytes are late
_NOTHING = "null"


@dataclass(frozen=True)
class LinkJob:
    """What ports receive, by their numbers from 0 (``sources``; a live one is its port's sink, too), and the capture
    files of what they send (``sinks``). ``netem``: what happens to packets; ``settings``: to those that come from a
    port instead. ``rate``: "recorded", "lossless", "line" or bits per second; packets without times come at the line's
    rate where it is "recorded". ``seconds`` of the card's time end the run. ``control``: the path of its control
    socket."""

    sources: Mapping[int, str]
    netem: Netem = field(default_factory=Netem)
    settings: Mapping[int, Netem] = field(default_factory=dict)
    sinks: Mapping[int, str] = field(default_factory=dict)
    seed: int = 1
    rate: str | float = "recorded"
    seconds: float | None = None
    control: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


def ports_of(job: LinkJob) -> int:
    """Ports that the card has: as its parameters say, otherwise as many as are named, in pairs. Raises HeadraceError
    for one that isn't there."""
    highest = max((*job.sources, *job.sinks, *job.settings), default=0)
    said = str(job.parameters.get("PORTS", (highest | 1) + 1))
    if not said.isdecimal() or not 0 < int(said) <= len(PORTS):
        raise HeadraceError(f"-P PORTS={said}: not 2, 4, 6 or 8", 2)
    if highest >= int(said):
        raise HeadraceError(f"port {highest}: the card has ports 0 to {int(said) - 1}", 2)
    return int(said)


def run(job: LinkJob, progress: Callable[[int], None] | None = None, tell: Tell | None = None) -> dict[str, Any]:
    """Runs until all packets are through; with live links, until SIGINT or SIGTERM. Gives what ``Service.stats`` does,
    and ``cycles``. ``progress`` gets the number of packets received, ``tell`` lines for the user. Raises HeadraceError
    where a setting is wrong or a file can't be read."""
    say = tell or (lambda _: None)
    sources = {port: port_link(text) for port, text in job.sources.items() if text != _NOTHING}
    lossless = job.rate == "lossless"
    with (
        open_link_card(ports_of(job), job.seed, job.parameters, progress=progress is not None) as (card, links),
        StopRequests() as stop,
    ):
        live = [port for port, source in sources.items() if source.live]
        for port in live:
            card.source(port, sources[port].link)
            card.sink(port, sources[port].link)
            card.set_rate(port, _LIVE_BPS)
        bpf.load()
        drop_rights()
        for port, path in job.sinks.items():
            card.sink(port, f"pcap:{path}", precision="nano", timestamps="card")
        for port in range(len(links)):
            links.set(port, job.settings.get(port, job.netem))
        for port, source in sources.items():
            links.hold_link(port, lossless)
            card.flow_control(port, lossless)
            if not source.live:
                at_line = lossless or (job.rate == "recorded" and not source.has_times)
                card.source(port, source.link, timing="line" if at_line else job.rate)
        if live:
            card.hang_limit(0)
        end_ns = None if job.seconds is None else card.stats().time_ns + round(job.seconds * 1e9)
        service = Service(links)
        with open_control(CONTROL, job.control, bool(live), say) as control:
            attend, asking = partial(service.attend, control), partial(asking_at, control)
            run_attended(card, stop, attend, asking, bool(live), say, end_ns, progress)
        return {**service.stats(), "cycles": card.stats().cycles}
