"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Models for tests are compiled in two fifths of the time, by one compiler in each process of the tests, and run a
# little slower. ccache would look for what is built once. Others keep the models that users have.
os.environ.setdefault("HEADRACE_CXXFLAGS", "-Og")
os.environ.setdefault("HEADRACE_JOBS", "1")
os.environ.setdefault("CCACHE_DISABLE", "1")

import pytest
from kept import Kept
from network import why_not
from processor_time import ProcessorTime
from reads import affected, changed_since, file_of, record
from stale_figures import StaleFigures

LEFT_OUT = pytest.StashKey[int]()  # how many soak tests don't run
KEPT = pytest.StashKey[Kept]()
CHANGED = pytest.StashKey[set[Path] | None]()  # files that differ from the commit of --changed
RECORDS = pytest.StashKey[set[Path]]()  # of what builders read while tests ran


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the wide sweeps and long random runs too")
    parser.addoption("--fresh", action="store_true", help="run what passed before and didn't change too")
    parser.addoption(
        "--changed", nargs="?", const="HEAD", metavar="COMMIT",
        help="only files of tests that can be affected by what differs from a commit (default: HEAD)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = 0
    config.stash[RECORDS] = set()
    commit = config.getoption("--changed")
    try:
        config.stash[CHANGED] = None if commit is None else changed_since(commit)
    except RuntimeError as error:
        raise pytest.UsageError(f"--changed {commit}: {error}") from None
    all_of_them = config.args_source != pytest.Config.ArgsSource.ARGS
    config.pluginmanager.register(ProcessorTime(with_speed=all_of_them))
    if all_of_them:
        config.pluginmanager.register(StaleFigures())
    if config.getoption("--soak"):
        os.environ["HEADRACE_SOAK"] = "1"  # for cocotb's benches, in their own processes
    if config.getoption("--fresh") or config.getoption("--soak"):
        os.environ["HEADRACE_FRESH"] = "1"
    # A shell's background jobs ignore SIGINT, and so would the programs that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
    # Under sudo a command goes on as who has called it, and tests call commands in this process.
    os.environ.pop("SUDO_UID", None)
    # Verilator's makefiles call `python`, which a machine need not have outside of the environment.
    os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    keep = getattr(config, "workerinput", {}).get("keep", all_of_them and "HEADRACE_FRESH" not in os.environ)
    config.stash[KEPT] = Kept(keep)
    config.pluginmanager.register(config.stash[KEPT])


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A new folder that everybody can read. Those of pytest are closed to all but who runs it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--soak"):
        soak = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=soak)
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
        config.stash[LEFT_OUT] = len(soak)
    if (changed := config.stash[CHANGED]) is not None:
        can_be = {test for test in set(map(file_of, items)) if affected(test, changed)}
        config.hook.pytest_deselected(items=[item for item in items if file_of(item) not in can_be])
        items[:] = [item for item in items if file_of(item) in can_be]
    reason = why_not()
    for item in items:
        if reason is not None and item.get_closest_marker("live"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What builders read while a file's tests run is noted, for --changed."""
    noted = record(file_of(item))
    if noted not in item.config.stash[RECORDS]:
        item.config.stash[RECORDS].add(noted)
        noted.parent.mkdir(parents=True, exist_ok=True)
        noted.touch()
    os.environ["HEADRACE_READS"] = str(noted)
    try:
        return (yield)
    finally:
        del os.environ["HEADRACE_READS"]


def pytest_sessionfinish(session: pytest.Session) -> None:
    for noted in session.config.stash[RECORDS]:
        noted.write_text("".join(f"{line}\n" for line in sorted(set(noted.read_text().splitlines()))))
    output = getattr(session.config, "workeroutput", None)
    if output is not None:  # of a process of pytest-xdist, for the one that writes the summary
        output["left_out"] = session.config.stash[LEFT_OUT]
        output["kept"] = session.config.stash[KEPT].count


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["keep"] = node.config.stash[KEPT].keep  # what the command line named isn't known there


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})  # each has collected all of them
    node.config.stash[LEFT_OUT] = max(node.config.stash[LEFT_OUT], output.get("left_out", 0))
    node.config.stash[KEPT].count = max(node.config.stash[KEPT].count, output.get("kept", 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """How many soak tests were left out, how many of the live tests ran, and why the others did not."""
    if left_out := config.stash[LEFT_OUT]:
        terminalreporter.write_line(f"soak tests: {left_out} left out, `make soak` runs them")
    if kept := config.stash[KEPT].count:
        terminalreporter.write_line(f"tests that passed before and nothing changed: {kept} not run, --fresh runs them")
    if again := sum(
        count for r in terminalreporter.stats.get("passed", []) for name, count in r.user_properties if name == "kept"
    ):
        terminalreporter.write_line(f"benches that passed before and didn't change: {again} not run, --fresh runs them")
    reports = {name: terminalreporter.stats.get(name, []) for name in ("passed", "failed", "skipped")}
    live = {
        name: [r for r in found if "live" in r.keywords and r.when != "teardown"] for name, found in reports.items()
    }
    if not any(live.values()):
        return
    why = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in live["skipped"])
    reasons = "".join(f"; {count}: {reason}" for reason, count in why.most_common())
    ran = len(live["passed"]) + len(live["failed"])
    terminalreporter.write_line(f"live tests: {ran} ran, {len(live['skipped'])} skipped{reasons}")
