"""Loads of the emulator's bench that run nodes: who reaches whom on each fabric, and what a jammer does to a link."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from headrace.emulator.client import Emulation
from headrace.emulator.linking import Course, links
from headrace.emulator.radio import Scene
from headrace.emulator.scenario import Scenario, address, mac, parse, read
from headrace.emulator.timeline import Computed
from headrace.emulator.wiring import next_hops
from headrace.evaluate.loads import coverage

STEPS = 6
SMALL = """\
nodes = 6
phys = 2
routing = "shortest"
[movement]
kind = "random-waypoint"
area_m = [400.0, 400.0]
speed_mps = [20.0, 40.0]
seed = 4
[radio]
range_m = 130.0
"""
"""Nodes that are linked in another way at each step, and not all at all of them."""

PAYLOAD = 100
_HEADERS = 42  # Ethernet, IPv4, UDP
_FLOOD = 1400
_RECEIVE = """\
import json, select, socket, sys, time
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
link.bind(("", 9000))
print("ready", flush=True)
count, octets, first, last = 0, 0, 0.0, 0.0
while True:
    ready, _, _ = select.select([link, sys.stdin], [], [])
    if link in ready:
        size = len(link.recv(2048))
        last = time.monotonic()
        first = first or last
        count, octets = count + 1, octets + size
    elif ready:
        break
print(json.dumps({"count": count, "bytes": octets, "seconds": last - first}))
"""
_SEND = """\
import socket, sys, time
host, size, count, rate = sys.argv[1], *map(float, sys.argv[2:])
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
data, start = bytes(int(size)), time.monotonic()
for number in range(int(count)):
    wait = start + number / rate - time.monotonic()
    if wait > 0:
        time.sleep(wait)
    link.sendto(data, (host, 9000))
time.sleep(0.5)
"""


class Starts(Protocol):
    """What runs commands in nodes, such as an ``Emulation``."""

    def start(self, node: str, words: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Starts a command in a node; ``options`` are ``subprocess.Popen``'s."""


@dataclass(frozen=True)
class Reached:
    """``expected``: pairs of nodes that have a way at each step, computed; ``reached``: those that answered a ping,
    by fabric."""

    expected: list[list[tuple[int, int]]]
    reached: dict[str, list[list[tuple[int, int]]]]

    @property
    def same(self) -> int:
        """Steps at which all fabrics reach who has a way, and nobody else."""
        return sum(
            all(found[step] == expected for found in self.reached.values())
            for step, expected in enumerate(self.expected)
        )


@dataclass(frozen=True)
class Jammed:
    """A jammer's power (None: none), and of the link beside it, from the first node to the second: signal to noise,
    loss and bits per second by the model, and what came of ``sent`` frames: how many were received, and bits per second
    (frames with headers, without FCS) when more is offered. ``far``: the same of as many on the link that the jammer
    doesn't reach."""

    power_dbm: float | None
    snr_db: float
    rate_bps: float
    loss: float
    sent: int
    received: int
    measured_bps: float
    far_loss: float
    far_received: int

    @property
    def deviation(self) -> float:
        """Of what was received from the model, in standard deviations."""
        return _deviation(self.sent, self.received, self.loss)

    @property
    def far_deviation(self) -> float:
        """The same of the other link."""
        return _deviation(self.sent, self.far_received, self.far_loss)


@dataclass(frozen=True)
class Whole:
    """A scenario of so many nodes with 4 PHYs: seconds until it was up, pairs of nodes that have a way and those that
    answered."""

    nodes: int
    links: int
    built_s: float
    pairs: int
    reached: int


def _deviation(sent: int, received: int, loss: float) -> float:
    sigma = max((sent * loss * (1 - loss)) ** 0.5, 1.0)
    return float(abs(received - sent * (1 - loss)) / sigma)


def why_not(fabric: str) -> str | None:
    """Why an emulation can't run on a fabric here; None: it can."""
    from headrace.net import ovs

    return ovs.available() if fabric == "ovs" else None


@contextmanager
def scenario_file(text: str) -> Iterator[Path]:
    """A scenario in a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(text)
        yield path


def reached(text: str, fabrics: Sequence[str], steps: int = STEPS) -> Reached:
    """Of a scenario with routing by the controller. Raises HeadraceError."""
    with scenario_file(text) as path:
        scenario = read(path)
        expected, course = [], Course(scenario, Computed(scenario))
        for _ in range(steps):
            change = course.next()
            assert change is not None
            hops = next_hops(len(scenario.nodes), change.step.links)
            expected.append([pair for pair in itertools.combinations(range(len(hops)), 2) if pair[1] in hops[pair[0]]])
        return Reached(expected, {fabric: _on(path, scenario, fabric, steps) for fabric in fabrics})


def _on(path: Path, scenario: Scenario, fabric: str, steps: int) -> list[list[tuple[int, int]]]:
    found = []
    with Emulation(path, fabric=fabric, hold=True) as emulation:
        for number in range(steps):
            if number:
                emulation.step()
            found.append(pings(emulation, scenario.nodes))
    return found


def pings(emulation: Starts, names: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of nodes of which the first one gets an answer from the second one."""
    asking, ask = [], "ping -q -c 1 -W 5 $node >/dev/null 2>&1"  # twice: the first one asks for the address, too
    for index, name in enumerate(names[:-1]):
        others = " ".join(names[index + 1 :])
        script = f"for node in {others}; do {ask} || {ask} && echo $node; done; true"
        asking.append(emulation.start(name, ["sh", "-c", script], stdout=subprocess.PIPE, text=True))
    found = []
    for index, process in enumerate(asking):
        answered = process.communicate()[0].split()
        found += [(index, names.index(name)) for name in answered]
    return sorted(found)


