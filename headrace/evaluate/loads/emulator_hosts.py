"""Three hosts of an emulation on one machine: network namespaces that a cable joins, each with a worker of a Dask
cluster. Who answers whom across them, what streams bring, and what is left when one is killed. It takes root."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.emulator import control
from headrace.emulator.client import traffic, wait_for_stream
from headrace.errors import HeadraceError
from headrace.evaluate.loads.emulations import pings, scenario_file
from headrace.evaluate.loads.switch_network import HEADRACE, PATIENCE_S, running, until
from headrace.net import netlink
from headrace.net.namespaces import host_behind, ip, own_network

HOSTS = 3
MESSAGES = 16  # of a stream
LINE = """\
nodes = 6
phys = 2
routing = "shortest"
[movement]
kind = "static"
positions = [[0, 0], [100, 0], [200, 0], [300, 0], [400, 0], [500, 0]]
[radio]
range_m = 150
"""
"""Two nodes on each host: whoever speaks with the other end does it over all of them."""

_HEAD = "10.9.0.254"
SCHEDULER = f"tcp://{_HEAD}:8786"
_CONNECT = "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"
_DASK = [sys.executable, "-m", "dask"]
_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@dataclass(frozen=True)
class Spread:
    """``hosts``: the names of each one's nodes. Pairs of nodes on different hosts (``across``), and those of them that
    answered a ping; streams of images from host to host, and those that brought all of them (``whole``). The last
    host is killed: ``said``: by the controller then; ``down``: nodes that are shown so; pairs among the others
    (``others``), and those that answered then; ``cut``: the account of a stream that came from it. ``lost``: hosts, by
    the report. ``left``: hosts on which a part of it was there after its end."""

    hosts: list[list[str]]
    across: int
    answered: int
    streams: int
    whole: int
    said: str
    down: list[str]
    others: int
    answered_then: int
    cut: Mapping[str, Any]
    lost: list[str]
    left: int


class Hosts:
    """``words`` start a program on each of them; ``workers`` are their processes."""

    def __init__(self, stack: ExitStack) -> None:
        self.words: list[list[str]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self._stack = stack

    def add(self, words: Sequence[str]) -> None:
        """A host with its worker."""
        self.words.append(list(words))
        self.workers.append(self._worker(len(self.workers)))

    def again(self, number: int) -> None:
        """Another worker on a host, whose last one has been killed. Raises HeadraceError."""
        self.workers[number].wait()
        until(lambda: _workers() < len(self.workers), "the loss of a worker")
        self.workers[number] = self._worker(number)
        self.wait()

    def wait(self) -> None:
        """Until all workers are there. Raises HeadraceError."""

        def there() -> bool:
            if any(each.poll() is not None for each in self.workers):
                raise HeadraceError("a Dask worker has ended")
            return _workers() == len(self.workers)

        until(there, "the workers of all hosts")

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        words = [*_DASK, "worker", SCHEDULER, "--no-dashboard", "--no-nanny", "--nthreads", "1"]
        return self._stack.enter_context(running([*self.words[number], *words], **_QUIET))

    def has(self, number: int, name: str) -> bool:
        """Whether a host has a part of the emulation ``name``."""
        words = [*self.words[number], *HEADRACE, "emulate", "status", "--name", name]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0


class OverHosts:
    """An emulation that runs over hosts. ``controller``: the process of ``headrace emulate run``, which tells on
    stderr."""

    def __init__(self, hosts: Hosts, name: str, controller: subprocess.Popen[bytes]) -> None:
        self.name, self.controller, self._hosts = name, controller, hosts
        place = {_address(number): number for number in range(HOSTS)}
        self.host = {node["name"]: place[node["host"]] for node in self.status()["nodes"]}

    def status(self) -> dict[str, Any]:
        """Of all of it. Raises HeadraceError."""
        try:
            return control.ask(self.name, command="status")
        except HeadraceError as error:
            self.controller.terminate()
            said = self.controller.communicate()[1].decode().strip()
            raise HeadraceError(f"{error}: {said}") from None

    def line(self) -> str:
        """What the controller tells next."""
        assert self.controller.stderr is not None
        return self.controller.stderr.readline().decode().strip()

    def start(self, node: str, words: Sequence[str], *, here: bool = False, **options: Any) -> subprocess.Popen[Any]:
        """A command in a node, by ``headrace emulate exec`` on its host; ``here``: where the controller is.
        ``options`` are ``subprocess.Popen``'s."""
        there = [] if here else self._hosts.words[self.host[node]]
        return subprocess.Popen([*there, *HEADRACE, "emulate", "exec", "--name", self.name, node, *words], **options)

    def stop(self) -> dict[str, Any]:
        """Ends it; gives the report. Raises HeadraceError."""
        control.ask(self.name, command="stop")
        out, said = self.controller.communicate()
        if self.controller.returncode:
            raise HeadraceError(f"the emulation over several hosts: {said.decode().strip()}")
        report: dict[str, Any] = json.loads(out)
        return report


