"""What passed before and isn't run again, since nothing that it can depend on has changed.

Of tests: a key for each file of them covers what `reads.inputs` gives, and `environment`. Tests that are `live` or
`always` run each time. Benches have keys of their own, by what they are built from (rtl/simulation.py).
"""

from __future__ import annotations

import functools
import json
import os
import platform
import sys
from collections import defaultdict
from collections.abc import Generator, Mapping
from importlib import metadata
from pathlib import Path

import pytest
from reads import ROOT, file_of, inputs, tree

from headrace.build.toolchain import digest

PASSED = ROOT / "build" / "passed"
EACH_TIME = ("live", "always")
CHOICES = ("HEADRACE_", "COCOTB_", "CXX", "MUTANT")  # what variables of the environment that matter begin with
NO_CHOICES = ("HEADRACE_READS", "HEADRACE_FRESH")
PROGRAMS = Path("/var/lib/dpkg/status")  # changes with each package of Debian


@functools.cache
def packages() -> tuple[tuple[str, str], ...]:
    """Python, and all that is installed for it, with versions."""
    installed = sorted((found.name, found.version) for found in metadata.distributions())
    return (("python", platform.python_version()), *installed)


@functools.cache
def environment() -> str:
    """A digest of what tests depend on beside the tree: packages, programs, system, user, variables."""
    chosen = sorted(
        (name, value) for name, value in os.environ.items() if name.startswith(CHOICES) and name not in NO_CHOICES
    )
    folders = {os.path.realpath(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)}
    programs = sorted(
        (entry.path, entry.stat().st_size, entry.stat().st_mtime_ns)
        for folder in folders
        if os.path.isdir(folder) and not folder.startswith(os.path.realpath(sys.prefix))
        for entry in os.scandir(folder)
        if entry.is_file()
    )
    system = PROGRAMS.stat().st_mtime_ns if PROGRAMS.exists() else None
    return digest(packages(), chosen, programs, system, platform.platform(), os.geteuid())


def key(test: str, files: Mapping[str, str]) -> str | None:
    """Of a file of tests, with digests of the tree's files; none where the tree doesn't know it."""
    if test not in files:
        return None
    return digest(environment(), "".join(f"{file} {files[file]}\n" for file in inputs(test, files)))


class Kept:
    """Takes the tests away that passed before under the same key, and notes those that pass."""

    def __init__(self, keep: bool) -> None:
        """``keep``: whether tests are taken away; they are noted in any case."""
        self.keep = keep
        self.count = 0  # that were taken away
        environment()  # before tests change it
        self.files = tree()
        self.passed: defaultdict[str, dict[str, bool]] = defaultdict(dict)  # file -> test -> whether it did

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not self.keep:
            return
        before = {test: self._before(test) for test in set(map(file_of, items))}
        taken = [
            item
            for item in items
            if item.nodeid in before[file_of(item)] and not any(map(item.get_closest_marker, EACH_TIME))
        ]
        self.count = len(taken)
        config.hook.pytest_deselected(items=taken)
        names = {item.nodeid for item in taken}
        items[:] = [item for item in items if item.nodeid not in names]

    def note(self, item: pytest.Item, passed: bool) -> None:
        """Whether a part of a test (setting up, the test, taking down) passed."""
        tests = self.passed[file_of(item)]
        tests[item.nodeid] = passed and tests.get(item.nodeid, True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        self.note(item, report.passed)
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        now = tree()
        for test, results in self.passed.items():
            if (made := key(test, now)) is None or made != key(test, self.files):
                continue  # changed while they ran
            passed = self._before(test) - set(results) | {name for name, did in results.items() if did}
            PASSED.mkdir(parents=True, exist_ok=True)
            _file(test).write_text(json.dumps({"key": made, "passed": sorted(passed)}))
        if self.count and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def _before(self, test: str) -> set[str]:
        try:
            entry = json.loads(_file(test).read_text())
        except (OSError, ValueError):
            return set()
        return set(entry["passed"]) if entry["key"] == key(test, self.files) else set()


def _file(test: str) -> Path:
    return PASSED / f"{test.replace('/', '.')}.json"
