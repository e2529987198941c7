"""A front end of vhost-user as a virtual machine's monitor is one: its memory, its rings, its messages."""

from __future__ import annotations

import array
import fcntl
import itertools
import mmap
import os
import socket
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from host.packed import Buffer, Driver

SIZE = 1 << 20
GUEST, USER = 0x4000_0000, 0x7F00_1234_0000  # of its memory: as the guest sees it, and as this process would
HEADER = 12
PACKED = 1 << 34 | 1 << 32 | 1 << 30
MULTIQUEUE = 1 << 22  # VIRTIO_NET_F_MQ
ENTRIES = 16
BUFFER = 4096


class Mapped:
    """The guest's memory, by its addresses."""

    def __init__(self, sealed: bool = True) -> None:
        self.fd = os.memfd_create("guest", os.MFD_ALLOW_SEALING)
        os.truncate(self.fd, SIZE)
        if sealed:
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        self.bytes = mmap.mmap(self.fd, SIZE)

    def read(self, address: int, count: int) -> bytes:
        return self.bytes[address - GUEST : address - GUEST + count]

    def write(self, address: int, data: bytes) -> None:
        self.bytes[address - GUEST : address - GUEST + len(data)] = data


class FrontEnd:
    """Connects to a socket; ``turn`` lets the back end answer."""

    def __init__(self, path: Path, turn: Callable[[], object], sealed: bool = True) -> None:
        self.memory = Mapped(sealed)
        self.turn = turn
        self.link = socket.socket(socket.AF_UNIX)
        self.link.connect(str(path))
        self.kicks = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
        self.calls = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
        self.drivers: list[Driver] = []
        self._buffers = GUEST + (1 << 16)

    def ask(self, request: int, body: bytes = b"", fds: Sequence[int] = (), answers: bool = False) -> bytes:
        """Sends a message; with ``answers`` gives the body of the answer."""
        message = struct.pack("<III", request, 1, len(body)) + body
        self.link.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
        self.turn()
        if not answers:
            return b""
        found = self.link.recv(4096)
        number, flags, size = struct.unpack_from("<III", found)
        assert (number, flags & 7, size) == (request, 5, len(found) - 12)
        return found[12:]

    def number(self, request: int, value: int) -> None:
        """A message with a number of 64 bits."""
        self.ask(request, struct.pack("<Q", value))

    def start(self, features: int = PACKED, bases: tuple[int, int] = (1 << 15, 1 << 15)) -> None:
        """Hands over memory and both queues: 0 receives, 1 sends."""
        self.agree(features)
        for index in (0, 1):
            at = GUEST + 0x1000 * index
            first, wrap = bases[index] & 0x7FFF, bases[index] >> 15
            self.drivers.append(Driver(self.memory, ENTRIES, at, at + 0x800, at + 0x900, index=first, wrap=wrap))
            self.begin(index, bases[index])

    def agree(self, features: int) -> None:
        """Hands over memory."""
        offered = int.from_bytes(self.ask(1, answers=True), "little")
        assert offered & features == features
        assert not offered & MULTIQUEUE, "it needs a control virtqueue"
        self.number(2, features)
        self.ask(3)
        region = struct.pack("<IIQQQQ", 1, 0, GUEST, SIZE, USER, 0)
        self.ask(5, region, [self.memory.fd])

    def begin(self, index: int, base: int, entries: int = ENTRIES) -> None:
        """Lets a queue run from a place on."""
        at = USER + 0x1000 * index
        self.ask(8, struct.pack("<II", index, entries))
        self.ask(10, struct.pack("<II", index, base))
        self.ask(9, struct.pack("<IIQQQQ", index, 0, at, at + 0x900, at + 0x800, 0))
        self.ask(12, struct.pack("<Q", index), [self.kicks[index]])
        self.ask(13, struct.pack("<Q", index), [self.calls[index]])
        self.ask(18, struct.pack("<II", index, 1))

    def kick(self, index: int) -> None:
        """Rings a queue's doorbell."""
        os.eventfd_write(self.kicks[index], 1)

    def stop(self, index: int) -> int:
        """Ends a queue, and gives its place."""
        answer = self.ask(11, struct.pack("<II", index, 0), answers=True)
        return struct.unpack("<II", answer)[1] & 0xFFFF

    def post(self, count: int) -> None:
        """Makes receive buffers available."""
        for _ in range(count):
            self.drivers[0].add([Buffer(self._take(), BUFFER, True)])
        self.kick(0)

    def send(self, frame: bytes, pieces: int = 1, header: bytes = bytes(HEADER)) -> None:
        """Makes a frame available, cut into so many buffers."""
        data, at = header + frame, self._take(len(frame) // BUFFER + 1)
        self.memory.write(at, data)
        cuts = [len(data) * piece // pieces for piece in range(pieces + 1)]
        buffers = [Buffer(at + start, end - start) for start, end in itertools.pairwise(cuts)]
        self.drivers[1].add(buffers)
        self.kick(1)

    def received(self) -> list[bytes]:
        """Frames that have come."""
        return [data[HEADER:] for data in self.received_whole()]

    def received_whole(self) -> list[bytes]:
        """Frames that have come, behind their virtio-net headers."""
        found = [(used.chain.buffers[0].address, used.written) for used in self.drivers[0].used()]
        return [self.memory.read(at, size) for at, size in found]

    def called(self, index: int) -> bool:
        """Whether a queue's interrupt has come."""
        try:
            return os.eventfd_read(self.calls[index]) > 0
        except BlockingIOError:
            return False

    def _take(self, buffers: int = 1) -> int:
        if self._buffers + (buffers + 1) * BUFFER > GUEST + SIZE:
            self._buffers = GUEST + (1 << 16)
        at, self._buffers = self._buffers, self._buffers + buffers * BUFFER
        return at

    def close(self) -> None:
        """As when the process dies."""
        self.link.close()
        for fd in (*self.kicks, *self.calls, self.memory.fd):
            os.close(fd)
