# SPDX-License-Identifier: Apache-2.0
"""Blocks of commands, as README and manual print them, typed in a folder and a network of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from patience import HANG_S, until

from headrace import paths
from headrace.cli.common import READY

BLOCK = re.compile(r"^```\w*\n(.*?)^```|^((?:    [^\n]*\n)+)", re.DOTALL | re.MULTILINE)
_HEADRACE = f"""#!/bin/sh
exec {sys.executable} -c "import sys; from headrace.cli import main; sys.exit(main())" "$@"
"""
_NETWORK = "mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip link set lo up && echo && exec sleep infinity"


def block(page: str, begins: str) -> list[tuple[str, str]]:
    """Lines of the block of a page that begins so, each with what the page shows of its output."""
    text = (paths.share() / page).read_text()
    lines = next(found for each in BLOCK.finditer(text) if (found := (each[1] or each[2]).lstrip()).startswith(begins))
    typed: list[tuple[str, str]] = []
    prompt = lines[:2] if lines[:2] in ("$ ", "# ") else ""
    for line in lines.replace("\\\n", " ").splitlines():
        if line.startswith(prompt):
            typed.append((line.removeprefix(prompt).strip(), ""))
        else:
            typed[-1] = (typed[-1][0], f"{typed[-1][1]}{line}\n")
    return typed


class Terminals:
    """Each line is typed in a terminal of its own; variables stay. What a line starts and doesn't end, such as a card
    on live links, runs until all is typed, and then is interrupted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in (".venv/bin", "run", "home"):
            (folder / name).mkdir(parents=True)
        command = folder / ".venv/bin/headrace"
        command.write_text(_HEADRACE)
        command.chmod(0o755)
        self._env = {
            **os.environ,
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(paths.share()),
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }
        self._running: list[subprocess.Popen[bytes]] = []
        self._count = 0
        words = ["unshare", "--net", "--mount", "sh", "-c", _NETWORK]
        self._network = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert self._network.stdout is not None and self._network.stdout.readline()
        self.there = ["nsenter", "--net", "--mount", "--target", str(self._network.pid), f"--wd={folder}"]

    def __enter__(self) -> Terminals:
        return self

    def type(self, line: str) -> str:
        """Gives what a line writes until it has ended well, or is ready (with ``-c``, it ends)."""
        self._count += 1
        path = self._folder / f"home/said{self._count}"
        before, after = ". home/variables 2>/dev/null", "code=$?; declare -p > home/variables; exit $code"
        line = f"{before}; {line.removesuffix(' &')}\n{after}"
        with path.open("w") as said:
            process = subprocess.Popen(
                [*self.there, "bash", "-o", "pipefail", "-c", line],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=self._folder, env=self._env,
                start_new_session=True,
            )  # fmt: skip
        ready = tuple(f"headrace: {word}" for word in READY)

        def stays() -> bool:
            return not re.search(r" -c \d", line) and any(
                each.startswith(ready) for each in path.read_text().splitlines()
            )

        until(lambda: process.poll() is not None or stays(), line)
        if process.poll() is None:
            self._running.append(process)
        assert not process.returncode, f"{line}: {path.read_text()}"
        return path.read_text()

    def __exit__(self, *_: object) -> None:
        try:
            for process in reversed(self._running):
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGINT)
                process.wait(HANG_S)
        finally:
            self._network.kill()
            self._network.wait()
