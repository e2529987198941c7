"""An emulation from a program or a notebook.

It runs as long as its block::

    with Emulation("scenario.toml") as emulation:
        print(emulation.run("n1", ["ping", "-c", "1", "n2"]).stdout)
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace import paths
from headrace.emulator import control
from headrace.emulator.share import Share
from headrace.errors import HeadraceError

# Who enters a process namespace has to fork. Ctrl-C is for the command; it ends this one with its exit code.
_WAIT = 'trap "" INT QUIT; (trap - INT QUIT; exec "$@"); exit'


class Elsewhere(HeadraceError):
    """A ``node`` is on another ``host``, which the ``worker`` of a Dask ``cluster`` is reached by. ``name``: of the
    emulation."""

    def __init__(self, name: str, node: str, host: str, cluster: str, worker: str) -> None:
        super().__init__(f"node {node} is on the host {host}")
        self.name, self.node, self.host, self.cluster, self.worker = name, node, host, cluster, worker


def entering(name: str, node: str, *, files: bool = True) -> list[str]:
    """The words that start a program in a node of the emulation ``name``; with ``files=False`` only its network is the
    node's. Raises HeadraceError: ``Elsewhere`` where the node is on another host."""
    answer = control.ask(name, command="node", node=node)
    if "worker" in answer:
        raise Elsewhere(name, node, answer["host"], answer["cluster"], answer["worker"])
    handle = answer["fd"]
    try:
        pid = _process(handle)
    finally:
        os.close(handle)
    words = ["env", *(f"{key}={value}" for key, value in answer["env"].items())]
    enter = ["nsenter", "--target", str(pid)]
    own_user = ["--user", "--preserve-credentials"] * (os.geteuid() != 0)
    if not files:
        return [*words, *enter, *own_user, "--net", "--"]
    here = Path.cwd()
    hidden = answer["system"] or any(here.is_relative_to(own) for own in ("/run", "/proc"))
    spaces = ["--net", "--mount", "--uts", "--ipc", f"--wdns={'/' if hidden else here}"]
    words += [*enter, *own_user, "--pid", "--no-fork", "--", "sh", "-c", _WAIT, "sh"]
    return [*words, *enter, *spaces, "--"]


def phy_of(name: str, node: str, end: str) -> str:
    """The PHY of a node of the emulation ``name`` that a link joins with the node ``end``, which may be the PHY itself.
    Raises HeadraceError."""
    status = control.ask(name, command="status")
    if end not in [each["name"] for each in status["nodes"]]:
        return end
    for link in status["links"]:
        if sorted(link["nodes"]) == sorted((node, end)):
            phy: str = link["phys"][link["nodes"].index(node)]
            return phy
    raise HeadraceError(f"there is no link between {node} and {end}")


def stop(name: str) -> None:
    """Ends an emulation; returns when nothing is left of it. Raises HeadraceError when none runs."""
    handle = control.ask(name, command="stop")["fd"]
    select.select([handle], [], [])  # its first process ends after all others
    os.close(handle)


def traffic(name: str, source: str, to: str, **more: Any) -> str:
    """Starts a stream in the emulation ``name``; ``more``: what ``[traffic.NAME]`` of a scenario has (None: left out).
    Gives the stream's name. Raises HeadraceError."""
    given = {key: value for key, value in more.items() if value is not None}
    stream: str = control.ask(name, command="traffic", **{"from": source, "to": to, **given})["stream"]
    return stream


@contextmanager
def interrupt_held() -> Iterator[Callable[[], None]]:
    """Holds Ctrl-C back until what it gives is called: a stream that has begun, but whose name isn't known yet,
    couldn't be ended. In the main thread only."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))

    def let_in() -> None:
        signal.signal(signal.SIGINT, before)
        if pressed:
            pressed.clear()
            raise KeyboardInterrupt

    try:
        yield let_in
    finally:
        let_in()


def wait_for_stream(
    name: str,
    stream: str,
    show: Callable[[dict[str, Any]], None] | None = None,
    every_s: float = 0.5,
    let_in: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Waits until a stream has ended and all its messages have come or are lost; gives how it was. ``show`` is told how
    it is. Ctrl-C ends the stream, also one that ``let_in`` raises (``interrupt_held``). Raises HeadraceError."""
    stopping = False
    while True:
        try:
            let_in()
            found = control.ask(name, command="stream", stream=stream)
            if show is not None:
                show(found)
            if found["done"]:
                with suppress(control.Ended):  # the destination may have been asked before the last message came
                    found = control.ask(name, command="stream", stream=stream)
                return found
            time.sleep(every_s)
        except KeyboardInterrupt:
            if stopping:
                raise
            stopping = True
            control.ask(name, command="stop-stream", stream=stream)


