"""What all tests share."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """The programs that tests start can be interrupted: a shell's background jobs ignore SIGINT, and so do their children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
