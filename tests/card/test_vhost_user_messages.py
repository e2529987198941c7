# SPDX-License-Identifier: Apache-2.0
"""What a front end of vhost-user may say: it ends at most its own session, and keeps no file open."""

from __future__ import annotations

import itertools
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

from headrace.card.functions.vhost_user import VhostUser

RING = 0x1000


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
    return len(os.listdir("/proc/self/fd"))


def set_up(front: FrontEnd, at: int = USER, base: int = 1 << 15, size: int = 16) -> None:
    """All but the doorbell of queue 1."""
    front.number(2, PACKED)
    front.ask(5, struct.pack("<IIQQQQ", 1, 0, GUEST, SIZE, USER, 0), [front.memory.fd])
    front.ask(8, struct.pack("<II", 1, size))
    front.ask(9, struct.pack("<IIQQQQ", 1, 0, at, at + RING, at + RING + 4, 0))
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
    ],
)
def test_a_ring_that_cannot_be_never_begins(room: Room, what: dict[str, int], message: str) -> None:
    front = room.front()
    set_up(front, **what)
    kick(front)
    (line,) = room.told
    assert line.startswith("function 0: its front end is refused: ") and message in line
    assert room.begun() == 0


def test_a_ring_that_can_be_begins(room: Room) -> None:
    front = room.front()
    set_up(front, base=15)
    kick(front)
    assert (room.told, room.begun()) == ([], 1)


def test_a_doorbell_is_an_eventfd(room: Room) -> None:
    front = room.front()
    set_up(front)
    with Path("/dev/null").open("rb") as file:
        kick(front, file.fileno())
    assert "no eventfd" in room.told[0]
    assert room.begun() == 0


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


@pytest.mark.parametrize("request_number", [12, 13])
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
    assert len(room.told) == 1


def test_files_that_come_byte_by_byte_have_a_bound(room: Room) -> None:
    front = room.front()
    before = files()
    for _ in range(10):
        socket.send_fds(front.link, [b"\1"], [front.kicks[0]] * 8)
    for _ in range(10):
        room.back.poll()
    assert room.told == ["function 0: its front end is refused: a message with more than 8 files"]
    assert files() <= before


def test_a_flood_leaves_others_their_turn(room: Room) -> None:
    front = room.front()
    front.link.sendall(struct.pack("<III", 3, 1, 0) * 500)
    turns = list(itertools.takewhile(bool, (room.back.poll() for _ in range(1000))))
    assert sum(turns) == 500
    assert max(turns) <= 16


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
    assert room.told == ["function 0: its front end has gone"]


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
            try:
                socket.send_fds(link, [head + body], descriptors) if descriptors else link.sendall(head + body)
            except OSError:
                break
            room.back.poll()
            assert honest.ask(1, answers=True)
        link.close()
        while room.back.poll():
            pass
    assert files() <= before
    room.back.close()
    other.back.close()
