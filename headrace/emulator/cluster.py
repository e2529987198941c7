"""One scenario over several hosts: the workers of a Dask cluster, one a host, keep a share of the nodes each.

The controller computes the steps and tells them to all shares; links between hosts go over VXLAN. A host that is lost
is told, its nodes are down, and the others go on. A share whose controller isn't heard of for ``LEASE_S`` ends by
itself.
"""

from __future__ import annotations

import math
import os
import random
import selectors
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.card.lines import Answer
from headrace.emulator import control, kernel, telemetry, timeline, workers
from headrace.emulator.accounts import Accounts, Said
from headrace.emulator.client import Emulation
from headrace.emulator.fidelity import Fidelity
from headrace.emulator.inside import LOOK_S, MEET_S, roles, traffic_role
from headrace.emulator.keeper import EmulationJob
from headrace.emulator.linking import Change, Course
from headrace.emulator.radio.state import Pair
from headrace.emulator.scenario import address, located, read
from headrace.emulator.share import Share
from headrace.emulator.wiring import index_of, reachable
from headrace.errors import HeadraceError

LEASE_S = 90.0  # more than Dask takes to give up a worker
_RENEW_S = 2.0


def split(nodes: int, hosts: int, pairs: Iterable[Pair], fixed: Mapping[int, int] | None = None) -> tuple[int, ...]:
    """For each node the number of its host: about as many nodes on each, and neighbours together. ``fixed``: of nodes
    whose host is given; each changes places with one there."""
    beside: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in sorted(pairs):
        beside[a].append(b)
        beside[b].append(a)
    order: dict[int, None] = {}
    for first in range(nodes):
        waiting = deque([first])
        while waiting:
            node = waiting.popleft()
            if node not in order:
                order[node] = None
                waiting += beside[node]
    found = [0] * nodes
    for place, node in enumerate(order):
        found[node] = place * hosts // nodes
    for node, host in (fixed or {}).items():
        others = [other for other in range(nodes) if found[other] == host and other not in (fixed or {})]
        if others and found[node] != host:
            before = found[node]
            found[max(others, key=lambda other: sum(found[each] == before for each in beside[other]))] = before
        found[node] = host
    return tuple(found)


def run(job: EmulationJob, cluster: str, tell: Callable[[str], None]) -> dict[str, Any]:
    """Runs it on the workers of a Dask cluster, by its scheduler's address, until its end, SIGINT, SIGTERM or
    ``headrace emulate stop``; then nothing is left of it. Gives the report: see ``World``, and the hosts with their
    nodes. Raises HeadraceError."""
    scenario = read(job.scenario, job.fabric, job.strict)
    for line in scenario.notes:
        tell(line)
    with located(scenario.file):
        if scenario.fabric != "software":
            raise HeadraceError(f"fabric: {scenario.fabric}: several hosts need the software fabric", 2)
        for each in scenario.hardware:
            if each.host is None:
                what = f"no key host: which one of several {each.interface} is at"
                raise HeadraceError(f"hardware.{each.name}: {what}", 2)
    with control.listen(job.name) as listener, workers.connect(cluster) as client:
        controller = _Controller(job, client, tell)
        try:
            controller.build()
            controller.loop(listener)
            return controller.report()
        finally:
            controller.end()


