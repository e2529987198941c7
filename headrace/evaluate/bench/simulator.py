"""How fast virtual cards are on this machine: each beside another commit's that is built and run in the same call, by
processor time, since machines differ by more than commits do; and what a user gets of them.

Runs of both alternate; of each side the least time counts. That cards do the same is seen by their cycles and packets.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace import cache as cachedir
from headrace.errors import HeadraceError
from headrace.evaluate.bench import PROCESSOR, WALL_CLOCK, Row
from headrace.evaluate.bench.cost import COMMAND, Tree, spent, taken_out
from headrace.evaluate.loads import function_clients, speed, speed_live, switch_network
from headrace.evaluate.loads.speed import Taken
from headrace.evaluate.loads.speed_live import BETWEEN_FUNCTIONS, SWITCHED, Spent
from headrace.evaluate.measured import checkout
from headrace.evaluate.points import Progress
from headrace.traffic import realistic_capture

BESIDE = "b71b025"
"""The commit that the demands are made beside."""
ROUNDS = 3

_PACKETS = 1_000  # of a small capture
_FIRST_RESULT = re.compile(r"─ (1 of \d|2 )")  # in the demo's titles; b71b025's first one is the traffic
_LOADS = {
    "switch 1514": ("switch card, 4 ports, 4 tables: 1,514-byte frames at line rate both ways", 4.0),
    "switch 60": ("switch card, 4 ports, 4 tables: 60 bytes, a lookup a cycle", 2.0),
    "switch 60, 5 %": ("switch card, 4 ports, 4 tables: 60 bytes, 5 % of the line", 6.0),
    "nic idle": ("NIC card, 16 functions: cycles in which nothing moves", None),
    "rpu": ("RPU card, 8 units: 64 bytes", 2.0),
    "filter none": ("filter card, 8 cores: 64 bytes, file to file, none accepted", 1.5),
    "filter all": ("filter card, 8 cores: 64 bytes, file to file, all accepted and written", 1.5),
}
_STREAM = "iperf3 TCP through headrace switch run between two namespaces, all defaults"
_PING, _PING_NIC = "a ping a second through the switch", "a ping a second through the NIC"
_LIVE: dict[str, tuple[Callable[[list[str]], Spent], float]] = {
    "NIC card, 16 functions: testpmd forwards between two": (speed_live.forwarded, 4.0),
    "bridge card between TAPs: 1 KB at 64 bits": (speed_live.bridged, 3.0),
    _STREAM: (lambda headrace: speed_live.streamed(headrace, *switch_network.CUBIC), 6.0),
    _PING: (lambda headrace: speed_live.pinged(headrace, SWITCHED), 10.0),
    _PING_NIC: (lambda headrace: speed_live.pinged(headrace, BETWEEN_FUNCTIONS), 10.0),
}


@dataclass(frozen=True)
class _Version:
    """A version of Headrace with its compiled cards."""

    tree: Tree
    cache: Path

    @property
    def headrace(self) -> list[str]:
        """The words that start it with cards as they are once they have run for long."""
        return [*self._python(self.cache, HEADRACE_OPTIMISE="now"), COMMAND]

    def load(self, name: str) -> Taken:
        """A load of ``speed``. Raises HeadraceError."""
        words = [*self._python(self.cache, HEADRACE_OPTIMISE="now"), Path(speed.__file__).read_text(), name]
        return Taken(**json.loads(spent(words, f"{self.tree.name}: {name}").output))

    def filtered(self, folder: Path) -> float:
        """Processor seconds of a filter of a small capture, where nothing is compiled. Raises HeadraceError."""
        with _empty() as cache:
            words = ["filter", "tcp port 80", str(folder / "in.pcap"), "-w", str(folder / "out.pcap")]
            return spent([*self._python(Path(cache)), COMMAND, *words], self.tree.name).processor_s

    def pinged(self) -> float:
        """Processor seconds of a learning switch up to the first ping's answer, where nothing is compiled. Raises
        HeadraceError."""
        with _empty() as cache:
            return speed_live.first_ping([*self._python(Path(cache)), COMMAND], SWITCHED)

    def demo(self, folder: Path) -> tuple[float, float]:
        """Processor seconds of the demo up to its first result, and in all, where nothing is compiled. Raises
        HeadraceError."""
        with _empty() as cache:
            words = [*self._python(Path(cache)), COMMAND, "demo", "--folder", str(folder / "demo")]
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
                assert process.stdout is not None
                first = next(
                    (speed_live.processor_s(process.pid) for line in process.stdout if _FIRST_RESULT.search(line)), None
                )
                process.stdout.read()
                whole = os.wait4(process.pid, 0)[2]
        if first is None:
            raise HeadraceError(f"{self.tree.name}: the demo shows nothing")
        return first, whole.ru_utime + whole.ru_stime

    def _python(self, cache: Path, **variables: str) -> list[str]:
        """The words that run a program's text in it with a cache."""
        chosen = {
            "PYTHONPATH": self.tree.root,
            "PYTHONSAFEPATH": 1,
            "HEADRACE_CACHE": cache,
            "CCACHE_DISABLE": "1",
            **variables,
        }
        return ["env", *(f"{name}={value}" for name, value in chosen.items()), self.tree.python, "-c"]


