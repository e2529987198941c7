"""What runs of the emulator's own in nodes, as the simulation controller sees it: the nodes' processes in the manner of
the thesis, load generators, and the streams between nodes."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headrace.emulator import kernel
from headrace.emulator.node import Node
from headrace.emulator.processes.component import CONTROL, MESSENGER, MPHY, Seat
from headrace.emulator.processes.control_processor import management_address
from headrace.emulator.processes.loop import ask, tell
from headrace.emulator.processes.streams import Stream
from headrace.emulator.scenario import Scenario, address
from headrace.emulator.traffic import Demand, read_demand
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
        self._streams: dict[str, tuple[Demand, Stream]] = {}
        self._last: dict[str, dict[str, Any]] = {}

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
        """Starts the processes, which find their links in the nodes' status files, and the scenario's streams. Raises
        HeadraceError."""
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
        for demand in scenario.traffic:
            self._start(demand)

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
        node = self._node(name)
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
        path = self._socket(self._node(name), role)
        said = ask([path], request).get(path, {"error": "it doesn't answer"})
        if "error" in said:
            raise HeadraceError(f"node {name}: {role}: {said['error']}")
        return said

    # ---------------------------------------------------------------------------------------------------- traffic

    def demand(self, table: Mapping[str, Any]) -> str:
        """Starts a stream that is asked for; gives its name. Raises HeadraceError."""
        given = dict(table)
        first = name = str(given.pop("name", None) or f"{given.get('from')}-{given.get('to')}")
        number = 1
        while name in self._streams:
            number += 1
            name = f"{first}#{number}"
        self._start(read_demand(name, given, self._scenario.nodes))
        return name

    def stop(self, name: str) -> None:
        """No more messages of a stream. Raises HeadraceError."""
        demand, stream = self._stream(name)
        node = self._nodes[demand.source]
        ask([self._socket(node, self._role)], {"do": "stop", "stream": stream.number})

    def streams(self, only: str | None = None) -> list[dict[str, Any]]:
        """How streams are, all or one: sent = received + lost + in_flight. ``acknowledged`` is the source's account,
        ``throughput_bps`` and ``latency_s`` are the destination's. Raises HeadraceError."""
        wanted = self._streams if only is None else {only: self._stream(only)}
        nodes = {index for demand, _ in wanted.values() for index in (demand.source, demand.destination)}
        paths = {index: self._socket(self._nodes[index], self._role) for index in sorted(nodes)}
        said = ask(paths.values(), {"do": "stats"}) if paths else {}
        return [self._account(name, demand, stream, paths, said) for name, (demand, stream) in wanted.items()]

    def _account(
        self, name: str, demand: Demand, stream: Stream, paths: Mapping[int, Path], said: Mapping[Path, Any]
    ) -> dict[str, Any]:
        number = str(stream.number)
        sending = said.get(paths[demand.source], {}).get("sending", {}).get(number)
        receiving = said.get(paths[demand.destination], {}).get("receiving", {}).get(number)
        silent = [self._nodes[each].name for each in (demand.source, demand.destination) if paths[each] not in said]
        self._last[name] = self._last.get(name, _NOTHING) | (sending or {}) | (receiving or {})
        found = self._last[name]
        names = self._scenario.nodes
        return {
            "name": name,
            "from": names[demand.source],
            "to": names[demand.destination],
            "kind": demand.kind,
            "size": demand.size,
            "interval_s": demand.interval_s,
            **found,
            **_balance(found),
            "silent": silent,
        }

    def _start(self, demand: Demand) -> None:
        if self._role == LOAD:
            for index in (demand.source, demand.destination):
                self._load(self._nodes[index])
        stream = Stream(
            number=len(self._streams) + 1,
            source=demand.source + 1,
            destination=demand.destination + 1,
            address=address(demand.destination),
            kind=demand.kind,
            size=demand.size,
            interval_s=demand.interval_s,
            count=demand.count,
            duration_s=demand.duration_s,
            start_s=demand.start_s,
        )
        node = self._nodes[demand.source]
        self.ask(node.name, self._role, {"do": "stream", "stream": asdict(stream)})
        self._streams[demand.name] = demand, stream

    def _load(self, node: Node) -> None:
        if LOAD not in node.programs:
            node.tell(LOAD)
            while LOAD not in node.programs:
                self._hear(node)

    @property
    def _role(self) -> str:
        """Who makes traffic."""
        return MESSENGER if self._roles else LOAD

    def _stream(self, name: str) -> tuple[Demand, Stream]:
        try:
            return self._streams[name]
        except KeyError:
            raise HeadraceError(f"no stream {name}: there are {', '.join(self._streams) or 'none'}", 2) from None

    def _node(self, name: str) -> Node:
        try:
            return self._nodes[self._scenario.nodes.index(name)]
        except ValueError:
            raise HeadraceError(f"no node {name}", 2) from None

    def _socket(self, node: Node, role: str) -> Path:
        return node.folder / "run/headrace" / f"{role}.sock"


def _balance(found: Mapping[str, Any]) -> dict[str, int]:
    """What has come isn't lost and no longer under way, even where the source hasn't heard of it."""
    received = max(found["received"], found["acknowledged"])  # the source may have been asked later
    unheard = received - found["acknowledged"]
    arrived = min(unheard, found["in_flight"])
    return {
        "received": received,
        "in_flight": found["in_flight"] - arrived,
        "lost": found["lost"] - (unheard - arrived),
    }


_NOTHING: dict[str, Any] = {
    "sent": 0,
    "acknowledged": 0,
    "lost": 0,
    "in_flight": 0,
    "repeated": 0,
    "skipped": 0,
    "stopped": False,
    "done": False,
    "received": 0,
    "bytes": 0,
    "duplicates": 0,
    "hops": 0,
    "throughput_bps": 0.0,
    "latency_s": {},
}


def total(streams: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Messages of all streams."""
    keys = ("sent", "acknowledged", "lost", "in_flight", "received")
    those = list(streams)
    return {key: sum(int(each[key]) for each in those) for key in keys}