def _process(handle: int) -> int:
    text = Path(f"/proc/self/fdinfo/{handle}").read_text()
    found = re.search(r"^Pid:\s*(\d+)", text, re.MULTILINE)
    if found is None or int(found[1]) <= 0:
        raise HeadraceError("the node has gone")
    return int(found[1])


class Emulation:
    """A running emulation, in a process of its own, which ends with the ``with`` statement and with this process.
    ``fabric`` instead of the scenario's; with ``hold`` steps come by ``step``; ``progress`` is told what is being
    built, how many are done, and of how many; ``cluster``: over the hosts of the Dask cluster with that address;
    ``strict``: what would be left out of files of movement is an error, otherwise it is in ``notes``. Raises
    HeadraceError."""

    def __init__(
        self,
        scenario: str | Path,
        *,
        name: str | None = None,
        fabric: str | None = None,
        hold: bool = False,
        record: str | Path | None = None,
        replay: str | Path | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        share: Share | None = None,
        cluster: str | None = None,
        strict: bool = False,
    ) -> None:
        self.name = name or f"notebook-{uuid.uuid4().hex[:12]}"
        words = [sys.executable, "-P", "-m", "headrace.emulator", str(scenario), "--name", self.name]
        options = {"fabric": fabric, "record": record, "replay": replay, "share": share, "cluster": cluster}
        for option, value in options.items():
            words += [f"--{option}", str(value)] if value is not None else []
        words += ["--hold"] * hold + ["--strict"] * strict
        self._said = ""
        self._process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        self.notes: list[str] = []
        while not (line := self._process.stderr.readline()).startswith(
            (f"the emulation {self.name} is up", "headrace: ")
        ):
            if not line:
                break
            if not line.startswith("building "):
                self.notes.append(line.strip())
                continue
            _, done, of, part = line.split(maxsplit=3)
            if progress is not None:
                progress(part.strip(), int(done), int(of))
        if not line.startswith("the emulation "):
            self._process.wait()
            self._process.stderr.close()
            said = line.strip().removeprefix("headrace: ") or (self.notes or ["the emulation was killed"])[-1]
            raise HeadraceError(said)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process that keeps it."""
        return self._process.pid

    def stop(self) -> None:
        """Ends it; returns when nothing is left."""
        if self._process.poll() is None:
            self._process.terminate()
        self.wait()

    def wait(self) -> str | None:
        """Until it has ended; what went wrong, None: nothing."""
        assert self._process.stderr is not None
        if not self._process.stderr.closed:
            self._said = self._process.stderr.read()
            self._process.stderr.close()
        lines = self._said.strip().splitlines()
        return (lines or ["it failed"])[-1].removeprefix("headrace: ") if self._process.wait() else None

    def ask(self, command: str, **more: Any) -> dict[str, Any]:
        """A request to its control socket. Raises HeadraceError."""
        return control.ask(self.name, command=command, **more)

    def status(self) -> dict[str, Any]:
        """Nodes, programs, links, time: see ``headrace emulate status --json``."""
        return self.ask("status")

    def step(self) -> dict[str, Any]:
        """The next time step, with ``hold``; gives the status then. Raises HeadraceError."""
        return self.ask("step")

    def jam(self, target: str | Sequence[str], loss: float = 1.0) -> None:
        """Jams a node or a link ``A:B``, which lose that part of their frames more, or a PHY ``A:phyN``, or several of
        these at once; 0: no more. Raises HeadraceError."""
        self.ask("jam", targets=[target] if isinstance(target, str) else list(target), loss=loss)

    def traffic(self, source: str, to: str, **more: Any) -> str:
        """Starts a stream; ``more``: what ``[traffic.NAME]`` of a scenario has. Gives its name. Raises
        HeadraceError."""
        return traffic(self.name, source, to, **more)

    def stream(self, name: str) -> dict[str, Any]:
        """How a stream is. Raises HeadraceError."""
        return self.ask("stream", stream=name)

    def processes(self, node: str) -> dict[str, dict[str, Any]]:
        """How a node's own processes are, by their roles. Raises HeadraceError."""
        return {each["role"]: each for each in self.ask("processes", node=node)["processes"]}

    def run(self, node: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Runs a command in a node, until it ends; gives its exit code and what it writes. Raises HeadraceError."""
        return subprocess.run(
            self._words(node, words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def start(self, node: str, words: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Starts a command in a node; ``options`` are ``subprocess.Popen``'s. Raises HeadraceError."""
        return subprocess.Popen(self._words(node, words), **options)

    def _words(self, node: str, words: Sequence[str]) -> list[str]:
        try:
            return [*entering(self.name, node), *words]
        except Elsewhere:
            return [*paths.command(), "emulate", "exec", "--name", self.name, node, "--", *words]
