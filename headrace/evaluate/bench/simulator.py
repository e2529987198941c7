"""How fast virtual cards are on this machine: each beside another commit's that is built and run in the same call, by
processor time, since machines differ by more than commits do; and what a user gets of them. Cards of this tree that a
user would profile are measured with and without (``headrace build --profile``).

Runs of both alternate; of each side the least time counts. That cards do the same is seen by their cycles and packets.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from headrace import cache as cachedir
from headrace.build.toolchain import Tier
from headrace.errors import HeadraceError
from headrace.evaluate.bench import PROCESSOR, WALL_CLOCK, Row
from headrace.evaluate.bench.cost import COMMAND, Tree, spent, taken_out
from headrace.evaluate.loads import function_clients, speed, speed_live, switch_network
from headrace.evaluate.loads.speed import Taken
from headrace.evaluate.loads.speed_live import BETWEEN_FUNCTIONS, SWITCHED, Spent
from headrace.evaluate.measured import checkout
from headrace.evaluate.points import Progress
from headrace.traffic import realistic_capture

T = TypeVar("T")
BESIDE = "b71b025"
"""The commit that the demands are made beside."""
ROUNDS, LIVE_ROUNDS = 9, 3
"""Of runs that take seconds, and of real programs."""

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
_FORWARD = "NIC card, 16 functions: testpmd forwards between two"
_LIVE: dict[str, tuple[Callable[[list[str]], Spent], float]] = {
    _FORWARD: (speed_live.forwarded, 4.0),
    "bridge card between TAPs: 1 KB at 64 bits": (speed_live.bridged, 3.0),
    _STREAM: (lambda headrace: speed_live.streamed(headrace, *switch_network.CUBIC), 6.0),
    _PING: (lambda headrace: speed_live.pinged(headrace, SWITCHED), 10.0),
    _PING_NIC: (lambda headrace: speed_live.pinged(headrace, BETWEEN_FUNCTIONS), 10.0),
}
_GATHER_S = 15.0  # of a live run that is long enough for a profile
_PROFILES: dict[str, tuple[Sequence[str], Callable[[_Version], object]]] = {
    "switch": (["switch", "-P", "PORTS=4", "-P", "TABLES=4"], lambda version: version.load("switch, mixed")),
    "NIC": (["nic", "-P", "FUNCTIONS=16"], lambda version: speed_live.forwarded(version.headrace, _GATHER_S)),
    "filter": (["filter"], lambda version: version.load("filter, long")),
}
"""By the beginning of what is measured: the card, and a run by whose profile it is compiled, too."""


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

    def profile(self, progress: Progress) -> None:
        """Compiles cards by the profiles of runs, where they aren't in the cache yet. Raises HeadraceError."""
        for name, (card, gather) in _PROFILES.items():
            progress(f"{name} card by a profile", None)
            build = [*self.headrace, "build", *card, "--profile"]
            while Tier.of(Path(spent(build, f"{name} card").output.strip())) is not Tier.PROFILED:
                gather(self)

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
            "PYTHONUNBUFFERED": 1,
            "PYTHONSAFEPATH": 1,
            "HEADRACE_CACHE": cache,
            "CCACHE_DISABLE": "1",
            **variables,
        }
        settings = (f"{name}={value}" for name, value in chosen.items())
        return ["env", "-u", "HEADRACE_OPTIMISE", *settings, self.tree.python, "-c"]


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
        profiled = _Version(here.tree, cachedir.cache_folder("profiled"))
        cachedir.make_folder(profiled.cache)
        profiled.profile(progress)
        return _rows(here, profiled, _Version(tree, kept), folder, progress)


def _live(load: Callable[[list[str]], Spent], version: _Version) -> Spent:
    return load(version.headrace)


def _rows(here: _Version, profiled: _Version, there: _Version, folder: Path, progress: Progress) -> list[Row]:
    def row(what: str, least: float | None, ours: float, theirs: float, unit: str, note: str = "") -> Row:
        ratio = theirs / ours
        must, ok = ("-", None) if least is None else (f"at least {least:g}", ratio >= least)
        both = f"{ours:.3g} beside {theirs:.3g} {unit}{note and '; ' + note}"
        return Row("sim", what, must, ratio, f"times as fast as {BESIDE}", ok, PROCESSOR, both)

    def best(what: str, load: Callable[[_Version], T], value: Callable[[T], float], count: int) -> list[T]:
        """Of so many rounds: of this tree, of the other commit, and of this tree's card that is compiled by a profile,
        where there is one."""
        versions = [here, there, *[profiled] * what.startswith(tuple(_PROFILES))]
        rounds = []
        for turn in range(count):
            progress(what, turn / count)
            rounds.append([load(version) for version in versions])
        return [min(side, key=value) for side in zip(*rounds, strict=True)]

    def rows_of(what: str, least: float | None, found: list[float], unit: str, note: str = "") -> list[Row]:
        """As ``best`` gives them; what is demanded is of the fastest."""
        ours, theirs, *further = found
        return [
            row(what, None if further else least, ours, theirs, unit, note),
            *(row(f"{what}; compiled by a profile", least, one, theirs, unit, note) for one in further),
        ]

    rows = []
    for name, (what, least) in _LOADS.items():
        runs = best(what, partial(_Version.load, name=name), lambda taken: taken.seconds, ROUNDS)
        ours, theirs, *_ = runs
        note = f"{ours.cycles:,} beside {theirs.cycles:,} cycles" + (
            "" if ours.packets == theirs.packets else f"; {ours.packets:,} beside {theirs.packets:,} packets"
        )
        rows += rows_of(what, least, [run.seconds for run in runs], "s", note)
    users: dict[str, Spent] = {}
    for what, (live, least) in _LIVE.items():
        served = best(what, partial(_live, live), lambda one: one.each, LIVE_ROUNDS)
        users[what] = served[0]
        rows += rows_of(what, least, [one.each * 1e6 for one in served], "us each")
    progress("iperf3 UDP", None)
    rows += _user(users, speed_live.streamed(here.headrace, *switch_network.SMALLEST))
    progress("first ping, nothing compiled", None)
    rows.append(row("switch run --learn to the first ping, nothing compiled", 3.0, here.pinged(), there.pinged(), "s"))
    realistic_capture(folder / "in.pcap", _PACKETS)
    progress("first filter, nothing compiled", None)
    first = here.filtered(folder), there.filtered(folder)
    rows.append(row("headrace filter of a small capture, nothing compiled", 3.0, *first, "s"))
    progress("demo, nothing compiled", None)
    demo, before = here.demo(folder), there.demo(folder)
    rows.append(row("headrace demo to its first result, nothing compiled", 3.0, demo[0], before[0], "s"))
    rows.append(row("headrace demo in all, nothing compiled", 2.0, demo[1], before[1], "s"))
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
