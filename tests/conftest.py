"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from network import why_not


def pytest_configure() -> None:
    # A shell's background jobs ignore SIGINT, and so would the programs that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
    # Under sudo a command goes on as who has called it, and tests call commands in this process.
    os.environ.pop("SUDO_UID", None)
    # Verilator's makefiles call `python`, which a machine need not have outside of the environment.
    os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A new folder that everybody can read. Those of pytest are closed to all but who runs it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = why_not()
    for item in items:
        if reason is not None and item.get_closest_marker("live"):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many of the live tests ran, and why the others did not."""
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
