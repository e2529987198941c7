"""What a packet takes of this machine's processor on its way into a function: out of memory, through a TAP device, by
vhost-user. Frames of 64 bytes come in batches; the time is that of the card's process while it runs, and not of who
sends them."""

from __future__ import annotations

import array
import fcntl
import mmap
import os
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headrace.card.functions.vhost_user import Request
from headrace.errors import HeadraceError
from headrace.evaluate.loads.host import frame
from headrace.evaluate.loads.host_card import HostCard, running
from headrace.net import namespaces, netlink

MEMORY, TAP, VHOST = "out of memory", "TAP device", "vhost-user"
BATCH = 200

_SIZE = 64
_ROUNDS = 3
_TURN_S = 0.002  # of wall time between looks at what has arrived
_PATIENCE = 1_000  # of these
_INTERFACE = "hr-path"

# A driver's memory, at the same addresses for it and for the function: descriptors, events, buffers.
_BASE, _RING, _EVENTS, _BUFFERS, _BUFFER, _ENTRIES = 0x4000_0000, 0, 0x2000, 0x4000, 256, 256
_SEND = 1  # number of the queue that sends
_VIRTIO_HEADER = 12
_NO_INTERRUPTS = 1  # of event suppression
_AVAILABLE, _USED, _WRAP = 1 << 7, 1 << 15, 1 << 15
_FEATURES = 1 << 34 | 1 << 32
_DESCRIPTOR = np.dtype([("address", "<u8"), ("length", "<u4"), ("id", "<u2"), ("flags", "<u2")])


@dataclass(frozen=True)
class Cost:
    """Processor time of the card's process, the system's for it included, for a frame."""

    path: str
    frames: int
    cpu_ns: float


def measure(frames: int) -> tuple[list[Cost], str]:
    """All paths, and why some of them can't be measured here, if so. Of some rounds, each path's least: what else the
    machine does only adds to it."""
    rounds = [_measured(frames) for _ in range(_ROUNDS)]
    paths = zip(*(found for found, _ in rounds), strict=False)  # those of each round
    return [min(path, key=lambda cost: cost.cpu_ns) for path in paths], max(why for _, why in rounds)


def _measured(frames: int) -> tuple[list[Cost], str]:
    found = [_cost(MEMORY, frames, _memory), _cost(VHOST, frames, _vhost)]
    if reason := namespaces.why_not():
        return found, reason
    try:
        with namespaces.own_network():
            return [*found, _cost(TAP, frames, _tap)], ""
    except HeadraceError as error:
        return found, str(error)


Send = Callable[[Sequence[bytes]], None]


def _cost(path: str, frames: int, begin: Callable[[HostCard], Iterator[Send]]) -> Cost:
    """Of a path, by batches that each go through before the next one comes."""
    with running({0: 1}, latency_ns=0) as host:
        to = host.link(1)
        spent, [before] = 0.0, host.received([to])
        with contextmanager(begin)(host) as send:
            for first in range(0, frames, BATCH):
                batch = [frame(number, _SIZE) for number in range(first, min(first + BATCH, frames))]
                send(batch)
                start = time.process_time()
                _run(host, to, before + first + len(batch))
                spent += time.process_time() - start
        return Cost(path, frames, 1e9 * spent / frames)


def _run(host: HostCard, port: int, frames: int) -> None:
    for _ in range(_PATIENCE):
        if host.received([port])[0] >= frames:
            return
        host.card.run("interrupt", wall_s=_TURN_S)
        host.plugs.poll()
    said = "".join(f"; {line}" for line in host.told)
    raise HeadraceError(f"{host.received([port])[0]} of {frames} frames have come through{said}")


def _memory(host: HostCard) -> Iterator[Send]:
    port = host.link(0)
    host.card.source(port, [])
    yield lambda batch: host.card.send(port, batch)


def _tap(host: HostCard) -> Iterator[Send]:
    host.plugs.plug(0, f"tap:{_INTERFACE}")
    netlink.bring_up(_INTERFACE)
    with closing(socket.socket(socket.AF_PACKET, socket.SOCK_RAW)) as sender:
        sender.bind((_INTERFACE, 0))

        def send(batch: Sequence[bytes]) -> None:
            for each in batch:
                sender.send(each)

        yield send
    host.plugs.unplug(0)


def _vhost(host: HostCard) -> Iterator[Send]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "function"
        host.plugs.plug(0, f"vhost:{path}")
        with closing(Driver(path, host.plugs.poll)) as driver:
            yield driver.send
        host.plugs.unplug(0)


class Driver:
    """A front end of vhost-user, as far as sending goes: its batches follow each other round the ring. ``buffer``:
    bytes of the longest frame with its header; ``features``: beside those of a packed ring."""

    def __init__(
        self, path: Path, turn: Callable[[], object], buffer: int = _BUFFER, entries: int = _ENTRIES, features: int = 0
    ) -> None:
        self._buffer, self._entries = buffer, entries
        size = -(-(_BUFFERS + buffer * entries) // mmap.PAGESIZE) * mmap.PAGESIZE
        self._fd = os.memfd_create("driver", os.MFD_ALLOW_SEALING)
        os.truncate(self._fd, size)
        fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        self._memory = mmap.mmap(self._fd, size)
        self._memory[_EVENTS + 2] = _NO_INTERRUPTS
        self._ring = np.frombuffer(self._memory, _DESCRIPTOR, entries, _RING)
        self._kick = os.eventfd(0, os.EFD_NONBLOCK)
        self._place, self._wrap = 0, True
        self._turn = turn
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(str(path))
        number = struct.Struct("<Q")
        state = struct.Struct("<II")
        self._tell(Request.SET_FEATURES, number.pack(_FEATURES | features))
        self._tell(Request.SET_OWNER, b"")
        region = struct.pack("<IIQQQQ", 1, 0, _BASE, size, _BASE, 0)
        self._tell(Request.SET_MEM_TABLE, region, [self._fd])
        self._tell(Request.SET_VRING_NUM, state.pack(_SEND, entries))
        self._tell(Request.SET_VRING_BASE, state.pack(_SEND, _WRAP))
        places = struct.pack("<IIQQQQ", _SEND, 0, _BASE + _RING, _BASE + _EVENTS + 4, _BASE + _EVENTS, 0)
        self._tell(Request.SET_VRING_ADDR, places)
        self._tell(Request.SET_VRING_KICK, number.pack(_SEND), [self._kick])

    def _tell(self, request: Request, body: bytes, fds: Sequence[int] = ()) -> None:
        message = struct.pack("<III", request, 1, len(body)) + body
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self._link.sendmsg([message], beside)
        self._turn()

    def send(self, batch: Sequence[bytes], header: bytes = bytes(_VIRTIO_HEADER)) -> None:
        """A batch, whose place in the ring the card has done with, each with the same virtio ``header``."""
        for each in batch:
            at = _BUFFERS + self._buffer * self._place
            self._memory[at : at + _VIRTIO_HEADER + len(each)] = header + each
            flags = _AVAILABLE if self._wrap else _USED
            self._ring[self._place] = (_BASE + at, _VIRTIO_HEADER + len(each), self._place, flags)
            self._place += 1
            if self._place == self._entries:
                self._place, self._wrap = 0, not self._wrap
        os.eventfd_write(self._kick, 1)

    def close(self) -> None:
        """As when the process dies."""
        self._link.close()
        self._ring = np.empty(0, _DESCRIPTOR)
        self._memory.close()
        for fd in (self._kick, self._fd):
            os.close(fd)
