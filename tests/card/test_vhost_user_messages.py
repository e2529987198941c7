# SPDX-License-Identifier: Apache-2.0
"""What a front end of vhost-user may say: it ends at most its own session, and keeps no file open."""

from __future__ import annotations

import gc
import os
import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from vhost_front_end import GUEST, PACKED, SIZE, USER, FrontEnd

from headrace.card.functions import Side, Virtqueue
from headrace.card.functions.vhost_user import VhostUser
from headrace.errors import CardError

RING = 0x1000
HALF = SIZE // 2
SEGMENTATION = 0b111 << 11  # HOST_TSO4, HOST_TSO6, HOST_ECN


def region(guest: int = GUEST, size: int = SIZE, user: int = USER, offset: int = 0) -> bytes:
    return struct.pack("<QQQQ", guest, size, user, offset)


HALVES = (region(size=HALF), region(GUEST + HALF, HALF, USER + HALF, HALF))


class Room:
    """Functions that begin whatever they are told, and a back end of the first one."""

    def __init__(self, path: Path) -> None:
        self.told: list[str] = []
        self.functions: Any = Mock(pairs=1, longest_cut=65536)
        self.functions.number.return_value = 1
        self.functions.bell.return_value = (0, 0)
        self.functions.stop.return_value = 1 << 15
        self.path = path
        self.back: Any = VhostUser(self.functions, 0, str(path), self.told.append)

    def front(self) -> FrontEnd:
        return FrontEnd(self.path, self.back.poll)

    def begun(self) -> int:
        return self.functions.begin.call_count


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path / "socket")
    yield made
    made.back.close()


