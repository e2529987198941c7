"""Commands in nodes of other hosts: the host's Dask worker starts them, and hands on what goes there and back until
they end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from headrace.emulator import workers
from headrace.emulator.client import Elsewhere, entering
from headrace.emulator.cluster import share_name
from headrace.emulator.terminal import Size, raw, session
from headrace.errors import HeadraceError

Write = Callable[[int, bytes], None]
"""Takes what a command has written to its file 1 or 2."""

_LEASE_S, _LOOK_S = 60.0, 5.0
_PIECE, _PIECES = 1 << 16, 16
_Answer = tuple[list[tuple[int, bytes]], int | None]  # what it has written, and its exit code once that is all


def run(
    there: Elsewhere,
    words: Sequence[str],
    write: Write,
    *,
    files: bool = True,
    source: int = -1,
    terminal: bool = False,
) -> int:
    """Runs a command in a node of another host until it ends; gives its exit code, as a shell does. ``files``: as of
    ``entering``. Its input is what the file descriptor ``source`` gives, -1: nothing; with ``terminal`` that is one,
    and the command has one, too. Ctrl-C is the command's, the second one kills it. Raises HeadraceError."""
    with workers.connect(there.cluster) as client, contextlib.ExitStack() as stack:
        size = termios.tcgetwinsize(source) if terminal else None
        command = Command(client, there, words, files=files, reads=source >= 0, size=size)
        stack.callback(command.kill)
        stack.enter_context(_interrupts(command.signal))
        if terminal:
            stack.enter_context(raw(source, lambda size: _aside(partial(command.resize, size))))
        if source >= 0:
            threading.Thread(target=_feed_from, args=(source, command), daemon=True).start()
        while command.code is None:
            for piece in command.more():
                write(*piece)
    return command.code if command.code >= 0 else 128 - command.code


class Command:
    """One that is begun in the node ``there``, or, without ``files``, in its network alone; with ``module`` it is
    Headrace's, and the host's. ``reads``: it has input; ``size``: of its terminal. Raises HeadraceError."""

    def __init__(
        self,
        client: Any,
        there: Elsewhere,
        words: Sequence[str],
        *,
        files: bool = True,
        module: bool = False,
        reads: bool = False,
        size: Size | None = None,
    ) -> None:
        self.code: int | None = None
        self._client, self._there, self._token = client, there, uuid.uuid4().hex
        node = None if module else there.node
        self._ask(_begin, there.name, node, list(words), files, reads, size)

    def more(self) -> list[tuple[int, bytes]]:
        """What it writes next, to which files; ``code`` is its exit code once that is all. Raises HeadraceError."""
        found: list[tuple[int, bytes]]
        found, self.code = self._ask(_more)
        return found

    def feed(self, data: bytes) -> None:
        """Its input; nothing: the end of it. Raises HeadraceError."""
        self._ask(_feed, data)

    def signal(self, number: int) -> None:
        """To it and what it has started. Raises HeadraceError."""
        self._ask(_signal, number)

    def resize(self, size: Size) -> None:
        """Its terminal has another size. Raises HeadraceError."""
        self._ask(_resize, size)

    def kill(self) -> None:
        """Unless it has ended."""
        if self.code is None:
            with contextlib.suppress(HeadraceError):
                self.signal(signal.SIGKILL)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        found = workers.call(self._client, [self._there.worker], function, self._token, *arguments)
        if self._there.worker not in found:
            raise HeadraceError(f"the host {self._there.host} is lost")
        if isinstance(answer := found[self._there.worker], HeadraceError):
            raise answer
        return answer


def _feed_from(source: int, command: Command) -> None:
    with contextlib.suppress(HeadraceError, RuntimeError):  # it may have ended meanwhile
        while data := _read(source):
            command.feed(data)
        command.feed(b"")


def _read(source: int) -> bytes:
    with contextlib.suppress(OSError):  # closed, or a terminal whose foreground this isn't
        return os.read(source, _PIECE)
    return b""


