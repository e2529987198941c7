"""What a process of a node does all day: waits for files and times, and answers requests.

Requests come over a UNIX socket in the node's ``/run/headrace``, which its network has no part in: one JSON object
there, one back.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import os
import select
import selectors
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path("/run/headrace")
_LONGEST = 1 << 22
_ANSWER_S = 2.0

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Timer:
    """A call that is due at ``time_s``; ``cancel`` it by ``call = None``."""

    __slots__ = ("call", "time_s")

    def __init__(self, time_s: float, call: Callable[[], None] | None) -> None:
        self.time_s, self.call = time_s, call


class Loop:
    """Calls what files and times are due."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()

    def watch(self, file: Any, call: Callable[[], None], write: Callable[[], None] | None = None) -> None:
        """Calls when a file can be read; ``write``: when it can be written, too."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if write else 0)
        try:
            self._selector.modify(file, events, (call, write))
        except KeyError:
            self._selector.register(file, events, (call, write))

    def forget(self, file: Any) -> None:
        """No more calls for it."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(file)

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Calls once."""
        timer = Timer(time.monotonic() + seconds, call)
        heapq.heappush(self._timers, (timer.time_s, next(self._numbers), timer))
        return timer

    def every(self, seconds: float, call: Callable[[], None], first: float | None = None) -> None:
        """Calls again and again; first after ``first`` seconds."""

        def again() -> None:
            self.later(seconds, again)
            call()

        self.later(seconds if first is None else first, again)

    def run(self) -> None:
        """For ever."""
        while True:
            now = time.monotonic()
            while self._timers and self._timers[0][0] <= now:
                _, _, timer = heapq.heappop(self._timers)
                if timer.call is not None:
                    timer.call()
            while self._timers and self._timers[0][2].call is None:
                heapq.heappop(self._timers)
            wait = max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None
            for key, events in self._selector.select(wait):
                read, write = key.data
                if events & selectors.EVENT_WRITE and write:
                    write()
                if events & selectors.EVENT_READ:
                    read()


def serve(loop: Loop, name: str, answer: Answer) -> None:
    """Answers requests to a process; what ``answer`` raises as ValueError is told."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(FOLDER / f"{name}.sock"))
    listener.listen(16)
    listener.setblocking(False)

    def accept() -> None:
        with contextlib.suppress(BlockingIOError):
            link, _ = listener.accept()
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
            link.setblocking(False)
            loop.watch(link, lambda: reply(link))

    def reply(link: socket.socket) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = link.recv(1 << 16)
        if data:
            try:
                said = answer(json.loads(data))
            except (ValueError, KeyError, TypeError) as error:
                said = {"error": str(error) or type(error).__name__}
            with contextlib.suppress(OSError):
                link.send(json.dumps(said).encode())
        loop.forget(link)
        link.close()

    loop.watch(listener, accept)


def ask(processes: Iterable[Path], request: Mapping[str, Any], wait_s: float = _ANSWER_S) -> dict[Path, dict[str, Any]]:
    """Asks processes, all at the same time, by the paths of their sockets. What they answer; those that don't, within
    ``wait_s``, are left out."""
    data, found, links = json.dumps(request).encode(), {}, {}
    poll = select.poll()
    for path in processes:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.setblocking(False)
        try:
            link.connect(str(path))
            link.send(data)
        except OSError:
            link.close()
            continue
        links[link.fileno()] = path, link
        poll.register(link, select.POLLIN)
    deadline = time.monotonic() + wait_s
    while links and (left := deadline - time.monotonic()) > 0:
        for descriptor, _ in poll.poll(left * 1e3):
            path, link = links.pop(descriptor)
            poll.unregister(descriptor)
            with contextlib.suppress(OSError, ValueError):
                found[path] = json.loads(link.recv(_LONGEST))
            link.close()
    for _, link in links.values():
        link.close()
    return found


def tell(process: Path, request: Mapping[str, Any]) -> None:
    """Tells a process something, if it is there; it isn't waited for."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link, contextlib.suppress(OSError):
        link.setblocking(False)
        link.connect(str(process))
        link.send(json.dumps(request).encode())


def grow(link: socket.socket, octets: int) -> None:
    """Room for what a socket receives, more than users are allowed where that is possible."""
    try:
        link.setsockopt(socket.SOL_SOCKET, 33, octets)  # SO_RCVBUFFORCE
    except OSError:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, octets)


def datagram_drops() -> int:
    """Datagrams that this network has had no room for."""
    lines = Path(f"/proc/{os.getpid()}/net/snmp").read_text().splitlines()
    names, values = (line.split() for line in lines if line.startswith("Udp:"))
    return int(values[names.index("RcvbufErrors")])
