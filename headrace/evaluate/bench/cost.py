# SPDX-License-Identifier: Apache-2.0
"""What commands and calls cost in processor time, beside another commit in the same run: machines differ by more.

The other commit's tree is taken out of git into a temporary folder. Runs alternate; each figure is the median of the
ratios of neighbours.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from statistics import median
from typing import TypeVar

from headrace.build.toolchain import package_version
from headrace.errors import HeadraceError
from headrace.evaluate.bench import PROCESSOR, WALL_CLOCK, Row
from headrace.evaluate.measured import checkout
from headrace.evaluate.points import Progress
from headrace.net import pcap

BASE = "1e1770b"
"""The commit that the demands are made beside."""

T = TypeVar("T")

_PACKETS = 100
COMMAND = "import sys; from headrace.cli import main; sys.exit(main())"
# Earlier versions compile the harness into each model.
_PREPARE = """
try:
    from headrace.build.libraries import harness_library
except ImportError:
    raise SystemExit
harness_library()
"""
_CALLS = """
import time
from headrace.card import Card

def microseconds(call):
    found = []
    for _ in range(9):
        start = time.process_time()
        for _ in range(1000):
            call()
        found.append(time.process_time() - start)
    return min(found) * 1e3

with Card.open("filter", progress=False) as card:
    print(microseconds(lambda: card.run(until=None, cycles=4)), microseconds(lambda: card.stats().time_ns))
"""


@dataclass(frozen=True)
class Cost:
    """Of a program and all that it has started: processor seconds, and seconds on the wall's clock."""

    processor_s: float
    wall_s: float
    output: str


