"""What runs of the emulator's own in nodes, as the simulation controller sees it: the nodes' processes in the manner of
the thesis, and load generators."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headrace.emulator import kernel
from headrace.emulator.accounts import Said
from headrace.emulator.node import Node
from headrace.emulator.processes.component import CONTROL, MESSENGER, MPHY, Seat
from headrace.emulator.processes.control_processor import management_address
from headrace.emulator.processes.loop import ask, tell
from headrace.emulator.scenario import Scenario, address
from headrace.emulator.share import Share, join_bridges
from headrace.emulator.wiring import index_of
from headrace.errors import HeadraceError

LOAD = "load"
MEET_S, LOOK_S = 30.0, 0.02
_MANAGEMENT = "mgmt"


def roles(scenario: Scenario) -> list[str]:
    """Of a node's own processes."""
    if scenario.processes == "none":
        return []
    phys = [f"phy{phy}" for phy in range(scenario.phys)]
    return [CONTROL, MESSENGER, *phys, *([MPHY] if scenario.coordinator is not None else [])]


def traffic_role(scenario: Scenario) -> str:
    """Of the process of a node that makes its traffic."""
    return LOAD if scenario.processes == "none" else MESSENGER


class Inside:
    """The own processes of these nodes. ``hear``: notes the next thing that a node says."""

    def __init__(self, scenario: Scenario, nodes: Sequence[Node], hear: Callable[[Node], Any]) -> None:
        self._scenario, self._nodes, self._hear = scenario, nodes, hear
        self._roles = roles(scenario)
        self._links: list[Any] = [None] * len(scenario.nodes)

    # -------------------------------------------------------------------------------------------------- processes

    def build(self, share: Share | None, network: int) -> None:
        """The management network, which no physics is in; it is that of all hosts. ``network``: as of
        ``SharedFabric``. Raises HeadraceError."""
        if MPHY not in self._roles:
            return
        lines = [f"link add {_MANAGEMENT} type bridge mcast_snooping 0", f"link set {_MANAGEMENT} up"]
        for node in self._nodes:
            lines += [
                f"link add name m{node.index} type veth peer name mgmt0 netns {node.pid}",
                f"link set m{node.index} master {_MANAGEMENT} up",
            ]
        kernel.batch("ip", lines)
        if share is not None:
            join_bridges(share, network, _MANAGEMENT)
        for node in self._nodes:
            own = f"{management_address(node.index + 1)}/16"
            node.tell("ip", lines=[f"addr add {own} dev mgmt0", "link set mgmt0 up"], force=False, answer=False)

    def start(self) -> None:
        """Starts the processes, which find their links in the nodes' status files. Raises HeadraceError."""
        scenario = self._scenario
        coordinator = 0 if scenario.coordinator is None else scenario.coordinator + 1
        endpoints = tuple(index + 1 for index in scenario.endpoints)
        for node in self._nodes if self._roles else ():
            seats = [
                Seat(role, host, node.index + 1, node.name, address(node.index), coordinator, endpoints)
                for host, role in enumerate(self._roles, 1)
            ]
            node.tell("components", seats=[asdict(seat) for seat in seats])
        for node in self._nodes if self._roles else ():
            while not node.programs.keys() >= set(self._roles):
                self._hear(node)

    def wait(self) -> None:
        """Until the processes have found each other and their neighbours; some may not, such as over links that lose
        all."""
        waiting = list(self._nodes)
        deadline = time.monotonic() + MEET_S
        with selectors.DefaultSelector() as selector:
            for node in self._nodes:
                selector.register(node, selectors.EVENT_READ, node)
            while (waiting := self._apart(waiting)) and time.monotonic() < deadline:
                for key, _ in selector.select(LOOK_S):
                    self._hear(key.data)  # such as that a process has failed

    def apart(self) -> list[str]:
        """The nodes whose processes haven't found each other or their neighbours yet."""
        return [node.name for node in self._apart(self._nodes)]

    def _apart(self, nodes: Sequence[Node]) -> list[Node]:
        if not self._roles:
            return []
        paths = [self._socket(node, CONTROL) for node in nodes]
        said = ask(paths, {"do": "ready", "roles": [role for role in self._roles if role != CONTROL]})
        return [node for node, path in zip(nodes, paths, strict=True) if said.get(path, {}).get("missing", [""])]

    def tell_links(self, node: Node, links: list[dict[str, Any]]) -> None:
        """A node's links; its control processor hears when others are joined."""
        joined = [(link["phy"], link["number"], link["address"]) for link in links]
        if self._roles and joined != self._links[node.index]:
            self._links[node.index] = joined
            tell(self._socket(node, CONTROL), {"do": "links", "links": links})

    def stats(self, name: str) -> list[dict[str, Any]]:
        """Of the own processes of a node. Raises HeadraceError."""
        node = self.node(name)
        own = [role for role in (*self._roles, LOAD) if role in node.programs and role not in node.ends]
        if not own:
            raise HeadraceError(
                f'node {name} has no processes of the emulator\'s own: they come with processes = "manet" or traffic'
            )
        found = ask([self._socket(node, role) for role in own], {"do": "stats"})
        return [found.get(self._socket(node, role), {"role": role, "error": "it doesn't answer"}) for role in own]

    def reached(self) -> dict[str, Any] | None:
        """Which nodes say that they have a route to the master coordinator; None: there is none here."""
        node = next((node for node in self._nodes if node.index == self._scenario.coordinator), None)
        if node is None:
            return None
        path = self._socket(node, CONTROL)
        reports = ask([path], {"do": "stats"}).get(path, {}).get("reports", {})
        reached = [each["name"] for each in reports.values() if each["hops_to_coordinator"] is not None]
        return {"node": node.name, "heard": len(reports), "reached": reached, "of": len(self._scenario.nodes) - 1}

    def ask(self, name: str, role: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Asks one process of a node. Raises HeadraceError."""
        path = self._socket(self.node(name), role)
        said = ask([path], request).get(path, {"error": "it doesn't answer"})
        if "error" in said:
            raise HeadraceError(f"node {name}: {role}: {said['error']}")
        return said

    # ---------------------------------------------------------------------------------------------------- traffic

    def load(self, nodes: Sequence[str]) -> None:
        """Starts load generators, where traffic is made by them and they aren't there. Raises HeadraceError."""
        if traffic_role(self._scenario) == LOAD:
            for name in nodes:
                self._load(self.node(name))

    def request(self, node: str, request: Mapping[str, Any]) -> None:
        """Asks who makes a node's traffic for something. Raises HeadraceError."""
        self.ask(node, traffic_role(self._scenario), request)

    def hear(self, nodes: Sequence[str]) -> dict[str, Said]:
        """What those say of their streams who make the traffic of these nodes. Raises HeadraceError."""
        role = traffic_role(self._scenario)
        paths = {self._socket(self.node(name), role): name for name in nodes}
        return {paths[path]: said for path, said in ask(paths, {"do": "stats"}).items()}

    def one_clock(self, _: Sequence[str]) -> bool:
        """All of a machine have the same one."""
        return True

    def gone(self, _: str) -> bool:
        """Where one is, the emulation is, too."""
        return False

    def _load(self, node: Node) -> None:
        if LOAD not in node.programs:
            node.tell(LOAD)
            while LOAD not in node.programs:
                self._hear(node)

    def node(self, name: str) -> Node:
        """By its name. Raises HeadraceError where it isn't here."""
        index = index_of(self._scenario.nodes, name)
        for node in self._nodes:
            if node.index == index:
                return node
        raise HeadraceError(f"node {name} is on another host")

    def _socket(self, node: Node, role: str) -> Path:
        return node.folder / "run/headrace" / f"{role}.sock"