class _Controller:
    def __init__(self, job: EmulationJob, client: Any, tell: Callable[[str], None]) -> None:
        """Raises HeadraceError."""
        self._job, self._client, self._tell = job, client, tell
        self.scenario = scenario = read(job.scenario, job.fabric)
        self._course = Course(scenario, timeline.of(scenario, job.replay))
        at: dict[str, str] = {}  # a worker of each host
        for worker in sorted(workers.there(client)):
            at.setdefault(urlsplit(worker).hostname or worker, worker)
        if not at:
            raise HeadraceError("the cluster has no workers")
        wanted = {each.node: each.host for each in scenario.hardware if each.host is not None}
        for each in scenario.hardware:
            if each.host not in at:
                there = f"the cluster has workers at {', '.join(sorted(at))}"
                raise HeadraceError(f"hardware {each.name}: host {each.host}: {there}", 2)
        hosts = sorted(sorted(at, key=lambda host: (host not in wanted.values(), host))[: len(scenario.nodes)])
        first = self._course.next()
        if first is None:
            raise HeadraceError("there are no steps")
        fixed = {node: hosts.index(host) for node, host in wanted.items()}
        of = split(len(scenario.nodes), len(hosts), first.step.links, fixed)
        hosts = [host for number, host in enumerate(hosts) if number in of]
        of = tuple(sorted(set(of)).index(number) for number in of)
        self._workers = [at[host] for host in hosts]
        network = random.randrange(256)
        self._shares = [Share(number, tuple(hosts), of, network) for number in range(len(hosts))]
        self._alive = set(range(len(hosts)))
        self._stopping, self._hold = False, job.hold
        self._number, self._first, self._step = 0, first, first.step
        self._coverage: list[float] = []
        self._changes, self._built_s, self._asked_s = 0, 0.0, 0.0
        self._fidelity = Fidelity(scenario.step_s)
        self._record = None if job.record is None else timeline.Record(job.record, scenario.nodes)
        self._traffic = Accounts(scenario.nodes, self)

    # ------------------------------------------------------------------------------------------------- the hosts

    def _ask(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        only: Iterable[int] | None = None,
        question: bool = False,
    ) -> dict[int, Any]:
        """What each host that is there gives, or each of a few, by its number; ``question``: see ``workers.call``.
        Raises HeadraceError with what one says is wrong."""
        if not self._alive:
            raise HeadraceError("all hosts are lost")
        asked = self._alive if only is None else self._alive.intersection(only)
        if not asked:
            return {}
        if only is None:
            self._asked_s = time.monotonic()
        numbers = {self._workers[number]: number for number in asked}
        found = workers.call(self._client, numbers, function, self._job.name, *arguments, question=question)
        given, lost = {}, []
        for worker, number in numbers.items():
            if worker not in found:
                lost.append(number)
            elif isinstance(answer := found[worker], HeadraceError):
                raise HeadraceError(f"host {self._shares[0].hosts[number]}: {answer}", answer.exit_code)
            else:
                given[number] = answer
        for number in lost:
            self._lose(number)
        if lost:
            if not self._alive:
                raise HeadraceError("all hosts are lost")
            if self._built_s:
                self._apply(self._course.again())
        return given

    def _ask_all(self, command: str) -> dict[int, Any]:
        """What all shares say at a time when no host is lost. Raises HeadraceError."""
        while True:
            before = set(self._alive)
            found = self._ask(_request, {"command": command}, question=True)
            if self._alive == before:
                return found

    def _lose(self, number: int) -> None:
        self._alive.discard(number)
        self._course.linking.down.update(self._shares[number].nodes())
        names = [self.scenario.nodes[node] for node in self._shares[number].nodes()]
        self._tell(f"host {self._shares[0].hosts[number]} is lost: {', '.join(names)} are down")

    def _down(self, node: int) -> bool:
        return self._host(node) not in self._alive

    def _host(self, node: int) -> int:
        return self._shares[0].of[node]

    # ------------------------------------------------------------------------------------------------- traffic

    def load(self, nodes: Sequence[str]) -> None:
        """Starts load generators on their hosts. Raises HeadraceError."""
        for node in nodes:
            self._on(node, {"command": "load", "nodes": [node]})

    def request(self, node: str, request: Mapping[str, Any]) -> None:
        """Asks a node's load generator for something. Raises HeadraceError."""
        role = traffic_role(self.scenario)
        self._on(node, {"command": "ask-process", "node": node, "role": role, "request": dict(request)})

    def hear(self, nodes: Sequence[str]) -> dict[str, Said]:
        """What the load generators say of their streams that can be reached. Raises HeadraceError."""
        of: dict[str, list[str]] = {}  # worker -> its nodes
        for node in nodes:
            of.setdefault(self._workers[self._number_of(node)], []).append(node)
        answers = self._ask(_hear, of, only={self._number_of(node) for node in nodes}, question=True)
        return {node: said for answer in answers.values() for node, said in answer.items()}

    def one_clock(self, nodes: Sequence[str]) -> bool:
        """Those of a host have the same one."""
        return len(set(map(self._number_of, nodes))) == 1

    def gone(self, node: str) -> bool:
        """Whether its host is lost."""
        return self._number_of(node) not in self._alive

    def _number_of(self, node: str) -> int:
        return self._host(index_of(self.scenario.nodes, node))

    def _on(self, node: str, request: Mapping[str, Any]) -> Any:
        """What the share that has a node answers. Raises HeadraceError."""
        number = self._number_of(node)
        answers = self._ask(_request, request, only={number})
        if number not in answers:
            raise HeadraceError(f"node {node} is down: its host is lost")
        return answers[number]

    # ------------------------------------------------------------------------------------------------- steps

    def build(self) -> None:
        """Raises HeadraceError."""
        began = time.monotonic()
        shares = {worker: str(share) for worker, share in zip(self._workers, self._shares, strict=True)}
        self._ask(_start, str(self._job.scenario.resolve()), shares, _network())
        if len(self._alive) < len(self._workers):
            raise HeadraceError("a host was lost while it was built")
        self._built_s = time.monotonic() - began
        self._start_s = time.monotonic()
        self._apply(self._first)
        self._noted(self._start_s, self._start_s)
        if roles(self.scenario):
            self._meet()
        for demand in self.scenario.traffic:
            self._traffic.start(demand)
        hosts = f"{len(self._workers)} host{'s' if len(self._workers) > 1 else ''}"
        self._tell(f"the emulation {self._job.name} is up on {hosts} after {self._built_s:.1f} s")

    def _meet(self) -> None:
        """Waits until the nodes' own processes have found each other and their neighbours; some may not."""
        deadline = time.monotonic() + MEET_S
        while time.monotonic() < deadline:
            if not any(share["nodes"] for share in self._ask(_request, {"command": "apart"}, question=True).values()):
                return
            time.sleep(LOOK_S)

    def _noted(self, due: float, began: float) -> None:
        ended = time.monotonic()
        self._fidelity.step(0.0 if self._hold else max(0.0, began - due), ended - began)
        if self._record is not None:
            self._record.add(self._step)

    def _advance(self) -> bool:
        """The next step; False: there is none."""
        change = self._course.next()
        if change is None:
            return False
        self._number += 1
        due, began = self._start_s + self._number * self.scenario.step_s, time.monotonic()
        self._apply(change)
        self._noted(due, began)
        return True

    def _apply(self, change: Change) -> None:
        self._step, lost, found = change
        self._changes += len(lost) + len(found)
        self._coverage.append(reachable(len(self.scenario.nodes), self._step.links))
        self._ask(_step, timeline.line(self._step))

    def loop(self, listener: socket.socket) -> None:
        """Until it ends. Raises HeadraceError."""
        signals = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), self._stop)
        clients = control.clients(listener)
        with closing(clients), kernel.Wakeup(signals) as wakeup, selectors.DefaultSelector() as selector:
            for file in (clients, wakeup):
                selector.register(file, selectors.EVENT_READ)
            while not self._stopping:
                due = math.inf if self._hold else self._start_s + (self._number + 1) * self.scenario.step_s
                if due <= time.monotonic():
                    if not self._advance():
                        return
                    continue
                if time.monotonic() - self._asked_s >= _RENEW_S:
                    self._ask(_request, {"command": "status"}, question=True)
                until = min(due, self._asked_s + _RENEW_S)
                ready = [key.fileobj for key, _ in selector.select(max(0.0, until - time.monotonic()))]
                wakeup.clear()
                if clients in ready:
                    clients.serve(self._answer)

    def _stop(self) -> None:
        self._stopping = True

    def end(self) -> None:
        """Nothing is left on the hosts that are there."""
        if self._record is not None:
            self._record.close()
        with suppress(HeadraceError):  # they end by themselves
            workers.call(self._client, [self._workers[number] for number in self._alive], _end, self._job.name)

    # ------------------------------------------------------------------------------------------------- answers

    def _answer(self, request: dict[str, Any]) -> Answer:
        match request:
            case {"command": "status"}:
                return self._status(), None
            case {"command": "telemetry"}:
                return self._telemetry(), None
            case {"command": "hold", "on": bool(on)}:
                self._hold, self._start_s = on, time.monotonic() - self._number * self.scenario.step_s
                return {"hold": on}, None
            case {"command": "node", "node": str(name)}:
                if self.gone(name):
                    raise HeadraceError(f"node {name} is down: its host is lost")
                number = self._number_of(name)
                place = {"host": self._shares[0].hosts[number], "worker": self._workers[number]}
                return {**place, "cluster": self._client.scheduler.address}, None
            case {"command": "step"}:
                if not self._hold:
                    raise HeadraceError(
                        "the emulation makes its steps by itself: hold it first, or start it with --hold", 2
                    )
                if not self._advance():
                    raise HeadraceError("there are no more steps")
                return self._status(), None
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
            case {"command": "processes", "node": str(name)}:
                return self._on(name, request), None
            case {"command": "stop"}:
                self._stop()
                return {}, os.pidfd_open(os.getpid())
        raise HeadraceError(f"unknown request over several hosts: {request}", 2)

    def _status(self) -> dict[str, Any]:
        """As a single host's, and each node has its ``host`` and whether it is ``down``."""
        return self._joined(self._ask_all("status"))

    def _telemetry(self) -> dict[str, Any]:
        """The same. PHYs of a host that is lost have counted nothing."""
        scenario, shares = self.scenario, self._ask_all("telemetry")
        nothing = [telemetry.NOTHING._asdict()] * scenario.phys
        counters = [
            shares[host]["counters"][node] if (host := self._host(node)) in shares else nothing
            for node in range(len(scenario.nodes))
        ]
        more = telemetry.of(scenario, self._hold, self._course)
        return self._joined(shares) | more | {"counters": counters}

    def _joined(self, shares: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
        scenario, hosts = self.scenario, self._shares[0].hosts
        nodes = {node["name"]: node for share in shares.values() for node in share["nodes"]}
        links: dict[tuple[str, ...], dict[str, Any]] = {}
        for share in shares.values():
            for link in share["links"]:
                other = links.setdefault(tuple(link["nodes"]), link)
                for key in ("sent", "bytes"):  # of a port that is elsewhere: 0
                    other[key] = [max(pair) for pair in zip(other[key], link[key], strict=True)]
        coordinator = [share["coordinator"] for share in shares.values() if share["coordinator"]]
        found = []
        for index, name in enumerate(scenario.nodes):
            place = {"name": name, "address": address(index), "position_m": self._step.positions[index], "programs": {}}
            down = self._down(index)
            found.append({**nodes.get(name, place), "host": hosts[self._host(index)], "down": down})
        return {
            **next(iter(shares.values())),
            "step": self._number,
            "nodes": found,
            "links": list(links.values()),
            **self._course.told(),
            "coverage": self._coverage[-1],
            "traffic": self._traffic.streams(),
            "coordinator": coordinator[0] if coordinator else self._unheard(),
            "hosts": self._hosts(),
        }

    def _unheard(self) -> dict[str, Any] | None:
        """A master coordinator whose host is lost; None: there is none."""
        if (node := self.scenario.coordinator) is None:
            return None
        return {"node": self.scenario.nodes[node], "heard": 0, "reached": [], "of": len(self.scenario.nodes) - 1}

    def _hosts(self) -> list[dict[str, Any]]:
        return [
            {
                "host": share.hosts[share.here],
                "lost": share.here not in self._alive,
                "nodes": [self.scenario.nodes[node] for node in share.nodes()],
            }
            for share in self._shares
        ]

    def report(self) -> dict[str, Any]:
        """Of the whole run: ``fidelity`` is that of the machine of ``run``, and each host has its own; what is doubtful
        is that of all. Raises HeadraceError."""
        shares = self._ask_all("fidelity") if self._alive else {}
        hosts, fidelity = self._hosts(), self._fidelity.report()
        for number, host in enumerate(hosts):
            host["fidelity"] = shares[number]["fidelity"] if number in shares else None
            if host["fidelity"] is not None:
                fidelity["doubtful"] += [f"host {host['host']}: {line}" for line in host["fidelity"]["doubtful"]]
        return {
            "nodes": len(self.scenario.nodes),
            "phys": self.scenario.phys,
            "fabric": self.scenario.fabric,
            "built_s": self._built_s,
            "steps": self._number + 1,
            "time_s": self._step.time_s,
            "links_changed": self._changes,
            "coverage": sum(self._coverage) / len(self._coverage),
            "not_applied": sorted({line for share in shares.values() for line in share["not_applied"]}),
            "hosts": hosts,
            "fidelity": fidelity,
            "traffic": self._traffic.streams(),
        }


# -------------------------------------------------------------------------------------------------- on a worker


class _Held:
    """A share on this worker, as long as its controller is heard of."""

    def __init__(self, name: str, emulation: Emulation) -> None:
        self.emulation, self.heard_s = emulation, time.monotonic()
        self._name, self._ended = name, threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._ended.wait(1.0):
            if time.monotonic() - self.heard_s > LEASE_S:
                _HELD.pop(self._name, None)
                self.emulation.stop()
                return

    def end(self) -> None:
        """It ends now."""
        self._ended.set()
        self.emulation.stop()


_HELD: dict[str, _Held] = {}


def _network() -> str:
    """The network of this process: its host's, where the names of emulations are taken."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{os.stat('/proc/thread-self/ns/net').st_ino}"


def _start(name: str, scenario: str, shares: Mapping[str, str], controller: str, dask_worker: Any) -> None:
    share = Share.read(shares[dask_worker.address])
    own = f"{name}/share" if _network() == controller else name
    _HELD[name] = _Held(name, Emulation(scenario, name=own, fabric="software", hold=True, share=share))


def share_name(name: str) -> str:
    """By which the share of an emulation is reached on this worker's host: another one where its controller is there,
    too."""
    return _HELD[name].emulation.name if name in _HELD else name


def _held(name: str) -> Emulation:
    if name not in _HELD:
        raise HeadraceError(f"no share of the emulation {name}")
    _HELD[name].heard_s = time.monotonic()
    return _HELD[name].emulation


def _request(name: str, request: Mapping[str, Any]) -> dict[str, Any]:
    emulation = _held(name)
    try:
        return emulation.ask(**request)
    except control.Ended as error:
        raise HeadraceError(emulation.wait() or str(error)) from None


def _step(name: str, line: str) -> None:
    _request(name, {"command": "step", "links": line})


def _hear(name: str, nodes: Mapping[str, Sequence[str]], dask_worker: Any) -> dict[str, Said]:
    said: dict[str, Said] = _request(name, {"command": "hear", "nodes": list(nodes[dask_worker.address])})["said"]
    return said


def _end(name: str) -> None:
    if name in _HELD:
        _HELD.pop(name).end()
