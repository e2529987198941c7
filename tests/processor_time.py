"""What the tests cost: processor time of the process that runs them and of all that they started and waited for.

Processor time, not time of the wall clock, since that is what a test costs whatever else the machine does. Machines
differ: where all tests run, what Python takes for ten million additions stands beside it, measured before the first
test and after the last.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reads import file_of

DEAREST = 10
_ADDITIONS = compile("total = 0\nfor number in range(10**7):\n    total += number", "additions", "exec")


def used() -> float:
    """Seconds of processor time that this process and its children, as far as they were waited for, have used."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def ten_million() -> float:
    """Seconds of processor time that Python takes to add ten million numbers, as a script does."""
    before = time.process_time()
    exec(_ADDITIONS, {})
    return time.process_time() - before


class ProcessorTime:
    """Adds up what each file of tests takes, in each process of pytest-xdist and over all of them."""

    def __init__(self, with_speed: bool) -> None:
        """``with_speed``: says how fast Python is too."""
        self.with_speed = with_speed
        self.files: Counter[str] = Counter()  # seconds, by the file's path
        self.rest = 0.0  # seconds that no file took: imports, collecting, waiting for the processes
        self.ten_million = 0.0  # seconds, before the tests

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if self.with_speed and not hasattr(session.config, "workerinput"):
            self.ten_million = ten_million()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = used()
        try:
            return (yield)
        finally:
            self.files[file_of(item)] += used() - before

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["processor_time"] = dict(self.files), used() - self.files.total()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        files, rest = getattr(node, "workeroutput", {}).get("processor_time", ({}, 0.0))
        self.files.update(files)
        self.rest += rest

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Processor time in all, by folder, and of the dearest files."""
        if config.option.numprocesses:  # this process only hands the tests out; its children have said theirs
            usage = resource.getrusage(resource.RUSAGE_SELF)
            rest = self.rest + usage.ru_utime + usage.ru_stime
        else:
            rest = used() - self.files.total()
        folders: Counter[str] = Counter({"(imports, collecting)": rest})
        for path, seconds in self.files.items():
            folders[str(Path(*Path(path).parent.parts[:3]))] += seconds
        write = terminalreporter.write_line
        speed = ""
        if self.with_speed:
            speed = f"; Python adds ten million numbers in {(self.ten_million + ten_million()) / 2:.2f} s"
        write(f"processor time: {folders.total() / 60:.1f} minutes{speed}")
        for folder, seconds in folders.most_common():
            write(f"  {seconds:8.1f} s  {folder}")
        write(f"the {DEAREST} dearest files:")
        for path, seconds in self.files.most_common(DEAREST):
            write(f"  {seconds:8.1f} s  {path}")
