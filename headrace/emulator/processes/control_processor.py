"""The control processor of a node: which of its processes there are, whom the PHYs are connected to, and the routes.

The simulation controller tells it the links; it tells each PHY whom to connect to, runs the routing protocol over the
connections, and tells all processes of the node the routes. That of the master coordinator hears from all nodes how
they are, and announces itself, so that all have a route to it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from headrace.emulator.processes import aodv, wire
from headrace.emulator.processes.component import BEAT_S, CONTROL, MPHY, Component, Seat, now_s
from headrace.emulator.processes.loop import FOLDER
from headrace.emulator.processes.wire import Kind, Packet, encode

ANNOUNCE_S = 5.0
_TICK_S = 0.5
_TELL_S = 0.005  # changes of routes that come together are told together
_SILENT_BEATS = 5
_MESSAGES: dict[Kind, type[aodv.Message]] = {
    Kind.REQUEST: aodv.Request,
    Kind.REPLY: aodv.Reply,
    Kind.ERROR: aodv.Error,
}
_KINDS = {message: kind for kind, message in _MESSAGES.items()}


def management_address(node: int) -> str:
    """A node's address in the management network."""
    return f"10.255.{node >> 8}.{node & 255}"


class ControlProcessor(Component):
    """``control``."""

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self._router = aodv.Router(seat.node)
        self._roles: dict[str, dict[str, Any]] = {}
        self._links: dict[str, tuple[int, str]] = {}
        """For each PHY whom it shall be connected to, and that one's address."""
        self._connections: dict[int, str] = {}
        """For each neighbour that there is a connection to the PHY."""
        self._reports: dict[int, dict[str, Any]] = {}
        self._telling = False
        if seat.coordinator and seat.node != seat.coordinator:
            self._links[MPHY] = seat.coordinator, management_address(seat.coordinator)
        self.loop.every(BEAT_S, self._beat)
        self.loop.every(_TICK_S, self._tick)
        if seat.node == seat.coordinator:
            self.loop.every(ANNOUNCE_S, self._announce)
        elif seat.coordinator:
            self.loop.every(BEAT_S, self._report)
        self._set_links(json.loads((FOLDER / "links.json").read_text())["links"])

    # --------------------------------------------------------------------------------------------------- the node

    def hear(self, packet: Packet, role: str) -> None:  # noqa: ARG002
        """From processes of the node, and by PHYs from neighbours. Raises Malformed, KeyError, TypeError."""
        match packet.kind:
            case Kind.STATE:
                self._hear_state(wire.from_json(packet.body))
            case Kind.WANT:
                self._router.want(packet.destination, now_s())
                self._act()
            case Kind.NO_ROUTE:
                self._router.no_route(packet.destination, packet.via)
                self._act()
            case Kind.REQUEST | Kind.REPLY | Kind.ERROR:
                message = aodv.decode(_MESSAGES[packet.kind], packet.body)
                self._router.hear(packet.via, message, now_s())
                self._act()
            case Kind.REPORT:
                self._reports[packet.via] = wire.from_json(packet.body) | {"heard_s": time.monotonic()}

    def _hear_state(self, state: Mapping[str, Any]) -> None:
        role, peers = str(state["role"]), [int(peer) for peer in state["peers"]]
        first = role not in self._roles
        self._roles[role] = {"heard_s": time.monotonic(), "peers": peers}
        if role == MPHY:  # who is no longer connected is no longer known
            self._reports = {node: report for node, report in self._reports.items() if node in peers}
        if role in self._links and (first or self._links[role][0] not in peers):
            self._tell_phy(role)
        if int(state["version"]) != self.version:
            self._tell_routes(role)
        self._compare()

    def _set_links(self, links: list[dict[str, Any]]) -> None:
        """What the simulation controller says."""
        wanted = {str(link["phy"]): (int(link["number"]), str(link["address"])) for link in links}
        if MPHY in self._links:
            wanted[MPHY] = self._links[MPHY]
        before, self._links = self._links, wanted
        for role in before.keys() | wanted.keys():
            if before.get(role) != wanted.get(role):
                self._tell_phy(role)
        self._compare()

    def _tell_phy(self, role: str) -> None:
        if role in self._roles:
            peer, address = self._links.get(role, (0, ""))
            connects = role == MPHY or self.seat.node < peer
            self.say(role, Kind.LINK, {"peer": peer, "address": address, "connects": connects})

    def _compare(self) -> None:
        """Makes the router's links the connections that there are and shall be."""
        found = {}
        for role, state in self._roles.items():
            for peer in state["peers"]:
                if role == MPHY:  # it carries messages between the master coordinator and routing endpoints
                    is_link = self.seat.is_way_out and peer in (*self.seat.endpoints, self.seat.coordinator)
                else:
                    is_link = self._links.get(role, (0, ""))[0] == peer
                if is_link:
                    found[peer] = role
        before, self._connections = self._connections, found
        for peer in before.keys() - found.keys():
            self._router.link_down(peer, now_s())
        for peer in found.keys() - before.keys():
            self._router.link_up(peer, now_s())
        if before != found:
            self._act()

    def _beat(self) -> None:
        self.say_to_all(Kind.IS, {"role": CONTROL})
        limit = time.monotonic() - _SILENT_BEATS * BEAT_S
        for role in [role for role, state in self._roles.items() if state["heard_s"] < limit]:
            del self._roles[role]
            self._compare()

    # ---------------------------------------------------------------------------------------------------- routing

    def _tick(self) -> None:
        self._router.tick(now_s())
        self._act()

    def _announce(self) -> None:
        self._router.announce(now_s())
        self._act()

    def _act(self) -> None:
        """Sends what the router wants sent, and tells routes that have changed."""
        for peer, message in self._router.take():
            if peer in self._connections:
                packet = Packet(_KINDS[type(message)], self.seat.node, peer, via=peer, body=aodv.encode(message))
                self.send(self._connections[peer], encode(packet))
        table = self._router.table()
        routes = {to: (via, self._connections[via]) for to, via in table.items() if via in self._connections}
        if routes != self.routes:
            self.routes = routes
            self.version += 1
            if not self._telling:
                self._telling = True
                self.loop.later(_TELL_S, self._tell_all)

    def _tell_all(self) -> None:
        self._telling = False
        for role in self._roles:
            self._tell_routes(role)

    def _tell_routes(self, role: str) -> None:
        self.say(role, Kind.TABLE, {"version": self.version, "routes": self.routes})

    # ----------------------------------------------------------------------------------------------- what is told

    def _report(self) -> None:
        """Tells the master coordinator how this node is."""
        way_out = self._router.routes.get(self.seat.coordinator)
        report = {
            "name": self.seat.name,
            "neighbours": sorted(peer for peer, role in self._connections.items() if role != MPHY),
            "routes": len(self.routes),
            "hops_to_coordinator": way_out.hops if way_out and way_out.valid else None,
        }
        to = self.seat.coordinator
        self.say(MPHY, Kind.REPORT, report, destination=to, via=to)

    def request(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """``links``: the node's links have changed; ``ready``: whether all its processes are there, and connections for
        all links. Raises ValueError."""
        match request:
            case {"do": "links", "links": links}:
                self._set_links(links)
                return {}
            case {"do": "ready", "roles": roles}:
                missing = [role for role in roles if role not in self._roles]
                peers = {role: state["peers"] for role, state in self._roles.items()}
                missing += [role for role, (peer, _) in self._links.items() if peer not in peers.get(role, ())]
                return {"missing": missing}
        return None

    def stats(self) -> dict[str, Any]:
        """Processes, connections and routes; at the master coordinator also what nodes have reported."""
        now = time.monotonic()
        found = {
            "processes": {role: state["peers"] for role, state in sorted(self._roles.items())},
            "connections": {str(peer): role for peer, role in sorted(self._connections.items())},
            "routes": [
                {
                    "to": to,
                    "via": route.next_hop,
                    "phy": self._connections.get(route.next_hop),
                    "hops": route.hops,
                    "sequence": route.sequence,
                }
                for to, route in sorted(self._router.routes.items())
                if route.valid
            ],
            "aodv": self._router.counts,
        }
        if self.seat.node == self.seat.coordinator:
            found["reports"] = {
                str(node): {key: value for key, value in report.items() if key != "heard_s"}
                | {"age_s": now - report["heard_s"]}
                for node, report in sorted(self._reports.items())
            }
        return found
