"""Loads of the emulator's nodes and their traffic: bandwidth of single links and messages, many streams, many nodes,
and what is left when a process is killed.

All rates are wall clock on this machine. Links aren't held to a rate, unless it is said.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from headrace.emulator import control
from headrace.emulator.client import Emulation, wait_for_stream
from headrace.emulator.processes.component import MESSENGER
from headrace.emulator.processes.wire import MAX_BODY
from headrace.errors import HeadraceError

PAYLOADS = (100, 500, 1_400, 5_000, 20_000, MAX_BODY)
NODES = (6, 32)
PHYS = 4
FIVE = {6: ((1, 2), (2, 5), (4, 5), (5, 6), (6, 3)), 32: ((1, 19), (10, 11), (3, 12), (30, 23), (32, 8))}
"""Streams of a grid of so many nodes with as many hops as those of figure 3.4."""
PATIENCE_S = 900
"""After so many seconds without what is waited for, it does not come."""

_APART_M = 100.0
_REACH_M = 120.0
_COLUMNS = {6: 3, 32: 8}
_UNLIMITED = "rate_bps = 1e12"
_RADIO_BPS = 54e6
# Places in a ring, found by a search, so that the hops of table 3.1 come out.
_ORDER = (
    14, 30, 1, 25, 31, 18, 10, 0, 20, 11, 13, 28, 16, 3, 22, 19, 17, 23, 24, 27, 8, 7, 12, 26, 5, 4, 15, 9, 21, 6, 29, 2
)  # fmt: skip

Places = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Single:
    """One stream alone among ``nodes``: bits per second of payload between two PHYs (``between``, TCP), from the
    messenger to a PHY of its node (``within``, UDP: what comes, beside what was sent), and of whole messages."""

    nodes: int
    payload: int
    between_bps: float
    within_bps: float
    within_lost: float
    messages_bps: float


@dataclass(frozen=True)
class Streamed:
    """A stream beside others."""

    source: int
    destination: int
    hops: int
    bps: float
    sent: int
    received: int
    lost: int


@dataclass(frozen=True)
class Scale:
    """Telemetry both ways over all links of so many nodes. ``built_s``: from the command to all connections;
    ``script_s``: a script of ``ip`` commands for the same namespaces and cables; ``node_bytes``: ``MemAvailable`` that
    went, a node; ``lost``: messages that did not come, over links that lose none."""

    nodes: int
    phys: int
    processes: int
    links: int
    streams: int
    built_s: float
    script_s: float
    node_bytes: float
    sent: int
    received: int
    lost: int
    latency_p99_s: float


@dataclass(frozen=True)
class Killed:
    """``left``: processes of an emulation that were there after one was killed with SIGKILL, once it had said that it
    has ended; ``said``: that."""

    victim: str
    left: int
    said: str


# --------------------------------------------------------------------------------------------------------- networks


def grid(nodes: int) -> Places:
    """Nodes in rows, a hundred metres apart: those in the middle have four neighbours."""
    columns = _COLUMNS.get(nodes, math.isqrt(nodes))
    return [(node % columns * _APART_M, node // columns * _APART_M) for node in range(nodes)]


def ring(nodes: int, phys: int = PHYS) -> tuple[Places, float]:
    """Nodes on a circle, and a reach at which each has half of its PHYs' neighbours on each side."""
    radius = _APART_M * nodes / (2 * math.pi)
    turns = [2 * math.pi * node / nodes for node in range(nodes)]
    reach = 2 * radius * math.sin((phys // 2 + 0.5) * math.pi / nodes)
    return [(radius * math.cos(turn), radius * math.sin(turn)) for turn in turns], reach


@contextlib.contextmanager
def network(
    places: Places,
    more: str = "",
    reach_m: float = _REACH_M,
    radio: str = _UNLIMITED,
    *,
    phys: int = PHYS,
    fabric: str | None = None,
) -> Iterator[Emulation]:
    """An emulation of nodes at these places, which don't move. Raises HeadraceError."""
    positions = [[round(axis, 3) for axis in place] for place in places]
    text = (
        f"nodes = {len(places)}\nphys = {phys}\n{more}\n[movement]\nkind = 'static'\npositions = {positions}\n"
        f"[radio]\nrange_m = {reach_m}\n{radio}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(text)
        with Emulation(path, fabric=fabric, hold=True) as emulation:
            yield emulation


_OWN = 'processes = "manet"'


# ------------------------------------------------------------------------------------------------- figures 3.1 to 3.4


def single_streams(nodes: int, payloads: Sequence[int] = PAYLOADS, seconds: float = 2.0) -> list[Single]:
    """Figures 3.1 to 3.3: each payload by itself, from the first node of a grid to its neighbour."""
    with network(grid(nodes), _OWN) as emulation:
        link = next(link for link in emulation.status()["links"] if link["nodes"] == ["n1", "n2"])
        here, there = link["phys"]
        return [
            Single(
                nodes,
                payload,
                _carried(emulation, ("n1", here), ("n2", there), payload, seconds),
                *_filled(emulation, ("n1", MESSENGER), ("n1", here), payload, seconds),
                _messages(emulation, payload, seconds),
            )
            for payload in payloads
        ]


def _carried(
    emulation: Emulation, source: tuple[str, str], sink: tuple[str, str], payload: int, seconds: float
) -> float:
    """``_filled`` of a TCP connection, by which all must come, once."""
    bps, lost = _filled(emulation, source, sink, payload, seconds)
    if lost:
        raise HeadraceError(f"{payload:,} bytes: {1 - lost:.1%} of what was sent by TCP has come")
    return bps


def _filled(
    emulation: Emulation, source: tuple[str, str], sink: tuple[str, str], payload: int, seconds: float
) -> tuple[float, float]:
    """Bits of payload per second that come from a process to another, and the part that doesn't come."""

    def filled() -> list[float]:
        found: list[float] = emulation.processes(sink[0])[sink[1]]["filled"]
        return found

    def sent() -> int:
        counts: Mapping[str, int] = emulation.processes(source[0])[source[1]]["counts"]
        return counts.get("filled_out", 0)

    before = sent()
    emulation.ask("ask-process", node=sink[0], role=sink[1], request={"do": "count"})
    request = {"do": "fill", "size": payload, "seconds": seconds, "role": sink[1]}
    emulation.ask("ask-process", node=source[0], role=source[1], request=request)
    time.sleep(seconds)
    _until(filled, "what fills a link")
    last: list[float] = []
    while (now := filled()) != last:  # until no more comes
        last = now
        time.sleep(0.2)
    packets, octets, first_s, last_s = last
    return octets * 8 / (last_s - first_s), 1 - packets / (sent() - before)


def _messages(emulation: Emulation, payload: int, seconds: float) -> float:
    stream = emulation.traffic("n1", "n2", kind="image", size=payload, duration_s=seconds)
    bps: float = wait_for_stream(emulation.name, stream)["throughput_bps"]
    return bps


def many_streams(
    places: Places,
    reach_m: float,
    pairs: Sequence[tuple[int, int]],
    seconds: float = 5.0,
    *,
    phys: int = PHYS,
    fabric: str | None = None,
) -> list[Streamed]:
    """Streams of images, all at the same time, among nodes (numbers from 1)."""
    with network(places, _OWN, reach_m, phys=phys, fabric=fabric) as emulation:
        names = [emulation.traffic(f"n{a}", f"n{b}", kind="image", start_s=1.0, duration_s=seconds) for a, b in pairs]
        found = [wait_for_stream(emulation.name, name) for name in names]
    return [
        Streamed(a, b, each["hops"], each["throughput_bps"], each["sent"], each["received"], each["lost"])
        for (a, b), each in zip(pairs, found, strict=True)
    ]


def five_streams(nodes: int, seconds: float = 5.0, *, phys: int = PHYS, fabric: str | None = None) -> list[Streamed]:
    """Figure 3.4: five streams over as many hops as in the thesis, in a grid of nodes."""
    return many_streams(grid(nodes), _REACH_M, FIVE[nodes], seconds, phys=phys, fabric=fabric)


def table_streams(pairs: Sequence[tuple[int, int]], seconds: float = 5.0) -> list[Streamed]:
    """Table 3.1: its streams over as many hops as in the thesis, among 32 nodes with 4 neighbours each."""
    return many_streams(*table_places(), pairs, seconds)


def table_places() -> tuple[Places, float]:
    """A ring in which the streams of table 3.1 have as many hops as there, and its reach."""
    places, reach_m = ring(len(_ORDER))
    return [places[each] for each in _ORDER], reach_m


# ------------------------------------------------------------------------------------------------------------- scale


def scale(nodes: int = 100, phys: int = PHYS, messages: int = 10, *, own: bool = True) -> Scale:
    """Nodes in a ring, all PHYs in use, telemetry once a second both ways over every link. ``own``: with the thesis'
    processes; otherwise over plain IP. Raises HeadraceError."""
    places, reach = ring(nodes, phys)
    more = f'{_OWN}\ncoordinator = "n1"' if own else 'routing = "shortest"'
    script_s = script(nodes, phys, phys + 3 if own else 0)
    free, began = _free(), time.monotonic()
    with network(places, more, reach, f"rate_bps = {_RADIO_BPS}", phys=phys) as emulation:
        built_s = time.monotonic() - began
        links = [link["nodes"] for link in emulation.status()["links"]]
        names = [
            emulation.traffic(*ends, kind="telemetry", interval_s=1.0, count=messages)
            for pair in links
            for ends in (pair, pair[::-1])
        ]
        _until(lambda: all(each["done"] for each in emulation.status()["traffic"]), "the last message")
        node_bytes = (free - _free()) / nodes
        found = emulation.status()["traffic"]
        processes = len(_family(emulation.pid))
    sent, received = (sum(each[key] for each in found) for key in ("sent", "received"))
    late = max((each["latency_s"].get("p99", math.inf) for each in found), default=math.inf)
    return Scale(
        nodes, phys, processes, len(links), len(names), built_s, script_s, node_bytes, sent, received, sent - received,
        late,
    )  # fmt: skip


def script(nodes: int, phys: int, own: int) -> float:
    """Seconds that a script of ``ip`` commands takes for as many namespaces and cables: a namespace for each node and
    each of its ``own`` processes, cables from PHYs to a network in the middle, and from processes to a bridge in the
    node. Raises HeadraceError."""
    lines = ["set -e", "mount -t tmpfs none /run"]
    for node in range(nodes):
        lines += [f"ip netns add n{node}", f"ip -n n{node} link set lo up"]
        for phy in range(phys):
            lines.append(f"ip link add p{node}-{phy} up type veth peer name phy{phy} netns n{node}")
            lines.append(f"ip -n n{node} link set phy{phy} up")
        if own:
            lines.append(f"ip -n n{node} link add int0 up type bridge")
        for each in range(own):
            lines.append(f"ip netns add n{node}-{each}")
            lines.append(f"ip -n n{node} link add c{each} up master int0 type veth peer name eth0 netns n{node}-{each}")
            lines.append(f"ip -n n{node}-{each} link set eth0 up")
    kinds = ["--net", "--mount", *(["--user", "--map-root-user"] if os.geteuid() else [])]
    began = time.monotonic()
    done = subprocess.run(
        ["unshare", *kinds, "sh"], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise HeadraceError(f"the script of ip commands: {done.stderr.strip()}")
    return time.monotonic() - began


def _free() -> int:
    """Bytes of memory."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


# ------------------------------------------------------------------------------------------------------------- clean


def killed(*, own: bool = True) -> list[Killed]:
    """Kills each process of a small emulation in turn, first the one that was started, and looks what is left. Raises
    HeadraceError."""
    found: list[Killed] = []
    more = f'{_OWN}\ncoordinator = "n1"' if own else ""
    while True:
        with network([(0, 0), (_APART_M, 0)], more, phys=1) as emulation:
            family = _family(emulation.pid)
            names = [_name(pid) for pid in family]
            number = len(found)
            if number == len(family):
                return found
            os.kill(family[number], signal.SIGKILL)
            said = emulation.wait()
            _until(partial(_is_down, emulation.name), "the end of an emulation")
            deadline = time.monotonic() + 10
            while (left := sum(map(_alive, family))) and time.monotonic() < deadline:
                time.sleep(0.02)
        found.append(Killed(names[number], left, said or ""))


def _family(pid: int) -> list[int]:
    """A process and all that come from it: behind each its children, in the order in which it has begun them."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))

    def line(pid: int) -> list[int]:
        return [pid, *(each for child in sorted(children.get(pid, ())) for each in line(child))]

    return line(pid)


def _is_down(name: str) -> bool:
    return not control.is_up(name)


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise HeadraceError(f"it does not come: {what}")
        time.sleep(0.1)
