"""The back end of vhost-user: another process, a virtual machine's monitor or a DPDK application, drives a function by
its own memory. Packets stay there: the card's DMA works in that memory, doorbells and interrupts are eventfds.

Messages as in QEMU's docs/interop/vhost-user.rst.
"""

from __future__ import annotations

import array
import contextlib
import os
import select
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from headrace.card.functions.engine import Functions, Side, Virtqueue
from headrace.card.functions.reports import Reports
from headrace.errors import CardError, HeadraceError

_HEAD = struct.Struct("<III")  # request, flags, size
_STATE = struct.Struct("<II")  # index of a queue, a number
_ADDRESSES = struct.Struct("<IIQQQQ")  # index, flags; descriptors, used, available; log
_REGION = struct.Struct("<QQQQ")  # guest address, size, address in the front end, offset in the file
_U64 = struct.Struct("<Q")
_VERSION, _REPLY, _NEED_REPLY = 1, 1 << 2, 1 << 3
_LONGEST = 4096
_MOST_FDS = 8
_TURN = 16  # messages that a front end may have answered before the others' turn
_DESCRIPTOR, _EVENTS = 16, 4  # bytes of a ring's entry and of an event suppression structure

_NO_FD = 1 << 8
_WRAP = 1 << 15

_PROTOCOL_FEATURES = 1 << 30
_FEATURES = {
    "mergeable": 1 << 15,  # VIRTIO_NET_F_MRG_RXBUF
    "indirect": 1 << 28,  # VIRTIO_F_INDIRECT_DESC
    "event_index": 1 << 29,  # VIRTIO_F_EVENT_IDX
}
_CSUM, _GUEST_CSUM = 1 << 0, 1 << 1
_SEGMENT = 1 << 11 | 1 << 12  # VIRTIO_NET_F_HOST_TSO4, _TSO6
_ECN = 1 << 13  # VIRTIO_NET_F_HOST_ECN
_VERSION_1, _RING_PACKED = 1 << 32, 1 << 34
_OFFERED = sum(_FEATURES.values()) | _CSUM | _GUEST_CSUM | _VERSION_1 | _RING_PACKED | _PROTOCOL_FEATURES
_REPLY_ACK = 1 << 3
_MQ = 1 << 0


class Request(IntEnum):
    """What a front end asks for."""

    GET_FEATURES = 1
    SET_FEATURES = 2
    SET_OWNER = 3
    RESET_OWNER = 4
    SET_MEM_TABLE = 5
    SET_VRING_NUM = 8
    SET_VRING_ADDR = 9
    SET_VRING_BASE = 10
    GET_VRING_BASE = 11
    SET_VRING_KICK = 12
    SET_VRING_CALL = 13
    SET_VRING_ERR = 14
    GET_PROTOCOL_FEATURES = 15
    SET_PROTOCOL_FEATURES = 16
    GET_QUEUE_NUM = 17
    SET_VRING_ENABLE = 18


class Region(NamedTuple):
    """Memory of the front end's: what the function sees at ``guest``."""

    guest: int
    size: int
    user: int
    offset: int


@dataclass
class _Queue:
    """What is known of a queue. It runs once it has a kick and is enabled."""

    size: int = 0
    user: tuple[int, int, int] | None = (
        None  # the front end's addresses: descriptors, the driver's events, the device's
    )
    base: int = _WRAP  # the next descriptor, and above that the next used one, where the front end says it
    kick: int | None = None
    error: int | None = None
    enabled: bool = False
    running: bool = False
    called: bool = False


@dataclass
class _Session:
    """One front end, from its connection on."""

    link: socket.socket
    features: int = 0
    protocol: int = 0
    regions: list[Region] = field(default_factory=list)
    queues: dict[int, _Queue] = field(default_factory=dict)
    head: bytes = b""
    fds: list[int] = field(default_factory=list)


