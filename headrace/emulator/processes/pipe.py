"""A TCP connection that carries packets: bounded in what waits to be sent, closed when it can't be understood."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from collections import Counter, deque
from collections.abc import Callable

from headrace.emulator.processes import wire
from headrace.emulator.processes.loop import Loop

_READ = 1 << 18
_UNSENT = 1 << 17  # bytes that the kernel takes before the network has taken those before
_USER_TIMEOUT_MS = 10_000


class Pipe:
    """One end. ``hear`` is given each packet, ``gone`` why the connection has ended, ``connected`` is called once it is
    there. ``limit``: bytes that may wait. Counts: packets and bytes in and out, ``queue_drops``, ``malformed``."""

    def __init__(
        self,
        loop: Loop,
        link: socket.socket,
        hear: Callable[[Pipe, bytearray], None],
        gone: Callable[[Pipe, str], None],
        connected: Callable[[Pipe], None],
        limit: int = 1 << 21,
    ) -> None:
        self._loop, self._link, self._hear, self._gone, self._connected = loop, link, hear, gone, connected
        self._limit, self._waiting, self._octets = limit, deque[memoryview](), 0
        self._data = bytearray()
        self._connecting = True
        self.counts: Counter[str] = Counter()
        self.peer = 0
        self.heard_s = self.sent_s = time.monotonic()
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT_MS)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
        loop.watch(link, self._read, self._write)

    @property
    def waiting(self) -> int:
        """Bytes that the kernel hasn't taken yet."""
        return self._octets

    def send(self, data: bytearray, *, always: bool = False) -> bool:
        """Sends a packet; False: too much waits already. ``always``: it has to wait, however much that is."""
        if self._octets > self._limit and not always:
            self.counts["queue_drops"] += 1
            return False
        self.counts["packets_out"] += 1
        self.counts["bytes_out"] += len(data)
        self._waiting.append(memoryview(data))
        self._octets += len(data)
        if len(self._waiting) == 1 and not self._connecting:
            self._write()
        return True

    def close(self, reason: str = "") -> None:
        """Ends it, at once; with a reason that is told."""
        if self._link.fileno() >= 0:
            self._loop.forget(self._link)
            self._link.close()
            if reason:
                self._gone(self, reason)

    def _write(self) -> None:
        if self._link.fileno() < 0:
            return
        if self._connecting:
            code = self._link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self.close(os.strerror(code))
                return
            self._connecting = False
            self._connected(self)
            if self._link.fileno() < 0:
                return
        try:
            while self._waiting:
                part = self._waiting[0]
                count = self._link.send(part)
                self._octets -= count
                self.sent_s = time.monotonic()
                if count < len(part):
                    self._waiting[0] = part[count:]
                else:
                    self._waiting.popleft()
        except BlockingIOError:
            pass
        except OSError as error:
            self.close(error.strerror or "broken")
            return
        if self._link.fileno() >= 0:
            self._loop.watch(self._link, self._read, self._write if self._waiting else None)

    def _read(self) -> None:
        if self._link.fileno() < 0:
            return
        try:
            part = self._link.recv(_READ)
        except BlockingIOError:
            return
        except OSError as error:
            self.close(error.strerror or "broken")
            return
        if not part:
            self.close("closed by the other end")
            return
        self.heard_s = time.monotonic()
        data = self._data
        data += part
        at = 0
        try:
            while self._link.fileno() >= 0:
                size = wire.length(data[at : at + wire.HEAD_BYTES])
                if not size or len(data) - at < size:
                    break
                self.counts["packets_in"] += 1
                self.counts["bytes_in"] += size
                self._hear(self, data[at : at + size])
                at += size
        except wire.Malformed as error:
            self.counts["malformed"] += 1
            self.close(f"malformed: {error}")
        del data[:at]


def connect(link: socket.socket, address: tuple[str, int]) -> bool:
    """Begins to; False: it has failed already, and the socket is closed."""
    link.setblocking(False)
    code = link.connect_ex(address)
    if code in (0, errno.EINPROGRESS):
        return True
    link.close()
    return False


def listen(link: socket.socket, address: str, port: int) -> None:
    """Makes it a socket that accepts. Raises OSError."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    link.bind((address, port))
    link.listen(64)
    link.setblocking(False)


def accept(link: socket.socket) -> socket.socket | None:
    """Who waits; None: nobody does."""
    with contextlib.suppress(OSError):
        return link.accept()[0]
    return None
