# SPDX-License-Identifier: Apache-2.0
"""Blocks of commands, as README and manual print them, typed in a folder and a network of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

from patience import HANG_S, until

from headrace import paths
from headrace.cache import cache_root
from headrace.cli.common import READY

BLOCK = re.compile(r"^```\w*\n(.*?)^```|^((?:    [^\n]*\n)+)", re.DOTALL | re.MULTILINE)
_COMMANDS = {
    "headrace": f"""exec {sys.executable} -c "import sys; from headrace.cli import main; sys.exit(main())" "$@"\n""",
    "python": f"""exec {sys.executable} "$@"\n""",
    "sudo": """exec "$@"\n""",  # of root, where there need not be one
}
_CARD = re.compile(r"headrace (\w+) (?:run|--port)\b")
_STAYS = re.compile(
    rf"^headrace: (?:{'|'.join(READY)})|^tcpdump: listening on |^gdb-multiarch |start packet forwarding$"
    "|  Scheduler at: |  Registered to: ",
    re.MULTILINE,
)
"""What a program says that has started, and doesn't end: a card, tcpdump, gdb's server of a card, testpmd, Dask."""
_CABLES = (
    "ip netns add far",
    "for n in 0 1 2; do ip link add eth$n type veth peer name far$n netns far; done",
    "for n in 0 1 2; do ip link set eth$n up; ip -n far link set far$n up; done",
    "ip addr add 10.0.0.254/24 dev eth0; ip -n far addr add 10.0.0.1/24 dev far0; ip route add default via 10.0.0.1",
)
_SENDER = """
import itertools, socket, time
from scapy.all import ARP, ICMP, IP, TCP, UDP, Ether
upper = [UDP(sport=53), UDP(dport=53), UDP(dport=9), TCP(dport=80), TCP(sport=443), ICMP()]
inside = [ARP(), *(IP(dst="10.9.9.9") / each for each in upper)]
packets = [bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / each) for each in inside]
sockets = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW) for _ in range(3)]
for number, each in enumerate(sockets):
    each.bind((f"far{number}", 0))
print("sends", flush=True)
while True:
    for each, packet in itertools.product(sockets, packets):
        each.send(packet)
    time.sleep(0.02)
"""
_NETWORK = "mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip link set lo up && echo && exec sleep infinity"


def blocks(page: str) -> list[str]:
    """Those of a page, without what they are set in by."""
    text = (paths.share() / page).read_text()
    return [textwrap.dedent(each[1] or each[2]) for each in BLOCK.finditer(text)]


def block(page: str, begins: str) -> list[tuple[str, str]]:
    """Lines of the block of a page that begins so, each with what the page shows of its output. A program in Python is
    a line."""
    lines = next(each for each in blocks(page) if each.startswith(begins))
    if lines.startswith(("from ", "import ")):
        return [(f"{sys.executable} - <<'END'\n{lines}END", "")]
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
    on live links, runs until all is typed, or until a card is started at the same socket, and then is interrupted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in (".venv/bin", "run", "home/.local/bin"):
            (folder / name).mkdir(parents=True)
        (folder / "run").chmod(0o700)  # or another folder is taken, which all have in common
        for name, text in _COMMANDS.items():
            command = folder / ".venv/bin" / name
            command.write_text(f"#!/bin/sh\n{text}")
            command.chmod(0o755)
        self._env = {
            **os.environ,
            "PATH": f"{folder}/.venv/bin:{folder}/home/.local/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(paths.share()),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "HOME": str(folder / "home"),
            "HEADRACE_CACHE": str(cache_root()),
        }
        self._env.pop("XDG_CONFIG_HOME", None)
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._count = 0
        words = ["unshare", "--net", "--mount", "sh", "-c", _NETWORK]
        self._network = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert self._network.stdout is not None and self._network.stdout.readline()
        self.there = ["nsenter", "--net", "--mount", "--target", str(self._network.pid), f"--wd={folder}"]

    def __enter__(self) -> Terminals:
        return self

    def cables(self) -> None:
        """eth0, eth1 and eth2 are there; at their other ends packets of many kinds are sent, for ever, and 10.0.0.1
        answers behind eth0."""
        for line in _CABLES:
            subprocess.run([*self.there, "bash", "-e", "-c", line], check=True)
        words = [*self.there, "ip", "netns", "exec", "far", sys.executable, "-c", _SENDER]
        sender = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
        assert sender.stdout is not None and sender.stdout.readline()
        self._running.append(("", sender))

    def run(self, program: str) -> str:
        """Gives what a program in Python prints."""
        (self._folder / "program.py").write_text(program)
        return self.type(f"{sys.executable} program.py")

    def type(self, line: str, code: int = 0) -> str:
        """Gives what a line writes until it has ended with this exit code, or is ready (with ``-c`` or
        ``--background``, it ends)."""
        if card := _CARD.search(line):
            for other in [each for each in self._running if each[0] == card[1]]:
                self._end(other[1])
                self._running.remove(other)
        self._count += 1
        path = self._folder / f"home/said{self._count}"
        before, after = ". home/variables 2>/dev/null", "code=$?; declare -p > home/variables; exit $code"
        line = f"{before}; {line.removesuffix(' &')}\n{after}"
        with path.open("w") as said:
            process = subprocess.Popen(
                ["stdbuf", "-oL", *self.there, "bash", "-o", "pipefail", "-c", line],
                stdin=subprocess.PIPE if "testpmd" in line else subprocess.DEVNULL,  # it ends with its input
                stdout=said, stderr=said, cwd=self._folder, env=self._env,
                start_new_session=True,
            )  # fmt: skip

        def stays() -> bool:
            return not re.search(r" -c \d| --background", line) and bool(_STAYS.search(path.read_text()))

        until(lambda: process.poll() is not None or stays(), line)
        if process.poll() is None:
            self._running.append((card[1] if card else "", process))
        assert process.returncode in (None, code), f"{line}: {path.read_text()}"
        return path.read_text()

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(HANG_S)

    def __exit__(self, *_: object) -> None:
        try:
            for _, process in reversed(self._running):
                self._end(process)
        finally:
            own = os.readlink(f"/proc/{self._network.pid}/ns/net")
            for path in Path("/proc").glob("[0-9]*/ns/net"):
                with suppress(FileNotFoundError, ProcessLookupError):
                    if os.readlink(path) == own:  # a card in the background, or the network itself
                        os.kill(int(path.parts[2]), signal.SIGKILL)
            self._network.wait()
