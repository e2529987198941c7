"""What all tests share."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell's background jobs ignore SIGINT, and so would the programs that tests start and interrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
