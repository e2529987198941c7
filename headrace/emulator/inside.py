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
from headrace.emulator.wiring import index_of
from headrace.errors import HeadraceError

LOAD = "load"
_MANAGEMENT = "mgmt"
_MEET_S, _LOOK_S = 30.0, 0.02


def roles(scenario: Scenario) -> list[str]:
    """Of a node's own processes."""
    if scenario.processes == "none":
        return []
    phys = [f"phy{phy}" for phy in range(scenario.phys)]
    return [CONTROL, MESSENGER, *phys, *([MPHY] if scenario.coordinator is not None else [])]


class Inside:
    """The own processes of all nodes. ``hear``: notes the next thing that a node says."""

    def __init__(self, scenario: Scenario, nodes: Sequence[Node], hear: Callable[[Node], Any]) -> None:
        self._scenario, self._nodes, self._hear = scenario, nodes, hear
        self._roles = roles(scenario)
        self._links: list[Any] = [None] * len(scenario.nodes)

    # -------------------------------------------------------------------------------------------------- processes

    def build(self) -> None:
        """The management network, which no physics is in. Raises HeadraceError."""
        if MPHY not in self._roles:
            return
        lines = [f"link add {_MANAGEMENT} type bridge mcast_snooping 0", f"link set {_MANAGEMENT} up"]
        for node in self._nodes:
            lines += [
                f"link add name m{node.index} type veth peer name mgmt0 netns {node.pid}",
                f"link set m{node.index} master {_MANAGEMENT} up",
            ]
        kernel.batch("ip", lines)
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
        if self._roles:
            self._wait()

    def _wait(self) -> None:
        """Until the processes have found each other and their neighbours; some may not, such as over links that lose
        all."""
        waiting = {self._socket(node, CONTROL) for node in self._nodes}
        others = [role for role in self._roles if role != CONTROL]
        deadline = time.monotonic() + _MEET_S
        with selectors.DefaultSelector() as selector:
            for node in self._nodes:
                selector.register(node, selectors.EVENT_READ, node)
            while waiting and time.monotonic() < deadline:
                said = ask(waiting, {"do": "ready", "roles": others})
                waiting -= {path for path, answer in said.items() if not answer.get("missing", [""])}
                for key, _ in selector.select(_LOOK_S):
                    self._hear(key.data)  # such as that a process has failed

    def tell_links(self, index: int, links: list[dict[str, Any]]) -> None:
        """A node's links; its control processor hears when others are joined."""
        joined = [(link["phy"], link["number"], link["address"]) for link in links]
        if self._roles and joined != self._links[index]:
            self._links[index] = joined
            tell(self._socket(self._nodes[index], CONTROL), {"do": "links", "links": links})

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
        """Which nodes say that they have a route to the master coordinator; None: there is none."""
        if MPHY not in self._roles or self._scenario.coordinator is None:
            return None
        node = self._nodes[self._scenario.coordinator]
        path = self._socket(node, CONTROL)
        reports = ask([path], {"do": "stats"}).get(path, {}).get("reports", {})
        reached = [each["name"] for each in reports.values() if each["hops_to_coordinator"] is not None]
        return {"node": node.name, "heard": len(reports), "reached": reached, "of": len(self._nodes) - 1}

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
        if self._role == LOAD:
            for name in nodes:
                self._load(self.node(name))

    def request(self, node: str, request: Mapping[str, Any]) -> None:
        """Asks who makes a node's traffic for something. Raises HeadraceError."""
        self.ask(node, self._role, request)

    def hear(self, nodes: Sequence[str]) -> dict[str, Said]:
        """What those say of their streams who make the traffic of these nodes. Raises HeadraceError."""
        paths = {self._socket(self.node(name), self._role): name for name in nodes}
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

    @property
    def _role(self) -> str:
        """Who makes traffic."""
        return MESSENGER if self._roles else LOAD

    def node(self, name: str) -> Node:
        """By its name. Raises HeadraceError where it isn't here."""
        index = index_of(self._scenario.nodes, name)
        for node in self._nodes:
            if node.index == index:
                return node
        raise HeadraceError(f"node {name} is on another host")

    def _socket(self, node: Node, role: str) -> Path:
        return node.folder / "run/headrace" / f"{role}.sock"
