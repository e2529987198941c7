"""Clients that ask a program that runs: one line of JSON there, one back. None of them holds up the program or others,
whether it says nothing, a part of its line, or doesn't read its answer."""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Callable
from typing import Any

from headrace.errors import HeadraceError

MOST = 64
"""Clients that may be there at once; one more ends the oldest."""

Answer = tuple[dict[str, Any], int | None]
"""What is said, and a file descriptor to go with it, which is closed then."""


class _Client:
    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.asked = bytearray()
        self.said: bytes | None = None  # and what is left of it
        self.descriptor: int | None = None


class Clients:
    """Those of a listening socket, which is theirs from now on. ``fileno`` can be read when ``serve`` has something to
    do."""

    def __init__(
        self, link: socket.socket, longest: int, let_in: Callable[[socket.socket], bool] | None = None
    ) -> None:
        """``longest``: bytes of a request, a longer one is none. ``let_in``: who is let in, everybody if None."""
        self._link, self._longest, self._let_in = link, longest, let_in
        self._there: dict[int, _Client] = {}
        self._epoll = select.epoll()
        link.setblocking(False)
        self._epoll.register(link, select.EPOLLIN)

    def fileno(self) -> int:
        """Of what tells that there is something to do."""
        return self._epoll.fileno()

    def close(self) -> None:
        """Ends all connections, and the listening socket."""
        for client in list(self._there.values()):
            self._end(client)
        self._epoll.close()
        self._link.close()

    def serve(self, answer: Callable[[dict[str, Any]], Answer]) -> int:
        """Answers those whose line is there, and says how many; what ``answer`` raises as HeadraceError is told."""
        events = self._epoll.poll(0)
        if any(number == self._link.fileno() for number, _ in events):
            self._accept()
            events = self._epoll.poll(0)  # what those who have just come have said already
        count = 0
        for number, _ in events:
            if (client := self._there.get(number)) is None:
                continue
            try:
                if client.said is None and self._heard(client):
                    count += 1
                    client.said = self._answered(client, answer)
                    self._epoll.modify(client.link, select.EPOLLOUT)
                if client.said is None or not self._told(client):
                    continue
            except OSError:
                pass  # who has gone needs no answer
            self._end(client)
        return count

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._link.accept()
            except OSError:  # there are no more, or too many files
                return
            if self._let_in is not None and not self._let_in(link):
                link.close()
                continue
            if len(self._there) == MOST:
                self._end(next(iter(self._there.values())))
            link.setblocking(False)
            self._there[link.fileno()] = _Client(link)
            self._epoll.register(link, select.EPOLLIN)

    def _heard(self, client: _Client) -> bool:
        """Whether a client's line is there, or all that comes of one."""
        while not client.asked.endswith(b"\n") and len(client.asked) < self._longest:
            try:
                part = client.link.recv(1 << 16)
            except BlockingIOError:
                return False
            if not part:
                return True
            client.asked += part
        return True

    def _answered(self, client: _Client, answer: Callable[[dict[str, Any]], Answer]) -> bytes:
        try:
            request = json.loads(client.asked)
            if not isinstance(request, dict):
                raise ValueError
        except (ValueError, RecursionError):
            said: dict[str, Any] = {"error": "not a JSON object in one line", "exit_code": 2}
        else:
            try:
                said, client.descriptor = answer(request)
            except HeadraceError as error:
                said = {"error": str(error), "exit_code": error.exit_code}
        return json.dumps(said).encode() + b"\n"

    def _told(self, client: _Client) -> bool:
        """Whether all of its answer has gone to a client."""
        while client.said:
            try:
                if client.descriptor is None:
                    sent = client.link.send(client.said)
                else:
                    sent = socket.send_fds(client.link, [client.said], [client.descriptor])
                    os.close(client.descriptor)
                    client.descriptor = None
            except BlockingIOError:
                return False
            client.said = client.said[sent:]
        return True

    def _end(self, client: _Client) -> None:
        del self._there[client.link.fileno()]
        self._epoll.unregister(client.link)  # a process that was forked meanwhile may have the socket, too
        client.link.close()
        if client.descriptor is not None:
            os.close(client.descriptor)
