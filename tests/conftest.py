"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys


def pytest_configure() -> None:
    # A shell's background jobs ignore SIGINT, and so would the programs that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Verilator's makefiles call `python`, which a machine need not have outside of the environment.
    os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
