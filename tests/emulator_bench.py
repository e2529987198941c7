"""Scenarios for tests of the emulator, and what is left of one."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from function_card import FUNCTIONS, PARAMETERS
from patience import HANG_S, until

from headrace.emulator import control
from headrace.emulator.client import Emulation

FABRICS: Mapping[str, Mapping[str, Any]] = {
    "software": {},
    "ovs": {},
    "rtl": {**PARAMETERS, "FUNCTIONS": FUNCTIONS, "LINKS": 0},
}
"""Their parameters; the card is the one of other tests: 4 ports, of all kinds. Links in it: see test_card_links."""


def with_fabric(fabric: str, parameters: Mapping[str, Any] | None = None, cards: int = 1) -> str:
    """Lines of a scenario; without ``parameters`` those of FABRICS."""
    given = FABRICS[fabric] if parameters is None else parameters
    words = ", ".join(f"{key} = {value}" for key, value in given.items())
    lines = f'fabric = "{fabric}"\nfabric_parameters = {{{words}}}'
    return f"{lines}\nfabric_cards = {cards}" if cards > 1 else lines


def scenario(folder: Path, places: Sequence[Sequence[float]], more: str = "", radio: str = "range_m = 150") -> Path:
    """The file of nodes that stand at these places."""
    path = folder / "scenario.toml"
    path.write_text(
        f"nodes = {len(places)}\n{more}\n"
        f'[movement]\nkind = "static"\npositions = {[list(place) for place in places]}\n[radio]\n{radio}\n'
    )
    return path


def record(folder: Path, nodes: int, steps: Sequence[Sequence[Mapping[str, Any]]]) -> Path:
    """Links at each step (see ``link``), as headrace emulate run --record writes them."""
    lines: list[dict[str, Any]] = [{"nodes": [f"n{number}" for number in range(1, nodes + 1)]}]
    for number, links in enumerate(steps):
        lines.append({"time_s": float(number), "positions": [[0.0] * 3] * nodes, "links": links})
    path = folder / "links.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def two_nodes(
    folder: Path, fabric: str, parameters: Mapping[str, Any], states: Sequence[Mapping[str, Any]]
) -> tuple[Path, Path]:
    """A scenario of two nodes, and the record of how their link is at each step."""
    more = f'phys = 1\nrouting = "shortest"\n{with_fabric(fabric, parameters)}'
    return scenario(folder, [(0, 0)] * 2, more), record(folder, 2, [[link(0, 1, **state)] for state in states])


def link(a: int, b: int, **state: Any) -> dict[str, Any]:
    """Of a record: between two nodes (their indices), without delay and loss unless it is said."""
    return {"nodes": [a, b], "distance_m": 1.0, "delay_ns": 0, "rate_bps": 5e7, "loss": 0.0, **state}


def know_neighbours(emulation: Emulation) -> None:
    """The two nodes don't ask for addresses."""
    for node, other in ((1, 2), (2, 1)):
        mac = f"02:00:00:{other:02x}:00:00"
        emulation.run(f"n{node}", ["ip", "neigh", "replace", f"10.0.0.{other}", "lladdr", mac, "dev", "phy0"])


def ping(emulation: Emulation, *words: str) -> tuple[int, float]:
    """Echo requests of n1 to n2: how many were answered, and the shortest time of one in ms."""
    said = emulation.run("n1", ["ping", "-q", *words, "n2"]).stdout
    fastest = re.search(r"rtt [^=]*= ([0-9.]+)/", said)
    return int(said.split(" received")[0].split()[-1]), float(fastest[1]) if fastest else math.inf


def pings(emulation: Emulation, count: int, *words: str) -> tuple[int, float]:
    """The same, one after the other: of several in a row ping gives up the last ones after two round trips."""
    found = [ping(emulation, "-c", "1", "-W", str(HANG_S), *words) for _ in range(count)]
    return sum(answered for answered, _ in found), min(fastest_ms for _, fastest_ms in found)


def echo_requests(emulation: Emulation) -> int:
    """That n2 has got."""
    lines = [line.split() for line in emulation.run("n2", ["cat", "/proc/net/snmp"]).stdout.splitlines()]
    names, values = (line for line in lines if line[0] == "Icmp:")
    return int(values[names.index("InEchos")])


class Process(NamedTuple):
    """``started``, in ticks since the machine's start, tells it from a later one with the same number."""

    pid: int
    started: int


class Household(NamedTuple):
    """Of a process: all that come from it, the network namespaces that they are in beside its own, and all who are in
    these, whoever they come from."""

    family: set[Process]
    networks: set[str]
    inside: set[Process]


def household(pid: int) -> Household:
    """As it is now. The kernel gives the number of a namespace that has gone to the next one: who is in the networks
    is a question for the time before they end."""
    every = {process: (parent, network) for process, parent, network in _processes()}
    found = {process for process in every if process.pid == pid}
    own = {every[process][1] for process in found}
    while more := {each for each, (parent, _) in every.items() if parent in {one.pid for one in found}} - found:
        found |= more
    networks = {every[process][1] for process in found} - own - {""}
    return Household(found, networks, {process for process, (_, network) in every.items() if network in networks})


def living(of: Household) -> set[Process]:
    """Those that haven't ended."""
    return (of.family | of.inside) & {process for process, _, _ in _processes()}


def nothing_left(emulation: Emulation, of: Household) -> None:
    """Waits until all of them have ended, and the name is free."""
    until(lambda: not living(of) and not control.is_up(emulation.name), "an emulation to leave nothing behind")


def _processes() -> Iterator[tuple[Process, int, str]]:
    """All that haven't ended, with their parents and their network namespaces; empty where we may not know."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if fields[0] in "ZX":
                    continue
            except OSError:
                continue
            try:
                network = os.readlink(entry / "ns/net")
            except OSError:
                network = ""
            yield Process(int(entry.name), int(fields[19])), int(fields[1]), network


def loses_each_way_by_itself(emulation: Emulation) -> None:
    """Of two nodes, in three steps: 0.3 is lost there and back, then all that comes back, then nothing."""
    answered, _ = ping(emulation, "-c", "400", "-i", "0.01")
    assert abs(answered / 400 - 0.7**2) < 0.125  # 5 sigma; there and back
    emulation.step()
    before = echo_requests(emulation)
    assert ping(emulation, "-c", "5", "-i", "0.2", "-W", "1")[0] == 0
    until(lambda: echo_requests(emulation) == before + 5, "what goes the other way")
    emulation.step()
    assert ping(emulation, "-c", "5", "-i", "0.2")[0] == 5