def files() -> int:
    """Open files of this process, without those of tests before, which nobody refers to any more."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def set_up(
    front: FrontEnd,
    at: int = USER,
    base: int = 1 << 15,
    size: int = 16,
    events: tuple[int, int] = (USER + RING, USER + RING + 4),
    regions: tuple[bytes, ...] = (region(),),
) -> None:
    """All but the doorbell of queue 1; ``events``: the device's and the driver's."""
    front.number(2, PACKED)
    front.ask(5, struct.pack("<II", len(regions), 0) + b"".join(regions), [front.memory.fd] * len(regions))
    front.ask(8, struct.pack("<II", 1, size))
    front.ask(9, struct.pack("<IIQQQQ", 1, 0, at, *events, 0))
    front.ask(10, struct.pack("<II", 1, base))
    front.ask(18, struct.pack("<II", 1, 1))


def kick(front: FrontEnd, fd: int | None = None) -> None:
    front.ask(12, struct.pack("<Q", 1), [front.kicks[1] if fd is None else fd])


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"base": 16 | 1 << 15}, "queue 1 of 16 descriptors begins at 16"),
        ({"base": 5, "size": 4}, "queue 1 of 4 descriptors begins at 5"),
        ({"at": USER + 8}, "are not aligned"),
        ({"at": USER + 2}, "are not aligned"),
        ({"events": (USER + RING + 2, USER + RING + 4)}, "are not aligned"),
        ({"events": (USER + RING, USER + RING + 6)}, "are not aligned"),
        ({"base": 0x8000 | 0x8003 << 16}, "queue 1 begins at 0x8000 with descriptors in use since 0x8003"),
        ({"base": 0x8003 | 0x0003 << 16}, "queue 1 begins at 0x8003 with descriptors in use since 0x0003"),
        ({"at": USER + SIZE - 16 * 15}, "256 bytes at address 0x7f001243ff10 are not in its memory"),
        ({"at": USER - 16}, "are not in its memory"),
        ({"at": USER + HALF - 16, "regions": HALVES[:1]}, "are not in its memory"),
        ({"at": USER + HALF - 16, "regions": (HALVES[0], region(0, HALF, USER + HALF))}, "are not in its memory"),
        ({"events": (USER + SIZE, USER)}, "4 bytes at address 0x7f0012440000 are not"),
        ({"events": (USER, USER + SIZE - 2)}, "4 bytes at address 0x7f001243fffe are not"),
    ],
)
def test_a_ring_that_cannot_be_never_begins(room: Room, what: dict[str, Any], message: str) -> None:
    front = room.front()
    set_up(front, **what)
    kick(front)
    (line,) = room.told
    assert line.startswith("function 0: its front end is refused: ") and message in line
    assert room.begun() == 0


@pytest.mark.parametrize(
    "what",
    [
        {"base": 15},
        {"base": 0x8000},  # as DPDK says it
        {"base": 0x8003_8003},  # as QEMU does
        {"at": USER + SIZE - 16 * 16, "events": (USER + SIZE - 4, USER)},
        {"at": USER + HALF - 16, "regions": HALVES},
        {"at": USER + HALF - 16, "regions": HALVES[::-1]},
    ],
)
def test_a_ring_that_can_be_begins(room: Room, what: dict[str, Any]) -> None:
    front = room.front()
    set_up(front, **what)
    kick(front)
    assert (room.told, room.begun()) == ([], 1)
    begun = room.functions.begin.call_args.args[2]
    assert begun.ring == what.get("at", USER) - USER + GUEST
    assert begun.base == what.get("base", 1 << 15) & 0xFFFF


def test_a_queue_says_where_it_stopped_and_begins_there_again(room: Room) -> None:
    front = room.front()
    set_up(front)
    kick(front)
    room.functions.stop.return_value = 7
    answer = front.ask(11, struct.pack("<II", 1, 0), answers=True)
    assert struct.unpack("<II", answer) == (1, 7 | 7 << 16)
    kick(front)
    assert room.functions.begin.call_args.args[2].base == 7
    assert room.told == []


def test_a_doorbell_is_an_eventfd(room: Room) -> None:
    front = room.front()
    set_up(front)
    with Path("/dev/null").open("rb") as file:
        kick(front, file.fileno())
    assert "no eventfd" in room.told[0]
    assert room.begun() == 0


def test_a_queue_whose_doorbell_becomes_something_else_stops(room: Room) -> None:
    front = room.front()
    set_up(front)
    kick(front)
    with Path("/dev/null").open("rb") as file:
        kick(front, file.fileno())
    assert "no eventfd" in room.told[0]
    room.functions.stop.assert_called_once_with(Side.TRANSMIT, 0)
    room.functions.card.unbind_doorbell.assert_called_once()


def test_the_queues_of_a_front_end_that_goes_stop(room: Room) -> None:
    front = room.front()
    set_up(front)
    kick(front)
    front.close()
    room.back.poll()
    room.functions.stop.assert_called_once_with(Side.TRANSMIT, 0)


def test_a_card_that_cuts_no_segments_offers_no_segmentation(room: Room) -> None:
    for longest, bits in ((65536, SEGMENTATION), (0, 0)):
        room.back.close()
        room.functions.longest_cut = longest
        room.back = VhostUser(room.functions, 0, str(room.path), room.told.append)
        offered = int.from_bytes(room.front().ask(1, answers=True), "little")
        assert offered & SEGMENTATION == bits


def test_a_queue_that_fails_signals_its_eventfd_of_errors(room: Room) -> None:
    front = room.front()
    before = files()
    events = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(3)]
    for event in events[:2]:
        front.ask(14, struct.pack("<Q", 1), [event])
    full = (1 << 64) - 2
    os.eventfd_write(events[2], full)
    os.set_blocking(events[2], True)
    front.ask(14, struct.pack("<Q", 0), [events[2]])
    room.back.failed(Side.TRANSMIT, 0)
    room.back.failed(Side.RECEIVE, 0)
    assert os.eventfd_read(events[1]) == 1
    with pytest.raises(BlockingIOError):
        os.eventfd_read(events[0])
    assert os.eventfd_read(events[2]) == full
    front.ask(14, struct.pack("<Q", 1 | 1 << 8))
    room.back.failed(Side.TRANSMIT, 0)
    with pytest.raises(BlockingIOError):
        os.eventfd_read(events[1])
    for event in events:
        os.close(event)
    front.ask(99)
    assert files() == before
    room.back.failed(Side.RECEIVE, 0)


def test_memory_that_cannot_be_given_back_ends_nothing(room: Room) -> None:
    front = room.front()
    set_up(front)
    kick(front)
    before = files()
    room.functions.card.memory.unmap.side_effect = CardError("host memory: no range begins at 0x40000000")
    room.functions.card.unbind_interrupt.side_effect = CardError("interrupt 1 of function 1 is not bound")
    front.ask(13, struct.pack("<Q", 1), [front.calls[1]])
    front.ask(99)
    assert [line.removeprefix("function 0: ") for line in room.told] == [
        "interrupt 1 of function 1 is not bound",
        "host memory: no range begins at 0x40000000",
        "its front end is refused: message 99 is not known",
    ]
    assert files() == before - 2  # the doorbell and the link
    assert not room.back.connected


def test_ranges_of_memory_that_overlap_are_refused(room: Room) -> None:
    front = room.front()
    front.number(2, PACKED)
    regions = struct.pack("<QQQQ", GUEST, SIZE, USER, 0) + struct.pack("<QQQQ", GUEST + SIZE - 1, SIZE, USER + SIZE, 0)
    front.ask(5, struct.pack("<II", 2, 0) + regions, [front.memory.fd] * 2)
    assert "overlap" in room.told[0]
    room.functions.card.memory.map.assert_not_called()


def test_packed_rings_without_virtio_1_are_refused(room: Room) -> None:
    room.front().number(2, 1 << 34)
    assert "VERSION_1" in room.told[0]


@pytest.mark.parametrize("request_number", [12, 13, 14])
def test_files_of_queues_that_are_not_there_are_closed(room: Room, request_number: int) -> None:
    event = os.eventfd(0)
    before = files()
    for _ in range(1000):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(room.path))
            socket.send_fds(link, [struct.pack("<IIIQ", request_number, 1, 8, 200)], [event])
            room.back.poll()
    os.close(event)
    assert files() == before - 1
    assert len(room.told) == 4  # at 1, 10, 100, 1000


def test_files_that_come_byte_by_byte_have_a_bound(room: Room) -> None:
    front = room.front()
    before = files()
    for _ in range(10):
        socket.send_fds(front.link, [b"\1"], [front.kicks[0]] * 8)
    for _ in range(10):
        room.back.poll()
    assert room.told == ["function 0: its front end is refused: a message with more than 8 files"]
    assert files() <= before


def test_a_flood_leaves_others_their_turn(room: Room, tmp_path: Path) -> None:
    other = Room(tmp_path / "other")
    front, honest = room.front(), other.front()
    honest.ask(1, answers=True)
    front.link.sendall(struct.pack("<III", 3, 1, 0) * 500)
    turns = []
    while done := room.back.poll():
        turns.append(done)
        assert honest.ask(1, answers=True)
    assert sum(turns) == 500
    assert max(turns) <= 16
    other.back.close()


def test_a_connection_that_cannot_be_taken_ends_nothing(room: Room) -> None:
    listener, room.back._listener = room.back._listener, Mock()
    for error in (ConnectionAbortedError(), OSError(24, "Too many open files"), BlockingIOError()):
        room.back._listener.accept.side_effect = error
        assert room.back.poll() == 0
    room.back._listener = listener


def test_a_front_end_that_comes_again_and_again_is_told_once(room: Room) -> None:
    for _ in range(50):
        front = room.front()
        room.back.poll()
        front.link.close()
        room.back.poll()
    gone = "function 0: its front end has gone"
    assert room.told == [gone, f"{gone} (10 times by now)"]


def test_front_ends_that_come_for_changing_reasons_are_told_once_each(room: Room) -> None:
    for number in range(500):
        front = room.front()
        set_up(front)
        kick(front)
        if number % 2:
            front.ask(99)
        front.close()
        room.back.poll()
    assert len(room.told) == len(set(room.told)) == 6
    assert room.told[-1].endswith(" (100 times by now)")
    for number in range(100, 600):
        front = room.front()
        front.ask(number)
        front.close()
    assert len(room.told) == 6 + 14 + 3


def sent(link: socket.socket, message: bytes, descriptors: list[int]) -> bool:
    """Sends a message with files; False: the other end is closed."""
    try:
        socket.send_fds(link, [message], descriptors) if descriptors else link.sendall(message)
    except OSError:
        return False
    return True


def test_mutated_messages_end_their_own_session_alone(tmp_path: Path) -> None:
    rng = random.Random(1)
    room, other = Room(tmp_path / "one"), Room(tmp_path / "two")
    honest = other.front()
    assert honest.ask(1, answers=True)
    null = os.open("/dev/null", os.O_RDONLY)
    event = os.eventfd(0)
    before = files()
    for _ in range(2000):
        link = socket.socket(socket.AF_UNIX)
        link.connect(str(room.path))
        for _ in range(rng.randrange(1, 6)):
            body = rng.randbytes(rng.choice((0, 4, 8, 8, 8, 40, 72)))
            if rng.random() < 0.7:
                body = struct.pack("<I", rng.randrange(3)) + body[4:] if len(body) > 4 else body
            if rng.random() < 0.3:
                body = struct.pack("<Q", PACKED)
            size = len(body) if rng.random() < 0.9 else rng.randrange(6000)
            head = struct.pack("<III", rng.randrange(22), rng.choice((1, 1, 1, 9, rng.randrange(16))), size)
            descriptors = [rng.choice((null, event)) for _ in range(rng.choice((0, 0, 1, 1, 2, 9)))]
            if not sent(link, head + body, descriptors):
                break
            room.back.poll()
            assert honest.ask(1, answers=True)
        link.close()
        while room.back.poll():
            pass
    assert files() <= before
    room.back.close()
    other.back.close()


def near(rng: random.Random, value: int, bits: int) -> int:
    """A number, or one that is close to it, or any."""
    step = rng.choice((1, -1, 2, 8, 16, -16, SIZE, rng.getrandbits(bits))) if rng.random() < 0.15 else 0
    return (value + step) % (1 << bits)


def test_what_begins_can_be_whatever_was_said_before(tmp_path: Path) -> None:
    """Sessions that a front end may well have, with numbers of them changed, beside one that is answered."""
    rng = random.Random(2)
    room, other = Room(tmp_path / "one"), Room(tmp_path / "two")
    honest, front = other.front(), room.front()
    maps: dict[int, int] = {}
    begun = 0

    def begin(side: Side, number: int, what: Virtqueue) -> None:
        nonlocal begun
        begun += 1
        assert number == 0 and what.vector == 1 - side
        assert 1 <= what.size <= 1 << 15 and what.base & 0x7FFF < what.size and what.base < 1 << 16
        for at, size, step in ((what.ring, 16 * what.size, 16), (what.driver, 4, 4), (what.device, 4, 4)):
            assert at % step == 0
            assert any(guest <= at and at + size <= guest + length for guest, length in maps.items())

    memory = room.functions.card.memory
    room.functions.begin.side_effect = begin
    memory.map.side_effect = lambda guest, size, **_: maps.update({guest: size})
    memory.unmap.side_effect = lambda guest, **_: maps.pop(guest)
    front.link.close()
    room.back.poll()
    assert honest.ask(1, answers=True)
    before = files()
    for _ in range(1000):
        link = socket.socket(socket.AF_UNIX)
        link.connect(str(room.path))
        place = [near(rng, USER + at, 64) for at in (0, RING, RING + 4)]
        index = rng.choice((0, 1, 1, near(rng, 1, 8)))
        messages = [
            (2, struct.pack("<Q", PACKED), []),
            (5, struct.pack("<II", 1, 0) + region(GUEST, near(rng, SIZE, 32), near(rng, USER, 64)), [front.memory.fd]),
            (8, struct.pack("<II", index, near(rng, 16, 32)), []),
            (9, struct.pack("<IIQQQQ", index, 0, *place, 0), []),
            (10, struct.pack("<II", index, rng.choice((1 << 15, 0x8000_8000, near(rng, 15, 32)))), []),
            (14, struct.pack("<Q", index), [front.calls[0]]),
            (12, struct.pack("<Q", index), [front.kicks[1]]),
            (18, struct.pack("<II", index, 1), []),
            (11, struct.pack("<II", index, 0), []),
        ]
        if rng.random() < 0.3:
            messages.insert(rng.randrange(len(messages)), messages.pop(rng.randrange(len(messages))))
        for number, body, descriptors in messages[: rng.randrange(6, 10)]:
            message = struct.pack("<III", number, 1, len(body)) + body
            if not sent(link, message, descriptors):
                break
            room.back.poll()
        assert honest.ask(1, answers=True)
        link.close()
        while room.back.poll():
            pass
        assert not maps
    assert files() == before
    assert 100 < begun < 900
    assert len(room.told) < 17 * 4
    room.back.close()
    other.back.close()