def run(progress: Progress) -> list[Row]:
    """All rows. Raises HeadraceError where there is no git, checkout or such commit, or a program is missing."""
    if reason := function_clients.no_testpmd() or switch_network.why_not("iperf3"):
        raise HeadraceError(reason)
    with tempfile.TemporaryDirectory(prefix="headrace-sim-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        tree, _ = taken_out(BESIDE, checkout(), folder / "beside")
        kept = cachedir.cache_folder("beside") / BESIDE  # its cards take minutes to build
        cachedir.make_folder(kept)
        here = _Version(Tree("this tree", checkout(), sys.executable), cachedir.cache_folder("models").parent)
        return _rows(here, _Version(tree, kept), folder, progress)


def _rows(here: _Version, there: _Version, folder: Path, progress: Progress) -> list[Row]:
    def row(what: str, least: float | None, ours: float, theirs: float, unit: str, note: str = "") -> Row:
        ratio = theirs / ours
        must, ok = ("-", None) if least is None else (f"at least {least:g}", ratio >= least)
        both = f"{ours:.3g} beside {theirs:.3g} {unit}{note and '; ' + note}"
        return Row("sim", what, must, ratio, f"times as fast as {BESIDE}", ok, PROCESSOR, both)

    rows = []
    for name, (what, least) in _LOADS.items():
        pairs = []
        for turn in range(ROUNDS):
            progress(what, turn / ROUNDS)
            pairs.append((here.load(name), there.load(name)))
        ours, theirs = (min(side, key=lambda taken: taken.seconds) for side in zip(*pairs, strict=True))
        note = f"{ours.cycles:,} beside {theirs.cycles:,} cycles" + (
            "" if ours.packets == theirs.packets else f"; {ours.packets:,} beside {theirs.packets:,} packets"
        )
        rows.append(row(what, least, ours.seconds, theirs.seconds, "s", note))
    users: dict[str, Spent] = {}
    for what, (load, least) in _LIVE.items():
        found = []
        for turn in range(ROUNDS):
            progress(what, turn / ROUNDS)
            found.append((load(here.headrace), load(there.headrace)))
        users[what], beside = (min(side, key=lambda one: one.each) for side in zip(*found, strict=True))
        rows.append(row(what, least, users[what].each * 1e6, beside.each * 1e6, "us each"))
    progress("iperf3 UDP", None)
    rows += _user(users, speed_live.streamed(here.headrace, *switch_network.SMALLEST))
    progress("first ping, nothing compiled", None)
    rows.append(row("switch run --learn to the first ping, nothing compiled", 3.0, here.pinged(), there.pinged(), "s"))
    realistic_capture(folder / "in.pcap", _PACKETS)
    progress("first filter, nothing compiled", None)
    first = here.filtered(folder), there.filtered(folder)
    rows.append(row("headrace filter of a small capture, nothing compiled", 3.0, *first, "s"))
    progress("demo, nothing compiled", None)
    ours, theirs = here.demo(folder), there.demo(folder)
    rows.append(row("headrace demo to its first result, nothing compiled", 3.0, ours[0], theirs[0], "s"))
    rows.append(row("headrace demo in all, nothing compiled", 2.0, ours[1], theirs[1], "s"))
    return rows


def _user(found: Mapping[str, Spent], udp: Spent) -> list[Row]:
    """What users get on this machine, from the best runs of this tree."""

    def row(what: str, value: float, unit: str) -> Row:
        return Row("sim", what, "-", value, unit, None, WALL_CLOCK)

    return [
        row("round trip of a ping through the switch", found[_PING].measure, "ms"),
        row("round trip of a ping through the NIC", found[_PING_NIC].measure, "ms"),
        row("iperf3 TCP through the switch", found[_STREAM].measure / 1e6, "Mb/s"),
        row("iperf3 UDP of 64-byte packets through the switch", udp.measure / 60 / 8, "packets a second"),
    ]


def _empty() -> tempfile.TemporaryDirectory[str]:
    """An empty cache."""
    return tempfile.TemporaryDirectory(prefix="headrace-empty-", ignore_cleanup_errors=True)
