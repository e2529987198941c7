# SPDX-License-Identifier: Apache-2.0
"""Terminals of programs in nodes. A shell that knows jobs has one whose session begins in its node: it can't give the
foreground back to a group of processes that it doesn't see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence

Size = tuple[int, int]
"""Lines and columns."""

_INPUT, _OUTPUT, _PIECE = 0, 1, 1 << 16
_TIOCGSID = 0x5429


def own_session(command: Sequence[str]) -> list[str]:
    """The words of a command that takes the terminal it finds for a session of its own."""
    return ["setsid", "-c", "env", f"TERM={os.environ.get('TERM', 'dumb')}", *command]


def run(words: Sequence[str]) -> int:
    """Runs a command that has its ``own_session`` on a terminal that shows and takes what this one does; gives its
    exit code, as a shell does. SIGTERM is its terminal's end. Raises OSError."""
    end, own = os.openpty()
    os.set_blocking(end, False)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        try:
            termios.tcsetwinsize(own, termios.tcgetwinsize(_INPUT))
            command = subprocess.Popen(words, stdin=own, stdout=own, stderr=own, start_new_session=True)
        finally:
            os.close(own)
        with raw(_INPUT, lambda size: termios.tcsetwinsize(end, size)):
            _join(end)
    finally:
        os.close(end)
        signal.signal(signal.SIGTERM, before)
    code = command.wait()
    return code if code >= 0 else 128 - code


def _join(end: int) -> None:
    """Shows what comes from the other end of a terminal, and types there what is typed here, until one of them ends."""
    typed = b""
    while True:
        ready, takes, _ = select.select([end] if typed else [end, _INPUT], [end] if typed else [], [])
        try:
            if end in ready:
                _show(os.read(end, _PIECE))
            if _INPUT in ready and not (typed := os.read(_INPUT, _PIECE)):
                return
        except OSError:  # how a terminal ends
            return
        if takes:
            try:
                typed = typed[os.write(end, typed) :]
            except BlockingIOError:
                pass
            except OSError:  # nobody is there to read it; what was said before still comes
                typed = b""


@contextlib.contextmanager
def raw(terminal: int, resize: Callable[[Size], None]) -> Iterator[None]:
    """Meanwhile a terminal gives all that is typed, and its size is told when it changes."""
    before = termios.tcgetattr(terminal)
    changed = signal.signal(signal.SIGWINCH, lambda *_: resize(termios.tcgetwinsize(terminal)))
    try:
        tty.setraw(terminal, termios.TCSADRAIN)  # what is typed already counts
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, changed)


def session(end: int) -> int:
    """The first process of the session that has a terminal, by its other end. Raises OSError where none has."""
    found: int = struct.unpack("i", fcntl.ioctl(end, _TIOCGSID, bytes(4)))[0]
    return found


def _show(data: bytes) -> None:
    while data:
        data = data[os.write(_OUTPUT, data) :]