@contextlib.contextmanager
def _interrupts(hand_on: Callable[[int], None]) -> Iterator[None]:
    """Hands on Ctrl-C and SIGTERM meanwhile: the first one as it is, then as SIGKILL."""
    several = False

    def interrupt(number: int, _: object) -> None:
        nonlocal several
        _aside(partial(hand_on, signal.SIGKILL if several else number))
        several = True

    if threading.current_thread() is not threading.main_thread():
        yield  # signals aren't for it
        return
    actions: dict[int, Any] = {signal.SIGINT: interrupt, signal.SIGTERM: interrupt, signal.SIGTTIN: signal.SIG_IGN}
    before = {number: signal.signal(number, action) for number, action in actions.items()}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def _aside(act: Callable[[], None]) -> None:
    """This thread waits for an answer, and others are asked for by one of their own."""

    def once() -> None:
        with contextlib.suppress(HeadraceError, RuntimeError):  # the command may have ended meanwhile
            act()

    threading.Thread(target=once, daemon=True).start()


# -------------------------------------------------------------------------------------------------- on a worker


class _Command:
    """One that runs, as long as somebody follows it. ``outputs``: what it writes, by the numbers of its files;
    ``terminal``: file descriptor of its other end."""

    def __init__(
        self,
        token: str,
        process: asyncio.subprocess.Process,
        outputs: Mapping[int, asyncio.StreamReader | None],
        given: asyncio.StreamWriter | None,
        terminal: int | None = None,
    ) -> None:
        self._token, self._process, self._heard_s = token, process, time.monotonic()
        self._given, self._terminal = given, terminal
        self._pieces: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue(_PIECES)
        self._reading = asyncio.gather(*(self._read(*each) for each in outputs.items()))
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

    async def feed(self, data: bytes) -> None:
        """Its input; nothing: the end of it."""
        if self._given is None:
            return
        with contextlib.suppress(OSError):  # it doesn't read any more
            if data:
                self._given.write(data)
                await self._given.drain()
            elif self._terminal is None:
                self._given.close()
            else:
                self.signal(signal.SIGHUP)

    def resize(self, size: Size) -> None:
        """Its terminal has another size."""
        if self._terminal is not None and not self._reading.done():
            termios.tcsetwinsize(self._terminal, size)

    def signal(self, number: int) -> None:
        """To the command and what it has started; who has a terminal is told that it goes."""
        if self._reading.done():
            return
        group = self._process.pid
        if self._terminal is not None:
            with contextlib.suppress(OSError):  # no session has it yet
                group, number = session(self._terminal), signal.SIGKILL if number == signal.SIGKILL else signal.SIGHUP
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)

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
        if self._given is not None:
            self._given.close()


class _Screen(asyncio.StreamReaderProtocol):
    """What a terminal shows. Its end is an error, which doesn't go before what has come."""

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """An end as any other one."""
        super().connection_lost(None)


_COMMANDS: dict[str, _Command] = {}


async def _begin(
    token: str, name: str, node: str | None, words: Sequence[str], files: bool, reads: bool, size: Size | None
) -> None:
    before = [sys.executable, "-P"] if node is None else entering(share_name(name), node, files=files)
    inside = [*before, *words]
    try:
        _COMMANDS[token] = await (_with_pipes(token, inside, reads) if size is None else _on_tty(token, inside, size))
    except OSError as error:
        raise HeadraceError(f"{inside[0]}: {error.strerror}: it is in Debian's util-linux") from None


async def _with_pipes(token: str, words: Sequence[str], reads: bool) -> _Command:
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *words, stdin=pipe if reads else nothing, stdout=pipe, stderr=pipe, start_new_session=True
    )
    return _Command(token, process, {1: process.stdout, 2: process.stderr}, process.stdin)


async def _on_tty(token: str, words: Sequence[str], size: Size) -> _Command:
    loop = asyncio.get_running_loop()
    end, own = os.openpty()
    try:
        termios.tcsetwinsize(own, size)
        process = await asyncio.create_subprocess_exec(
            *words, stdin=own, stdout=own, stderr=own, start_new_session=True
        )
    except OSError:
        os.close(end)
        raise
    finally:
        os.close(own)
    shown = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: _Screen(shown), os.fdopen(end, "rb", 0))
    typed, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(os.dup(end), "wb", 0))
    return _Command(token, process, {1: shown}, asyncio.StreamWriter(typed, flow, None, loop), end)


async def _more(token: str) -> _Answer:
    return await _command(token).more()


async def _feed(token: str, data: bytes) -> None:
    await _command(token).feed(data)


async def _signal(token: str, number: int) -> None:
    _command(token).signal(number)


async def _resize(token: str, size: Size) -> None:
    _command(token).resize(size)


def _command(token: str) -> _Command:
    if token not in _COMMANDS:
        raise HeadraceError("the command was given up: nobody has asked for it")
    return _COMMANDS[token]
