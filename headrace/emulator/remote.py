"""Commands in nodes of other hosts: the host's Dask worker starts them, and hands on what they write until they end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.emulator.client import Elsewhere, entering
from headrace.errors import HeadraceError

Write = Callable[[int, bytes], None]
"""Takes what a command has written to its file 1 or 2."""

_LEASE_S, _LOOK_S = 60.0, 5.0
_PIECE, _PIECES = 1 << 16, 16
_Answer = tuple[list[tuple[int, bytes]], int | None]  # what it has written, and its exit code once that is all


def run(there: Elsewhere, words: Sequence[str], write: Write) -> int:
    """Runs a command in a node of another host, without input, until it ends; gives its exit code, as a shell does.
    Ctrl-C is the command's, the second one kills it. Raises HeadraceError."""
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(there.cluster)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise HeadraceError(f"cluster {there.cluster}: {str(error).splitlines()[0]}") from None
    with client:
        return _follow(client, there, list(words), write)


def _follow(client: Any, there: Elsewhere, words: list[str], write: Write) -> int:
    token = uuid.uuid4().hex
    code: int | None = None

    def ask(function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            if there.worker in client.scheduler_info(n_workers=-1)["workers"]:
                return client.run(function, token, *arguments, workers=[there.worker])[there.worker]
        except OSError:
            pass
        raise HeadraceError(f"the host {there.host} is lost")

    ask(_begin, there.name, there.node, words)
    try:
        with _interrupts(lambda number: ask(_signal, number)):
            while code is None:
                pieces, code = ask(_more)
                for file, data in pieces:
                    write(file, data)
    finally:
        if code is None:
            with contextlib.suppress(HeadraceError):
                ask(_signal, signal.SIGKILL)
    return code if code >= 0 else 128 - code


@contextlib.contextmanager
def _interrupts(hand_on: Callable[[int], None]) -> Iterator[None]:
    """Hands on Ctrl-C meanwhile: as SIGINT, and then as SIGKILL."""
    numbers = itertools.chain((signal.SIGINT,), itertools.repeat(signal.SIGKILL))

    def once() -> None:
        with contextlib.suppress(HeadraceError, RuntimeError):  # it may have ended meanwhile
            hand_on(next(numbers))

    def interrupt(*_: object) -> None:  # this thread waits for an answer
        threading.Thread(target=once, daemon=True).start()

    if threading.current_thread() is not threading.main_thread():
        yield  # signals aren't for it
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# -------------------------------------------------------------------------------------------------- on a worker


class _Command:
    """One that runs in a node, as long as somebody follows it."""

    def __init__(self, token: str, process: asyncio.subprocess.Process) -> None:
        self._token, self._process, self._heard_s = token, process, time.monotonic()
        self._pieces: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue(_PIECES)
        readers = [self._read(1, process.stdout), self._read(2, process.stderr)]
        self._reading = asyncio.gather(*readers)
        self._watching = asyncio.ensure_future(self._watch())

    async def more(self) -> _Answer:
        """What it writes next; nothing, where that is long in coming."""
        self._heard_s = time.monotonic()
        getting = asyncio.ensure_future(self._pieces.get())
        await asyncio.wait((getting, self._reading), timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
        found = [getting.result()] if getting.done() else []
        getting.cancel()
        while not self._pieces.empty():
            found.append(self._pieces.get_nowait())
        ended = self._reading.done() and self._pieces.empty()
        return found, await self._process.wait() if ended else None

    def signal(self, number: int) -> None:
        """To the command and what it has started."""
        if not self._reading.done():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    async def _read(self, file: int, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        while data := await stream.read(_PIECE):
            await self._pieces.put((file, data))

    async def _watch(self) -> None:
        while time.monotonic() - self._heard_s < _LEASE_S:
            await asyncio.sleep(_LOOK_S)
        _COMMANDS.pop(self._token, None)
        self.signal(signal.SIGKILL)
        self._reading.cancel()


_COMMANDS: dict[str, _Command] = {}


async def _begin(token: str, name: str, node: str, words: Sequence[str]) -> None:
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    inside = [*entering(name, node), *words]
    try:
        process = await asyncio.create_subprocess_exec(
            *inside, stdin=nothing, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except OSError as error:
        raise HeadraceError(f"{inside[0]}: {error.strerror}: it is in Debian's util-linux") from None
    _COMMANDS[token] = _Command(token, process)


async def _more(token: str) -> _Answer:
    return await _command(token).more()


async def _signal(token: str, number: int) -> None:
    _command(token).signal(number)


def _command(token: str) -> _Command:
    if token not in _COMMANDS:
        raise HeadraceError("the command was given up: nobody has asked for it")
    return _COMMANDS[token]
