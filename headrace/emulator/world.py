"""The simulation controller: it builds nodes and fabric, and at each time step makes the links what physics says.

It is process 1 of namespaces of its own: with it goes all that it has made.
"""

from __future__ import annotations

import gc
import json
import math
import os
import selectors
import signal
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.card.lines import Answer
from headrace.emulator import control, kernel, telemetry, timeline
from headrace.emulator.accounts import Accounts
from headrace.emulator.fabric import Fabric, Links, port_name
from headrace.emulator.fabric.kinds import open_fabric
from headrace.emulator.fidelity import Fidelity
from headrace.emulator.hardware import attach, silent
from headrace.emulator.inside import Inside
from headrace.emulator.linking import Change, Course
from headrace.emulator.node import Node, addresses, cable
from headrace.emulator.radio import Pair
from headrace.emulator.scenario import Scenario, address
from headrace.emulator.share import Share, SharedFabric
from headrace.emulator.timeline import Step, Timeline
from headrace.emulator.wiring import Wire, described, next_hops, reachable
from headrace.errors import HeadraceError

BASE = Path("/run")
_BEHIND = 4096  # metric of routes to neighbours that are there without routing
_STOP_S = 2.0  # that programs have to end by themselves


class World:
    """An emulation. ``keeper`` hears what there is to tell, and its end stops the emulation. ``hold``: steps come when
    they are asked for."""

    def __init__(
        self,
        scenario: Scenario,
        steps: Timeline,
        keeper: socket.socket,
        listener: socket.socket,
        *,
        hold: bool = False,
        record: timeline.Record | None = None,
        share: Share | None = None,
        network: int = -1,
        roots: Mapping[int, Path] | None = None,
    ) -> None:
        self.scenario, self._keeper, self._clients = scenario, keeper, control.clients(listener)
        self._hold, self._record = hold, record
        self._share, self._network, self._roots = share, network, roots or {}
        self._nodes: list[Node] = []  # that are here
        self._course = Course(scenario, steps)
        self._routes: list[dict[int, tuple[int, int]]] = [{} for _ in scenario.nodes]
        self._number, self._step = -1, Step(0.0, [], {})
        self._coverage: list[float] = []
        self._changes = 0
        self._stopping = False
        self._done = False  # no more steps
        self._fidelity = Fidelity(scenario.step_s)
        self._start_s = 0.0
        self._failed: HeadraceError | None = None
        self._inside = Inside(scenario, self._nodes, self._hear)
        self._traffic = Accounts(scenario.nodes, self._inside)

    def run(self) -> dict[str, Any]:
        """All of it; gives the report. Raises HeadraceError for what has broken it off."""
        began = time.monotonic()
        self._build()
        with Links(self._fabric(), self._ports) as links:
            self._links = links
            built_s = time.monotonic() - began
            self._start_s = time.monotonic()
            self._advance()
            self._start_programs()
            self._inside.start()
            if self._share is None:
                self._inside.wait()  # over several hosts it is waited for all of them
            for demand in self.scenario.traffic if self._share is None else ():
                self._traffic.start(demand)
            self._tell("up", built_s=built_s)
            self._loop()
            traffic = self._traffic.streams()
            self._stop_programs()
            return self._report(built_s) | {"traffic": traffic}

    # ---------------------------------------------------------------------------------------------- building

    def _fabric(self) -> Fabric:
        scenario = self.scenario
        if self._share is not None:
            return SharedFabric(self._share, scenario.phys, self._network)
        return open_fabric(scenario.fabric, scenario.ports, scenario.fabric_parameters, scenario.fabric_cards)

    @property
    def _ports(self) -> list[int]:
        """Those of the nodes that are here."""
        phys = self.scenario.phys
        return [node.index * phys + phy for node in self._nodes for phy in range(phys)]

    def _build(self) -> None:
        scenario = self.scenario
        self._tell("building", part="network", done=0, of=len(scenario.nodes))
        gc.collect()
        gc.freeze()  # nodes and their processes are forks: what there is now is shared
        kernel.batch("ip", ["link set lo up"])
        kernel.no_ipv6()
        for index in range(len(scenario.nodes)) if self._share is None else self._share.nodes():
            name = scenario.nodes[index]
            self._nodes.append(Node(index, name, BASE / "nodes" / name, self._hosts, self._roots.get(index)))
        self._built("nodes")
        phys = scenario.phys
        kernel.batch("ip", [cable(node, node.index * phys + phy, phy) for node in self._nodes for phy in range(phys)])
        Links.prepare(self._ports)
        for node in self._nodes:
            if scenario.fabric != "software":
                node.tell("plain", phys=phys)
            lines = silent(phys) if node.index in scenario.devices else addresses(node.index, phys)
            node.tell("ip", lines=lines, force=False, answer=True)
        self._built("addresses")
        attach(scenario.hardware, self._nodes, phys, self._network)
        self._inside.build(self._share, self._network)

    def _built(self, part: str) -> None:
        """Waits for all nodes, and tells of each."""
        for node in self._nodes:
            node.hear()
            self._tell("building", part=part, done=self._nodes.index(node) + 1, of=len(self._nodes))

    @property
    def _hosts(self) -> str:
        """The nodes' /etc/hosts."""
        own = "".join(f"{address(index)} {name}\n" for index, name in enumerate(self.scenario.nodes))
        return f"127.0.0.1 localhost\n::1 localhost\n{own}"

    def _start_programs(self) -> None:
        for program in self.scenario.programs:
            for node in self._nodes:
                index = node.index
                if index not in program.nodes:
                    continue
                folder = str(self.scenario.folder)
                node.tell("start", name=program.name, words=program.words, env=node.env, folder=folder)

    def _stop_programs(self) -> None:
        running = [node for node in self._nodes if len(node.programs) > len(node.ends)]
        for node in running:
            node.tell("stop")
        deadline = time.monotonic() + _STOP_S
        with selectors.DefaultSelector() as selector:
            for node in running:
                selector.register(node, selectors.EVENT_READ, node)
            while (left := deadline - time.monotonic()) > 0 and any(len(n.programs) > len(n.ends) for n in running):
                for key, _ in selector.select(left):
                    self._hear(key.data)

    # ------------------------------------------------------------------------------------------------- steps

    def _advance(self) -> bool:
        """The next step; False: there is none."""
        change = self._course.next()
        if change is None:
            self._done = True
            return False
        self._number += 1
        due = self._start_s + (self._number if not self._hold else 0) * self.scenario.step_s
        began = time.monotonic()
        self._apply(change)
        ended = time.monotonic()
        self._fidelity.step(0.0 if self._hold else max(0.0, began - due), ended - began)
        if self._record is not None:
            self._record.add(self._step)
        return True

    @property
    def _wires(self) -> dict[Pair, Wire]:
        return self._course.linking.wires

    def _apply(self, change: Change) -> None:
        self._step, lost, found = change
        phys = self.scenario.phys
        states = {self._wires[pair].ends(phys): state for pair, state in self._step.links.items()}
        self._links.change([wire.ends(phys) for wire in lost], [wire.ends(phys) for wire in found], states)
        self._changes += len(lost) + len(found)
        self._coverage.append(reachable(len(self.scenario.nodes), self._step.links))
        if self.scenario.routing in ("shortest", "none") and (lost or found or self._number == 0):
            self._route()
        self._notify(frozenset(found))

    def _route(self) -> None:
        """Sets the routes of the nodes to what the links are now; without routing only those to neighbours, behind all
        that others set."""
        asked = []
        alone = self.scenario.routing == "none"
        hops = next_hops(len(self.scenario.nodes), self._wires)
        for node in self._nodes:
            if node.index in self.scenario.devices:
                continue
            there = hops[node.index].items()
            wanted = {to: (hop, self._phy(node.index, hop)) for to, hop in there if to == hop or not alone}
            now = self._routes[node.index]
            own = f"src {address(node.index)}" + f" metric {_BEHIND}" * alone
            lines = [f"route del {address(to)}/32 {own}" for to in now.keys() - wanted.keys()]
            lines += [
                f"route replace {address(to)}/32 via {address(hop)} dev phy{phy} onlink {own}"
                for to, (hop, phy) in wanted.items()
                if now.get(to) != (hop, phy)
            ]
            self._routes[node.index] = wanted
            if lines:
                node.tell("ip", lines=lines, force=True, answer=True)
                asked.append(node)
        for node in asked:
            while not self._hear(node, "done"):
                pass

    def _phy(self, node: int, neighbour: int) -> int:
        wire = self._wires[min(node, neighbour), max(node, neighbour)]
        return wire.phys[wire.nodes.index(node)]

    def _notify(self, found: frozenset[Wire]) -> None:
        """Writes the status files of nodes."""
        of: list[list[dict[str, Any]]] = [[] for _ in self.scenario.nodes]
        for pair, wire in sorted(self._wires.items()):
            state = self._step.links[pair]
            for here, there in (pair, pair[::-1]):
                of[here].append(
                    {
                        "phy": f"phy{self._phy(here, there)}",
                        "node": self.scenario.nodes[there],
                        "number": there + 1,
                        "address": address(there),
                        "distance_m": state.distance_m,
                        "delay_ns": state.delay_ns,
                        **state.arriving()[pair.index(there)]._asdict(),
                        "found": wire in found,
                    }
                )
        for node in self._nodes:
            node.write_links(of[node.index], self._step.time_s)
            self._inside.tell_links(node, of[node.index])

    # ------------------------------------------------------------------------------------------------- the loop

    def _loop(self) -> None:
        with (
            kernel.Wakeup({signal.SIGCHLD: lambda: None, signal.SIGTERM: self._stop}) as wakeup,
            selectors.DefaultSelector() as selector,
        ):
            for node in self._nodes:
                selector.register(node, selectors.EVENT_READ, node)
            for file in (self._clients, self._keeper, wakeup):
                selector.register(file, selectors.EVENT_READ)
            for descriptor in self._links.fabric.files():
                selector.register(descriptor, selectors.EVENT_READ, "fabric")
            while not self._stopping:
                timeout = None
                if not self._hold:
                    timeout = self._start_s + (self._number + 1) * self.scenario.step_s - time.monotonic()
                    if timeout <= 0:
                        if not self._advance():
                            return
                        timeout = 0.0
                    timeout = None if math.isinf(timeout) else timeout
                self._attend(selector.select(timeout), wakeup)
                if self._failed is not None:  # a request that waited has heard of it
                    raise self._failed

    def _attend(self, events: Sequence[tuple[selectors.SelectorKey, int]], wakeup: kernel.Wakeup) -> None:
        wakeup.clear()
        fabric = self._links.fabric
        for pid, _ in kernel.ended_children():
            if said := fabric.ended(pid):
                raise HeadraceError(said)
            for node in self._nodes:
                if pid == node.pid:
                    raise node.gone()
        for key, _ in events:
            if not kernel.readable(key.fd):
                continue  # what was answered before in this turn has waited for it, and has heard it
            if isinstance(key.data, Node):
                self._hear(key.data)
            elif key.data == "fabric":
                fabric.attend()
            elif key.fileobj is self._clients:
                self._clients.serve(self._answer)
            elif key.fileobj is self._keeper:
                self._keeper.recv(1)
                self._stop()

    def _hear(self, node: Node, key: str = "") -> bool:
        """Notes what a node says. Whether that is a message with ``key``. Raises HeadraceError for a program that
        fails, which ends the emulation, whoever waits."""
        try:
            return self._noted(node, key)
        except HeadraceError as error:
            self._failed = error
            raise

    def _noted(self, node: Node, key: str) -> bool:
        message = node.hear()
        if "started" in message:
            node.programs[message["started"]] = message["pid"]
        elif "ended" in message:
            name, code = message["ended"], message["code"]
            node.ends[name] = code
            may_fail = any(each.name == name and each.may_fail for each in self.scenario.programs)
            if code and not self._stopping and not self._done and not may_fail:
                how = f"was killed by signal {-code}" if code < 0 else f"has failed with status {code}"
                said = node.last_line(name)
                raise HeadraceError(f"node {node.name}: program {name} {how}{f': {said}' if said else ''}")
        return bool(key) and key in message

    def _stop(self) -> None:
        self._stopping = True

    def _tell(self, what: str, **more: Any) -> None:
        try:
            self._keeper.send(json.dumps({"tell": what, **more}).encode())
        except OSError:
            self._stop()

    # -------------------------------------------------------------------------------------------------- answers

    def _answer(self, request: dict[str, Any]) -> Answer:
        match request:
            case {"command": "status"}:
                return self.status(), None
            case {"command": "telemetry"}:
                more = telemetry.of(self.scenario, self._hold, self._course)
                return self.status() | more | {"counters": telemetry.of_phys(self.scenario)}, None
            case {"command": "delay-line"}:
                return {"delay_line": self._links.fabric.delayed()}, None
            case {"command": "fidelity"}:
                return self._faithful(), None
            case {"command": "hold", "on": bool(on)}:
                self._hold, self._start_s = on, time.monotonic() - self._number * self.scenario.step_s
                return {"hold": on}, None
            case {"command": "node", "node": str(name)}:
                node = self._inside.node(name)
                answer = {"node": name, "system": node.index in self._roots, "env": node.env}
                return answer, os.pidfd_open(node.pid)
            case {"command": "step", "links": str(line)} if isinstance(self._course.timeline, timeline.Pushed):
                self._course.timeline.push(line)
                self._advance()
                return self.status(), None
            case {"command": "step"}:
                if not self._hold:
                    raise HeadraceError(
                        "the emulation makes its steps by itself: hold it first, or start it with --hold", 2
                    )
                if not self._advance():
                    raise HeadraceError("there are no more steps")
                return self.status(), None
            case {"command": "jam", "targets": list(targets), "loss": int() | float() as loss}:
                self._apply(self._course.jam(targets, loss))
                return self._course.told(), None
            case {"command": "traffic", **table}:
                return {"stream": self._traffic.demand(table)}, None
            case {"command": "stream", "stream": str(name)}:
                return self._traffic.streams(name)[0], None
            case {"command": "stop-stream", "stream": str(name)}:
                self._traffic.stop(name)
                return {}, None
            case {"command": "apart"}:
                return {"nodes": self._inside.apart()}, None
            case {"command": "load", "nodes": list(names)}:
                self._inside.load(names)
                return {}, None
            case {"command": "hear", "nodes": list(names)}:
                return {"said": self._inside.hear(names)}, None
            case {"command": "processes", "node": str(name)}:
                return {"processes": self._inside.stats(name)}, None
            case {"command": "ask-process", "node": str(name), "role": str(role), "request": dict(request)}:
                return self._inside.ask(name, role, request), None
            case {"command": "stop"}:
                self._stop()
                return {}, os.pidfd_open(os.getpid())
        raise HeadraceError(f"unknown request: {request}", 2)

    def status(self) -> dict[str, Any]:
        """All of it at the moment, as plain data."""
        scenario, counts = self.scenario, telemetry.counters()
        links = []
        for pair, wire in sorted(self._wires.items()):
            ends = wire.ends(scenario.phys)
            frames, octets = zip(*(counts.get(port_name(port), (0, 0))[:2] for port in ends), strict=True)
            links.append(described(wire, self._step.links[pair], scenario.nodes) | {"sent": frames, "bytes": octets})
        return {
            "fabric": scenario.fabric,
            "step": self._number,
            "time_s": self._step.time_s,
            "done": self._done,
            "nodes": [
                {
                    "name": node.name,
                    "address": address(node.index),
                    "position_m": self._step.positions[node.index],
                    "programs": {
                        name: f"ended with {node.ends[name]}" if name in node.ends else "runs" for name in node.programs
                    },
                }
                for node in self._nodes
            ],
            "links": links,
            **scenario.surroundings,
            "jammers": self._step.jammers,
            **self._course.told(),
            "coverage": self._coverage[-1],
            "traffic": self._traffic.streams(),
            "coordinator": self._inside.reached(),
        }

    def _report(self, built_s: float) -> dict[str, Any]:
        scenario = self.scenario
        return {
            "nodes": len(scenario.nodes),
            "phys": scenario.phys,
            "fabric": scenario.fabric,
            "built_s": built_s,
            "steps": self._number + 1,
            "time_s": self._step.time_s,
            "links_changed": self._changes,
            "coverage": sum(self._coverage) / len(self._coverage),
            **self._faithful(),
        }

    def _faithful(self) -> dict[str, Any]:
        fabric = self._links.fabric
        return {"not_applied": fabric.not_applied(), "fidelity": self._fidelity.report(fabric.delayed())}


def begin(folder: Path) -> None:
    """Makes the file systems of process 1: nothing that is written below ``folder`` is seen outside. Raises
    HeadraceError."""
    kernel.private_mounts()
    try:
        kernel.mount("proc", "/proc")
    except HeadraceError as error:
        raise HeadraceError(f"no permission: {error}") from None
    kernel.mount("tmpfs", folder, "mode=755")
    for name in ("tmp", "user"):
        (folder / name).mkdir(mode=0o700)
    os.environ["TMPDIR"] = str(folder / "tmp")
    os.environ["XDG_RUNTIME_DIR"] = str(folder / "user")
    tempfile.tempdir = None