@contextmanager
def three_hosts() -> Iterator[Hosts]:
    """This thread is where their cables meet, and the cluster's scheduler is there, too. Raises HeadraceError."""
    with own_network(), ExitStack() as stack:
        found = Hosts(stack)
        stack.callback(os.environ.pop, _CONNECT, None)
        os.environ[_CONNECT] = f"{PATIENCE_S}s"  # who is busy isn't lost
        ip("link", "set", "lo", "up")
        ip("link", "add", "wire", "type", "bridge")
        ip("addr", "add", f"{_HEAD}/24", "dev", "wire")
        ip("link", "set", "wire", "up")
        stack.enter_context(running([*_DASK, "scheduler", "--host", _HEAD, "--no-dashboard"], **_QUIET))
        for number in range(HOSTS):
            netlink.add_pair(f"h{number}", f"e{number}")
            ip("link", "set", f"h{number}", "master", "wire", "up")
            words = stack.enter_context(host_behind(f"e{number}", f"{_address(number)}/24"))
            ip("link", "set", "lo", "up", there=words)
            found.add(words)
        found.wait()
        yield found


def _address(number: int) -> str:
    return f"10.9.0.{number + 1}"


def _workers() -> int:
    from distributed import Client

    try:
        with Client(SCHEDULER, timeout=5) as client:  # type: ignore[no-untyped-call]
            return len(client.scheduler_info(n_workers=-1)["workers"])
    except OSError:
        return 0


@contextmanager
def over_hosts(hosts: Hosts, scenario: Path, name: str = "spread") -> Iterator[OverHosts]:
    """Runs a scenario over the hosts, held at its first step. Raises HeadraceError."""
    words = [*HEADRACE, "emulate", "run", str(scenario), "--hold", "--json", "--cluster", SCHEDULER, "--name", name]
    with running(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as controller:
        assert controller.stderr is not None
        said = controller.stderr.readline().decode().strip()
        if " is up on " not in said:
            raise HeadraceError(said.removeprefix("headrace: ") or "the emulation over several hosts was killed")
        yield OverHosts(hosts, name, controller)


def spread(hosts: Hosts) -> Spread:
    """A line of nodes over the hosts, of which the last one is killed. Raises HeadraceError."""
    with scenario_file(LINE) as path, over_hosts(hosts, path) as emulation:
        host, names = emulation.host, list(emulation.host)
        nodes = [[name for name in names if host[name] == number] for number in range(HOSTS)]
        across = [pair for pair in itertools.combinations(names, 2) if host[pair[0]] != host[pair[1]]]
        answered = {(names[a], names[b]) for a, b in pings(emulation, names)}
        brought = _streams(emulation, list(itertools.permutations([each[0] for each in nodes], 2)))
        cut = traffic(emulation.name, names[-1], names[0], interval_s=0.02)
        until(lambda: control.ask(emulation.name, command="stream", stream=cut)["received"], "a message")

        hosts.workers[-1].kill()
        said = emulation.line()
        down = [node["name"] for node in emulation.status()["nodes"] if node["down"]]
        others = [name for name in names if host[name] != HOSTS - 1]
        answered_then = pings(emulation, others)
        report = emulation.stop()
        return Spread(
            nodes,
            len(across),
            len(answered.intersection(across)),
            len(brought),
            sum(each["received"] == each["sent"] == MESSAGES for each in brought),
            said,
            down,
            len(others) * (len(others) - 1) // 2,
            len(answered_then),
            next(each for each in report["traffic"] if each["name"] == cut),
            [each["host"] for each in report["hosts"] if each["lost"]],
            sum(hosts.has(number, emulation.name) for number in range(HOSTS)),
        )


def _streams(emulation: OverHosts, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Images from node to node, all at the same time."""
    names = [traffic(emulation.name, *pair, kind="image", count=MESSAGES) for pair in pairs]
    return [wait_for_stream(emulation.name, name) for name in names]