@dataclass(frozen=True)
class Tree:
    """A version of Headrace, and the Python that has what it needs."""

    name: str
    root: Path
    python: str

    def run(self, program: str, *arguments: str, folder: Path, cache: str) -> Cost:
        """Runs a Python program in ``folder``, with a cache there. Raises HeadraceError where it fails."""
        environment = os.environ | {
            "PYTHONPATH": str(self.root),
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
            "HEADRACE_CACHE": str(folder / cache),
            "CCACHE_DISABLE": "1",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return spent([self.python, "-c", program, *arguments], self.name, folder, environment)


def spent(
    command: Sequence[str | Path], what: str, folder: Path | None = None, environment: dict[str, str] | None = None
) -> Cost:
    """Runs a program; it and all that it has started end with this process's interest in it. Raises HeadraceError with
    the last line that it says where it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True, process_group=0
    ) as process:
        try:
            output, errors = process.communicate()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    after, wall_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    if process.returncode != 0:
        lines = errors.strip().splitlines() or [f"ended with {process.returncode}"]
        raise HeadraceError(f"{what}: {lines[-1].removeprefix('headrace: ')}")
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall_s, output)


def run(full: bool, progress: Progress, beside: str | None = None) -> list[Row]:
    """All rows. ``beside``: a commit of the checkout that this package is; BASE unless given.

    Raises HeadraceError where there is no git, checkout or such commit.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-cost-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        here = Tree("this tree", checkout(), sys.executable)
        there, demanded = taken_out(beside or BASE, here.root, folder / "beside")
        return _rows(here, there, folder, full, demanded, progress)


def _rows(here: Tree, there: Tree, folder: Path, full: bool, demanded: bool, progress: Progress) -> list[Row]:
    caches = {here: "here", there: "there"}
    for tree, cache in caches.items():
        progress(f"{tree.name}: compiling what models share", None)
        tree.run(_PREPARE, folder=folder, cache=f"{cache}-ready")
        (folder / f"{cache}-ready").mkdir(0o700, exist_ok=True)

    def build(tree: Tree) -> Cost:
        shutil.rmtree(folder / caches[tree], ignore_errors=True)
        shutil.copytree(folder / f"{caches[tree]}-ready", folder / caches[tree])
        return tree.run(COMMAND, "build", "filter", folder=folder, cache=caches[tree])

    def calls(tree: Tree) -> tuple[float, float]:
        run_us, look_us = tree.run(_CALLS, folder=folder, cache=caches[tree]).output.split()
        return float(run_us), float(look_us)

    capture = _capture(folder / "in.pcap")
    command = ("filter", "tcp port 80", str(capture), "-w", str(folder / "out.pcap"))

    def filtered(tree: Tree) -> float:
        return tree.run(COMMAND, *command, folder=folder, cache=caches[tree]).processor_s * 1e3

    def pairs(what: str, rounds: int, measure: Callable[[Tree], T]) -> list[tuple[T, T]]:
        found = []
        for number in range(rounds):
            progress(what, number / rounds)
            found.append((measure(here), measure(there)))
        return found

    def row(what: str, most: float | None, unit: str, values: list[tuple[float, float]], kind: str = PROCESSOR) -> Row:
        ratio = median(ours / theirs for ours, theirs in values)
        ours, theirs = (median(side) for side in zip(*values, strict=True))
        must, ok = ("-", None) if most is None or not demanded else (f"at most {100 * most:.0f} %", ratio <= most)
        return Row("cost", what, must, ratio, f"of {there.name}'s", ok, kind, f"{ours:.3g} beside {theirs:.3g} {unit}")

    builds = pairs("first builds of the filter card", 3 if full else 1, build)
    for tree in caches:
        filtered(tree)  # from now on all is compiled
    filters = pairs("headrace filter", 15, filtered)
    both = pairs("calls", 5, calls)
    return [
        row("card.run of 4 cycles", 0.1, "us", [(ours[0], theirs[0]) for ours, theirs in both]),
        row("a look at the time: card.stats().time_ns", 0.1, "us", [(ours[1], theirs[1]) for ours, theirs in both]),
        row(f"headrace filter of {_PACKETS} packets, file to file, its model built before", 0.5, "ms", filters),
        row(
            "first build of the filter card, once libheadrace is there, without ccache",
            2 / 3,
            "s",
            [(ours.processor_s, theirs.processor_s) for ours, theirs in builds],
        ),
        row("its time", None, "s", [(ours.wall_s, theirs.wall_s) for ours, theirs in builds], WALL_CLOCK),
    ]


def taken_out(commit: str, root: Path, folder: Path) -> tuple[Tree, bool]:
    """A commit's tree in ``folder``, and whether it is BASE. Raises HeadraceError where there is no git or commit."""
    git = shutil.which("git")
    if git is None:
        raise HeadraceError("git is not installed: apt-get install git")
    question = [git, "-C", str(root), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]
    found = subprocess.run(question, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        why = found.stderr.partition("\n")[0].removeprefix("fatal: ") or "no such commit in this checkout's history"
        raise HeadraceError(f"--beside {commit}: {why}", 2)
    full = found.stdout.strip()
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    spent([git, "-C", root, "archive", "--format=tar", "-o", archive, full], "git archive")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return Tree(full[: len(BASE)], folder, _python_for(folder, commit)), full.startswith(BASE)


def _python_for(root: Path, commit: str) -> str:
    """This Python if it has the packages that a tree wants, otherwise one of the tree's own that gets them."""
    try:
        wanted = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    except (OSError, ValueError, KeyError):
        raise HeadraceError(
            f"--beside {commit}: there is no Headrace with a pyproject.toml in this commit", 2
        ) from None
    if all(map(_is_here, wanted)):
        return sys.executable
    environment = root.with_name(f"{root.name}-venv")
    spent([sys.executable, "-m", "venv", environment], f"a Python for {commit}")
    python = environment / "bin" / "python"
    spent([python, "-m", "pip", "install", "--quiet", *wanted], f"packages for {commit}")
    return str(python)


def _is_here(requirement: str) -> bool:
    name, _, version = requirement.partition("==")
    try:
        return package_version(name) == version
    except PackageNotFoundError:
        return False


def _capture(path: Path) -> Path:
    """A small capture of TCP packets, a third of them to port 80."""
    with path.open("wb") as file:
        writer = pcap.begin(file)
        for number in range(_PACKETS):
            ports = (49152 + number).to_bytes(2, "big") + (80 + number % 3).to_bytes(2, "big")
            header = bytes.fromhex("0200000000010200000000020800 4500002e00004000400600000a0000010a000002")
            writer.write_packet(header + ports + bytes(22), sec=number, usec=0)
    return path
