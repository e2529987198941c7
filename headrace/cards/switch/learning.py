"""A switch that learns where stations are, without a controller: a flow for each pair of stations that talk."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from headrace.cards.switch import flows
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.flow_tables import Filter
from headrace.cards.switch.flows import (
    Action,
    ActionKind,
    Count,
    Flow,
    Instructions,
    Match,
    Oxm,
    PacketIn,
    RefusedError,
)
from headrace.cards.switch.openflow.constants import ANY_GROUP, NO_BUFFER, FlowCommand, PortReason, PortStatus, Removal
from headrace.cards.switch.openflow.oxm import F
from headrace.cards.switch.openflow.replies import Port
from headrace.cards.switch.openflow.requests import FlowMod, PacketOut

IDLE_S = 60
"""After that time without a packet a pair's flow ends."""
AGE_S = 300
"""After that time any flow ends, and a station that was not heard of is forgotten."""
STATIONS = 8192
PRIORITY = 1

_GROUP_BIT = 1 << 40  # of an address as a number: broadcast or multicast
_NS = 1_000_000_000


class _Station(NamedTuple):
    port: int
    seen_ns: int


class Learning:
    """Makes a switch learn, from its first packet on. What its tables have is removed; table 0 is used."""

    def __init__(self, switch: OpenFlowSwitch) -> None:
        self._switch = switch
        self._stations: dict[int, _Station] = {}
        self._pairs: Counter[int] = Counter()  # of flows, by source
        switch.flow_tables.remove(list(switch.flow_tables), Removal.DELETE)
        switch.listeners.append(self)
        self._add((), 0, Action(ActionKind.OUTPUT, flows.CONTROLLER, flows.MAX_LENGTH))

    def packet_in(self, packet: PacketIn) -> None:
        """Learns from a packet that no pair has, and sends it on."""
        destination, source = (int.from_bytes(packet.data[at : at + 6], "big") for at in (0, 6))
        if not source & _GROUP_BIT:
            self._learn(source, packet.in_port)
        port = self._port_of(destination)
        if port == packet.in_port:
            return  # it has been there already
        if port is not None and not source & _GROUP_BIT:
            self._connect(packet.in_port, source, destination, port)
        action = Action(ActionKind.OUTPUT, flows.FLOOD if port is None else port)
        self._switch.packet_out(PacketOut(NO_BUFFER, packet.in_port, (action,), packet.data))

    def flow_removed(self, flow: Flow, why: Removal, count: Count, age_ns: int) -> None:  # noqa: ARG002
        """A station with no pair left begins to age."""
        source = {field: value for field, value, _ in flow.match}.get(F.ETH_SRC)
        if source is not None:
            self._pairs[source] -= 1
            if source in self._stations and count.used_ns:
                self._stations[source] = self._stations[source]._replace(seen_ns=count.used_ns)

    def port_status(self, reason: PortReason, port: Port) -> None:  # noqa: ARG002
        """Stations behind a port that is down may turn up elsewhere."""
        if not port.state & PortStatus.LIVE:
            for address in [one for one, station in self._stations.items() if station.port == port.number]:
                self._forget(address)

    def _learn(self, address: int, port: int) -> None:
        known = self._stations.pop(address, None)
        if known is not None and known.port != port:
            self._forget(address)
        elif len(self._stations) >= STATIONS:
            self._forget(next(iter(self._stations)))
        self._stations[address] = _Station(port, self._switch.datapath.now_ns())

    def _forget(self, address: int) -> None:
        """What went to a station, and what came from where it was, is learned anew."""
        self._stations.pop(address, None)
        for field in (F.ETH_DST, F.ETH_SRC):
            chosen = self._switch.flow_tables.select(Filter(0, (Oxm(field, address),)))
            self._switch.flow_tables.remove(chosen, Removal.DELETE)

    def _port_of(self, address: int) -> int | None:
        station = self._stations.get(address)
        if station is None:
            return None
        if not self._pairs[address] and self._switch.datapath.now_ns() - station.seen_ns > AGE_S * _NS:
            self._forget(address)
            return None
        return station.port

    def _connect(self, in_port: int, source: int, destination: int, port: int) -> None:
        match = (Oxm(F.IN_PORT, in_port), Oxm(F.ETH_DST, destination), Oxm(F.ETH_SRC, source))
        if self._switch.flow_tables.select(Filter(0, match, PRIORITY)):
            return  # the packet came before the flow did
        try:
            self._add(match, PRIORITY, Action(ActionKind.OUTPUT, port), IDLE_S, AGE_S)
        except RefusedError:
            return  # the table is full: the pair's packets go this way until there is room
        self._pairs[source] += 1

    def _add(self, match: Match, priority: int, action: Action, idle_s: int = 0, hard_s: int = 0) -> None:
        self._switch.flow_tables.apply(
            FlowMod(
                cookie=0,
                cookie_mask=0,
                table=0,
                command=FlowCommand.ADD,
                idle_s=idle_s,
                hard_s=hard_s,
                priority=priority,
                buffer=NO_BUFFER,
                out_port=flows.ANY,
                out_group=ANY_GROUP,
                flags=0,
                match=match,
                instructions=Instructions(apply=(action,)),
            )
        )