class VhostUser:
    """A function that whoever connects to a socket drives, one at a time. ``poll`` answers messages.

    ``argument``: the socket's path and, after a comma, ``trusted``: the front end's memory is taken also where nothing
    keeps it from becoming shorter, which would kill the card.
    """

    def __init__(self, functions: Functions, function: int, argument: str, tell: Callable[[str], None]) -> None:
        """Raises HeadraceError when the socket can't be made."""
        functions.check(function)
        path, *settings = argument.split(",")
        if not path or set(settings) - {"trusted"}:
            raise HeadraceError(f"vhost:{argument}: not vhost:SOCKET or vhost:SOCKET,trusted", 2)
        self._functions, self._function = functions, function
        self._offered = _OFFERED | (_SEGMENT | _ECN if functions.longest_cut else 0)
        self._number = functions.number(function)
        self._path, self._trusted = Path(path), "trusted" in settings
        self._session: _Session | None = None
        self._reports = Reports(function, tell)
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            if self._path.is_socket():
                self._remove_stale()
            before = os.umask(0o077)  # so that there is no moment at which others could connect
            try:
                self._listener.bind(str(self._path))
            finally:
                os.umask(before)
        except OSError as error:
            self._listener.close()
            raise HeadraceError(f"{self._path}: {error.strerror or error}") from None
        self._listener.listen(1)
        self._listener.setblocking(False)

    def _remove_stale(self) -> None:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(self._path)) == 0:
                raise HeadraceError(f"{self._path}: another program listens there", 2)
        self._path.unlink()

    @property
    def live(self) -> bool:
        """Front ends come and go."""
        return True

    def begin(self, timing: str | float) -> None:
        """There is nothing that begins by itself."""

    @property
    def connected(self) -> bool:
        """Whether somebody drives the function."""
        return self._session is not None

    def fileno(self) -> int:
        """Of what can be read when there is something to do for ``poll``."""
        return (self._listener if self._session is None else self._session.link).fileno()

    def poll(self) -> int:
        """Takes a connection, and answers the messages that have come; says how many there were."""
        if self._session is None:
            with contextlib.suppress(OSError):  # nobody, one that has gone again, or no file descriptor is free
                link, _ = self._listener.accept()
                link.setblocking(False)
                self._session = _Session(link)
        done = 0
        while self._session is not None and done < _TURN:
            try:
                if not self._step(self._session):
                    break
            except _Gone as gone:
                self._end(str(gone))
            except (HeadraceError, struct.error, OSError, IndexError) as error:
                self._end(f"its front end is refused: {error}")
            done += 1
        return done

    def failed(self, side: Side, queue: int) -> None:
        """Signals the front end that a queue of the card's has failed."""
        if self._session is None:
            return
        index = 2 * (queue % self._functions.pairs) + (side is Side.TRANSMIT)
        if (error := self._queue(self._session, index).error) is not None:
            room = select.poll()
            room.register(error, select.POLLOUT)
            if room.poll(0):  # a counter at its end would block
                os.eventfd_write(error, 1)

    def close(self) -> None:
        """Ends the connection and removes the socket."""
        if self._session is not None:
            self._end("")
        self._listener.close()
        with contextlib.suppress(OSError):
            self._path.unlink()

    # Messages

    def _step(self, session: _Session) -> bool:
        """Takes a message, if one is there."""
        if not self._receive(session, _HEAD.size):
            return False
        request, flags, size = _HEAD.unpack_from(session.head)
        if flags & 3 != _VERSION or size > _LONGEST:
            raise HeadraceError(f"message {request} with flags {flags:#x} and {size} bytes")
        if not self._receive(session, _HEAD.size + size):
            return False
        body, fds = session.head[_HEAD.size :], session.fds
        session.head, session.fds = b"", []
        try:
            answer = self._handle(session, request, body, fds)
            if answer is None and flags & _NEED_REPLY and session.protocol & _REPLY_ACK:
                answer = _U64.pack(0)
        finally:
            for fd in fds:
                os.close(fd)
        if answer is not None:
            session.link.sendall(_HEAD.pack(request, _VERSION | _REPLY, len(answer)) + answer)
        return True

    def _receive(self, session: _Session, size: int) -> bool:
        """Whether the message has so many bytes by now."""
        while len(session.head) < size:
            try:
                data, ancillary, _, _ = session.link.recvmsg(
                    size - len(session.head), socket.CMSG_SPACE(_MOST_FDS * array.array("i").itemsize)
                )
            except BlockingIOError:
                return False
            except ConnectionError:
                raise _Gone("its front end has gone") from None
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    numbers = array.array("i")
                    numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
                    session.fds += numbers
            if len(session.fds) > _MOST_FDS:
                raise HeadraceError(f"a message with more than {_MOST_FDS} files")
            if not data:
                raise _Gone("its front end has gone")
            session.head += data
        return True

    def _handle(self, session: _Session, request: int, body: bytes, fds: list[int]) -> bytes | None:
        """Does what a message asks for; gives the answer's body, if it has one. What stays of ``fds`` is closed."""
        match request:
            case Request.GET_FEATURES:
                return _U64.pack(self._offered)
            case Request.SET_FEATURES:
                (session.features,) = _U64.unpack(body)
                if session.features & ~self._offered:
                    raise HeadraceError(f"features {session.features:#x}, of {self._offered:#x}")
                if not session.features & _RING_PACKED:
                    raise HeadraceError("it does not take packed virtqueues (packed=on, packed_vq=1)")
                if not session.features & _VERSION_1:
                    raise HeadraceError("it takes packed virtqueues without virtio 1 (VIRTIO_F_VERSION_1)")
            case Request.GET_PROTOCOL_FEATURES:
                return _U64.pack(_REPLY_ACK | _MQ)
            case Request.SET_PROTOCOL_FEATURES:
                (session.protocol,) = _U64.unpack(body)
            case Request.GET_QUEUE_NUM:
                return _U64.pack(self._functions.pairs)
            case Request.SET_OWNER | Request.RESET_OWNER:
                pass
            case Request.SET_MEM_TABLE:
                self._set_memory(session, body, fds)
            case Request.SET_VRING_NUM:
                index, number = _STATE.unpack(body)
                self._queue(session, index).size = number
            case Request.SET_VRING_ADDR:
                index, _, ring, used, available, _ = _ADDRESSES.unpack(body)
                self._queue(session, index).user = (ring, available, used)
            case Request.SET_VRING_BASE:
                index, number = _STATE.unpack(body)
                self._queue(session, index).base = number
            case Request.GET_VRING_BASE:
                index, _ = _STATE.unpack(body)
                self._stop(session, index)
                queue = self._queue(session, index)
                self._drop_kick(queue)
                return _STATE.pack(index, queue.base)
            case Request.SET_VRING_KICK:
                self._set_kick(session, body, fds)
            case Request.SET_VRING_CALL:
                self._set_call(session, body, fds)
            case Request.SET_VRING_ERR:
                self._set_error(session, body, fds)
            case Request.SET_VRING_ENABLE:
                index, number = _STATE.unpack(body)
                self._queue(session, index).enabled = bool(number)
                if not number:
                    self._stop(session, index)
                self._start(session, index)
            case _:
                raise HeadraceError(f"message {request} is not known")
        return None

    # Memory

    def _set_memory(self, session: _Session, body: bytes, fds: list[int]) -> None:
        (count,) = struct.unpack_from("<I", body)
        regions = [Region(*_REGION.unpack_from(body, 8 + _REGION.size * n)) for n in range(count)]
        if count != len(fds) or count > _MOST_FDS:
            raise HeadraceError(f"{count} ranges of memory with {len(fds)} files")
        for places in ([(region.guest, region.size) for region in regions], [(r.user, r.size) for r in regions]):
            if any(start + size > after for (start, size), (after, _) in pairwise(sorted(places))):
                raise HeadraceError("two ranges of its memory overlap")
        memory = self._functions.card.memory
        for old in session.regions:
            memory.unmap(old.guest, function=self._number)
        session.regions = []
        for region, fd in zip(regions, fds, strict=True):
            try:
                memory.map(
                    region.guest, region.size, fd=fd, offset=region.offset, function=self._number, trusted=self._trusted
                )
            except CardError as error:
                raise HeadraceError(f"its memory: {error}") from None
            session.regions.append(region)

    def _guest(self, session: _Session, user: int, size: int) -> int:
        """A front end's address, with so many bytes behind it, as the function sees it. They may lie in ranges that
        follow each other on both sides."""
        shift, at = None, user
        for region in sorted(session.regions, key=lambda region: region.user):
            if region.user <= at < region.user + region.size and shift in (None, region.guest - region.user):
                shift, at = region.guest - region.user, region.user + region.size
                if at >= user + size:
                    return user + shift
        raise HeadraceError(f"{size} bytes at address {user:#x} are not in its memory")

    # Queues: the front end's number 2n receives, 2n + 1 sends.

    def _queue(self, session: _Session, index: int) -> _Queue:
        if index >= 2 * self._functions.pairs:
            raise HeadraceError(f"queue {index}: a function has {2 * self._functions.pairs}")
        return session.queues.setdefault(index, _Queue(enabled=not session.features & _PROTOCOL_FEATURES))

    def _place(self, index: int) -> tuple[Side, int]:
        side = Side.TRANSMIT if index % 2 else Side.RECEIVE
        return side, self._function * self._functions.pairs + index // 2

    def _start(self, session: _Session, index: int) -> None:
        """Begins a queue that has all it needs."""
        queue = self._queue(session, index)
        if queue.running or not queue.enabled or queue.kick is None:
            return
        if queue.user is None or not 1 <= queue.size <= 1 << 15:
            raise HeadraceError(f"queue {index} of {queue.size} descriptors is to run")
        side, number = self._place(index)
        sizes = (_DESCRIPTOR * queue.size, _EVENTS, _EVENTS)
        ring, driver, device = (self._guest(session, *place) for place in zip(queue.user, sizes, strict=True))
        if ring % 16 or driver % 4 or device % 4:  # virtio 1.2, section 2.8.10.1
            raise HeadraceError(f"queue {index} lies at {ring:#x}, {driver:#x} and {device:#x}, which are not aligned")
        base, used = queue.base & 0xFFFF, queue.base >> 16
        if base & ~_WRAP >= queue.size:
            raise HeadraceError(f"queue {index} of {queue.size} descriptors begins at {base & ~_WRAP}")
        if used not in (base, 0):  # DPDK leaves it 0
            raise HeadraceError(f"queue {index} begins at {base:#06x} with descriptors in use since {used:#06x}")
        what = Virtqueue(ring, driver, device, queue.size, index, base)
        what = replace(what, **{name: bool(session.features & bit) for name, bit in _FEATURES.items()})
        if side is Side.RECEIVE:
            what = replace(what, checksum=bool(session.features & _GUEST_CSUM))
        else:
            cuts = bool(session.features & _SEGMENT)
            what = replace(what, checksum=bool(session.features & _CSUM), segment=cuts)
        self._functions.begin(side, number, what)
        queue.running = True
        card = self._functions.card
        address, value = self._functions.bell(side, number)
        card.bind_doorbell(queue.kick, address, value)
        card.write(address, value)  # descriptors may be there already

    def _stop(self, session: _Session, index: int) -> None:
        queue = self._queue(session, index)
        if not queue.running or queue.kick is None:
            return
        queue.running = False
        self._functions.card.unbind_doorbell(queue.kick)
        place = self._functions.stop(*self._place(index))
        queue.base = place | place << 16

    def _set_kick(self, session: _Session, body: bytes, fds: list[int]) -> None:
        index, fd = self._descriptor(body, fds)
        queue = self._queue(session, index)
        self._stop(session, index)
        self._drop_kick(queue)
        if fd is None:
            raise HeadraceError(f"queue {index} has no doorbell")
        queue.kick = fd
        fds.clear()
        self._start(session, index)

    def _drop_kick(self, queue: _Queue) -> None:
        if queue.kick is not None:
            os.close(queue.kick)
            queue.kick = None

    def _set_call(self, session: _Session, body: bytes, fds: list[int]) -> None:
        index, fd = self._descriptor(body, fds)
        queue = self._queue(session, index)
        self._drop_call(queue, index)
        if fd is not None:
            self._functions.card.bind_interrupt(self._number, index, fd)
            queue.called = True

    def _drop_call(self, queue: _Queue, index: int) -> None:
        if queue.called:
            self._functions.card.unbind_interrupt(self._number, index)
            queue.called = False

    def _set_error(self, session: _Session, body: bytes, fds: list[int]) -> None:
        index, fd = self._descriptor(body, fds)
        queue = self._queue(session, index)
        self._drop_error(queue)
        if fd is not None:
            queue.error = fd
            fds.clear()

    def _drop_error(self, queue: _Queue) -> None:
        if queue.error is not None:
            os.close(queue.error)
            queue.error = None

    def _descriptor(self, body: bytes, fds: list[int]) -> tuple[int, int | None]:
        """The queue that a message is about, and its eventfd, which stays among ``fds``."""
        (value,) = _U64.unpack(body)
        if value & _NO_FD:
            return value & 0xFF, None
        if len(fds) != 1:
            raise HeadraceError(f"{len(fds)} eventfds for a queue")
        if not os.readlink(f"/proc/self/fd/{fds[0]}").startswith("anon_inode:[eventfd"):
            raise HeadraceError(f"a file that is no eventfd for queue {value & 0xFF}")
        return value & 0xFF, fds[0]

    def _end(self, reason: str) -> None:
        """Ends a front end: its queues stop, and nothing of its memory is used any more."""
        session, self._session = self._session, None
        assert session is not None
        unmap = self._functions.card.memory.unmap
        steps: list[Callable[[], object]] = []
        for index, queue in session.queues.items():
            steps.append(partial(self._stop, session, index))
            steps += [partial(self._drop_kick, queue), partial(self._drop_error, queue)]
            steps.append(partial(self._drop_call, queue, index))
        steps += [partial(unmap, region.guest, function=self._number) for region in session.regions]
        steps += [partial(os.close, fd) for fd in session.fds]
        for step in (*steps, session.link.close):
            try:
                step()
            except (HeadraceError, OSError) as error:
                self._reports.report(str(error))
        if reason:
            self._reports.report(reason)


class _Gone(Exception):
    """The front end has ended the connection."""