def whole(nodes: int, fabric: str = "software") -> Whole:
    """Runs the study's scenario with routes by the controller, at its first step. Raises HeadraceError."""
    text = coverage.scenario(450.0, nodes).replace("step_s", 'phys = 4\nrouting = "shortest"\nstep_s', 1)
    with scenario_file(text) as path:
        begin = time.monotonic()
        with Emulation(path, fabric=fabric, hold=True) as emulation:
            built_s, links = time.monotonic() - begin, [tuple(each["nodes"]) for each in emulation.status()["links"]]
            found = pings(emulation, read(path).nodes)
        pairs = [(int(a[1:]) - 1, int(b[1:]) - 1) for a, b in links]
        return Whole(nodes, len(links), built_s, sum(map(len, next_hops(nodes, pairs))) // 2, len(found))


def jamming(power_dbm: float | None) -> str:
    """Two links of 100 m, far from each other; a jammer is 100 m from the second node."""
    jammer = "" if power_dbm is None else f"[jammers.j]\nposition = [200, 0]\npower_dbm = {power_dbm}\n"
    return f"""\
nodes = 4
phys = 1
[movement]
kind = "static"
positions = [[0, 0], [100, 0], [50000, 0], [50100, 0]]
[radio]
model = "log-distance"
exponent = 3.0
{jammer}"""


def powers(losses: Sequence[float]) -> list[float]:
    """Powers of the jammer, in dBm, with which the model's loss is as near as can be to these, at the slowest rate."""
    found = []
    grid = [at / 20 for at in range(-400, 400)]
    slow = [(power, _modelled(power)) for power in grid]
    for loss in losses:
        there = [(abs(state[1] - loss), power) for power, state in slow if state is not None and state[0] == 6e6]
        found.append(min(there)[1])
    return found


def _modelled(power_dbm: float) -> tuple[float, float] | None:
    scenario = parse(Path("jamming.toml"), jamming(power_dbm))
    state = links(scenario.radio, Scene.of(scenario.movement, 0.0), 1).get((0, 1))
    return None if state is None else (state.rate_bps, state.loss)


def jam(power_dbm: float | None, frames: int, fabric: str = "software") -> Jammed:
    """Sends so many frames slower than the link, and more than it takes for some seconds. Raises HeadraceError."""
    with scenario_file(jamming(power_dbm)) as path, Emulation(path, fabric=fabric, hold=True) as emulation:
        link, other = sorted(emulation.status()["links"], key=lambda each: str(each["nodes"]))
        for here, there in ((1, 2), (3, 4)):
            place = [address(there - 1), "dev", "phy0"]
            emulation.run(f"n{here}", ["ip", "route", "replace", *place])
            emulation.run(f"n{here}", ["ip", "neigh", "replace", *place, "lladdr", mac(there - 1, 0)])
        slow = link["rate_bps"] / 8 / (PAYLOAD + _HEADERS) / 5
        near, far = (_send(emulation, pair, PAYLOAD, frames, slow) for pair in (("n1", "n2"), ("n3", "n4")))
        full = link["rate_bps"] / 8 / (_FLOOD + _HEADERS)
        flood = _send(emulation, ("n1", "n2"), _FLOOD, max(round(5 * full), 100), 1.5 * full / (1 - link["loss"]))
    frame_bits = 8 * (flood["bytes"] + flood["count"] * _HEADERS)
    return Jammed(
        power_dbm,
        link["snr_db"][0],
        link["rate_bps"],
        link["loss"],
        frames,
        near["count"],
        frame_bits / flood["seconds"],
        other["loss"],
        far["count"],
    )


def _send(emulation: Emulation, pair: tuple[str, str], size: int, count: int, rate: float) -> Mapping[str, Any]:
    """``count`` datagrams from the first node to the second, ``rate`` a second."""
    python = [sys.executable, "-c"]
    receiver = emulation.start(pair[1], [*python, _RECEIVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert receiver.stdout is not None
    receiver.stdout.readline()
    emulation.run(pair[0], [*python, _SEND, pair[1], str(size), str(count), str(rate)])
    found: dict[str, Any] = json.loads(receiver.communicate("\n")[0])
    return found
