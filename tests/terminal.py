"""Programs on a terminal."""

from __future__ import annotations

import os
import re
import select
import subprocess
import termios
from collections.abc import Mapping, Sequence

from patience import HANG_S, until


class Screen:
    """What a terminal shows, whose other end is a file descriptor."""

    def __init__(self, end: int) -> None:
        self._end, self._shown = end, ""

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def wait(self, pattern: str) -> re.Match[str]:
        """For what wasn't waited for yet."""
        while not (found := self._next(pattern)):
            assert self._reads(HANG_S), self._shown
        return found

    def answers(self, text: str, pattern: str) -> bool:
        """Whether what is typed is followed by that. What is slow may come to the next one of the same."""
        self.type(text)
        while not (found := self._next(pattern)) and self._reads(1):
            pass
        return found is not None

    def _next(self, pattern: str) -> re.Match[str] | None:
        if found := re.search(pattern, self._shown):
            self._shown = self._shown[found.end() :]
        return found

    def _reads(self, within_s: float) -> bool:
        ready = bool(select.select([self._end], [], [], within_s)[0])
        if ready:
            self._shown += os.read(self._end, 4096).decode()
        return ready


def talk_to_shell(words: Sequence[str], host: str, env: Mapping[str, str] | None = None) -> None:
    """A command that opens a shell, on a terminal: its size and a new one, Ctrl-C and the exit code are the shell's."""
    end, own = os.openpty()
    termios.tcsetwinsize(own, (33, 77))
    on_terminal = ["setsid", "--ctty", "--wait", *words]
    with subprocess.Popen(on_terminal, stdin=own, stdout=own, stderr=own, env={**os.environ, **(env or {})}) as shell:
        os.close(own)
        screen = Screen(end)
        screen.type("hostname; stty size; echo $((2 * 21))\n")
        screen.wait(rf"{host}\s+33 77\s+42\s")
        termios.tcsetwinsize(end, (44, 88))
        until(lambda: screen.answers("stty size\n", r"44 88\s"), "the new size")
        screen.type("echo sl$((1))eps; sleep 100000\n")
        screen.wait("sl1eps")
        # A shell may be about to start what Ctrl-C is for, and then goes on.
        until(lambda: screen.answers("\x03echo d$((1))ne\n", "d1ne"), "the end of what was interrupted")
        screen.type("exit 3\n")
        assert shell.wait() == 3
    os.close(end)
