"""Waiting in tests: for a condition, never for a time. A machine may be as slow and as busy as it likes."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HANG_S = 900
"""After so many seconds without what a test waits for, it hangs: no machine on which the tests end is that slow."""


def until(condition: Callable[[], object], what: str) -> None:
    """Returns once the condition is true. Raises AssertionError, with what was waited for, where nothing happens."""
    deadline = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def sleeps(pid: int) -> bool:
    """Whether a process does nothing but wait: its main thread sleeps in a system call."""
    return _state(pid) == "S"


def hold(process: subprocess.Popen[Any]) -> None:
    """Stops a program: the kernel keeps what comes for it."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: _state(process.pid) == "T", "it to stop")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
