# SPDX-License-Identifier: Apache-2.0
"""The function engine and drivers of other processes: what is usual, what is odd and what is wrong in their rings."""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from host.packed import AVAIL, DESCRIPTOR, EVENT, INDIRECT, NEXT, USED, WRITE, Buffer
from host.segments import TCPV4, some_headers
from scapy.packet import Raw
from soak import soak
from vhost_front_end import GUEST, HEADER, PACKED, SIZE, FrontEnd

from headrace.card import Card
from headrace.card.functions import Functions, Plugs, Policy, QueueFault, Side

CARD = Path(__file__).parent / "cards" / "functions"
INDIRECT_DESC = 1 << 28
FEATURES = [INDIRECT_DESC, *(1 << bit for bit in (0, 1, 11, 12, 13, 15, 29))]
CSUM, HOST_TSO4 = 1 << 0, 1 << 11
CYCLES = 5_000


class Room:
    """The card, which gives each function back what it sends, and front ends of the first ones."""

    def __init__(self, card: Card, folder: Path) -> None:
        self.card, self.told = card, list[str]()
        self.functions = Functions(card, card.regs.functions)
        self.plugs = Plugs(self.functions, self.told.append)
        self._folder = folder

    def front(self, function: int, features: int = PACKED) -> FrontEnd:
        front = self.connect(function)
        front.start(features)
        return front

    def connect(self, function: int) -> FrontEnd:
        path = self._folder / str(function)
        if function not in self.plugs:
            self.plugs.plug(function, f"vhost:{path}")
        return FrontEnd(path, self.plugs.poll)

    def run(self, cycles: int = CYCLES) -> None:
        self.card.run(until=None, cycles=cycles)
        self.plugs.poll()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with Card.open(CARD, {"FUNCTIONS": 16}, clock_hz=250_000_000, progress=False) as card:
        room = Room(card, tmp_path)
        yield room
        room.plugs.close()


def test_a_header_and_data_in_a_table_as_dpdk_makes_it(room: Room) -> None:
    """WRITE stays on what the device reads."""
    rng = random.Random(1)
    front = room.front(0, PACKED | INDIRECT_DESC)
    sends = front.drivers[1]
    sends.presets = True
    front.post(8)
    for number in range(8):
        frame = rng.randbytes(rng.choice((60, 100, 164)))
        data, table = GUEST + 0x20000 + 0x1000 * number, GUEST + 0x30000 + 0x100 * number
        front.memory.write(data, bytes(HEADER) + frame)
        cut = rng.randrange(len(frame))
        parts = [(0, HEADER), (HEADER, cut), (HEADER + cut, len(frame) - cut)]
        sends.add([Buffer(data + at, size) for at, size in parts], table)
        front.kick(1)
        room.run()
        assert front.received() == [frame]
        assert len(sends.used()) == 1
    assert room.told == []


def test_a_function_whose_link_is_disabled_stands_still_and_goes_on_where_it_was(room: Room) -> None:
    front, other = room.front(0), room.front(1)
    rng = random.Random(2)
    due = list[bytes]()
    for number in range(6):
        room.functions.set_policy(0, Policy(link_state=("auto", "disable", "enable")[number % 3]))
        assert room.plugs.link_up(0) == (number % 3 != 1)
        frames = [rng.randbytes(60) for _ in range(3)]
        for each in (front, other):
            each.post(3)
            for frame in frames:
                each.send(frame)
        due += frames
        room.run()
        assert other.received() == frames
        if number % 3 == 1:
            assert front.received() == []
            base = front.stop(1)
            front.begin(1, base)  # a driver may begin anew meanwhile
        else:
            assert front.received() == due
            assert len(front.drivers[1].used()) == len(due)
            due.clear()
        other.drivers[1].used()
    room.functions.set_policy(0, Policy(link_state="disable"))
    before = room.functions.counters(Side.RECEIVE, 0)
    front.send(bytes(60))
    front.close()
    room.run()
    assert room.told == ["function 0: its front end has gone"]
    assert room.functions.counters(Side.RECEIVE, 0) == before


class Liar:
    """A driver whose rings are mostly as they should be."""

    def __init__(self, rng: random.Random, front: FrontEnd) -> None:
        self.rng, self.front = rng, front
        self.front.agree(PACKED | sum(rng.sample(FEATURES, rng.randrange(len(FEATURES)))))
        self.wrong = rng.choice((0, 0, 0.01, 0.03, 0.2))  # how often something is
        for at in range(GUEST + 0x2000, GUEST + SIZE, 0x1000):
            self.front.memory.write(at, self._packet())
        for index in (0, 1):
            self.front.memory.write(GUEST + 0x1000 * index, rng.randbytes(0x1000) if self._errs() else bytes(0x1000))
        self.sizes = [rng.choice((1, 2, 3, 16, 31, 128)) for _ in range(2)]
        self.places = [(rng.randrange(size), rng.getrandbits(1)) for size in self.sizes]
        for index, (place, wrap) in enumerate(self.places):
            self.events(index)
            self.front.begin(index, place | wrap << 15, self.sizes[index])

    def _errs(self) -> bool:
        return self.rng.random() < self.wrong

    def _packet(self) -> bytes:
        """A virtio-net header and a frame, which may not fit each other."""
        rng = self.rng
        if rng.random() < 0.2:
            return rng.randbytes(100)
        if rng.random() < 0.5:
            return bytes(HEADER) + rng.randbytes(100)
        fields = [rng.choice((0, 1, 2, 255)), rng.choice((0, 1, 4, 3, 5, 0x81))]
        fields += [rng.choice((0, 1, 14, 34, 54, 66, 1448, 1514, 0xFFFF, rng.getrandbits(7))) for _ in range(5)]
        return struct.pack("<BBHHHHH", *fields) + bytes(some_headers(rng, rng.random() < 0.5) / Raw(bytes(200)))

    def events(self, index: int) -> None:
        """What the queue's driver says of interrupts."""
        event = EVENT.pack(self.rng.getrandbits(16), self.rng.choice((0, 0, 1, 2, 3, self.rng.getrandbits(16))))
        self.front.memory.write(GUEST + 0x1000 * index + 0x800, event)

    def _piece(self, index: int) -> tuple[int, int, int, int]:
        rng = self.rng
        at = GUEST + 0x1000 * rng.randrange(2, 240)
        size = rng.choice((0, 1, 11, 12, 13, 25, 26, 27, *[rng.randrange(2000) for _ in range(12)], 9000, 65_612))
        if self._errs():
            at = rng.choice((0, GUEST - 1, GUEST + SIZE - 30, (1 << 64) - 30, rng.getrandbits(64), GUEST + 0x2007))
        if self._errs():
            size = rng.choice((65_613, 131_071, 131_072, (1 << 32) - 1, rng.getrandbits(32)))
        flags = 0 if index else WRITE
        return at, size, rng.getrandbits(16), flags ^ (WRITE if self._errs() else 0)

    def lie(self, index: int) -> None:
        """Makes a few chains available, and rings."""
        rng, memory = self.rng, self.front.memory
        for _ in range(rng.randrange(1, 12)):
            count = rng.choice((1, 1, 1, 2, 2, 3, 9))
            pieces = [list(self._piece(index)) for _ in range(count)]
            if rng.random() < 0.3:
                table = GUEST + 0xF8000 + 16 * rng.randrange(0x400) + 8 * self._errs()
                memory.write(table, b"".join(DESCRIPTOR.pack(*piece) for piece in pieces))
                length = (
                    16 * count if rng.random() > 5 * self.wrong else rng.choice((0, 8, 16 * count + 4, 1 << 20, 4096))
                )
                pieces = [[table, length, rng.getrandbits(16), INDIRECT | NEXT * self._errs()]]
            for piece in pieces[:-1]:
                piece[3] |= NEXT * (not self._errs())
            for piece in pieces:
                place, wrap = self.places[index]
                marks = AVAIL if wrap else USED
                if self._errs():
                    marks = rng.choice((0, AVAIL, USED, AVAIL | USED, INDIRECT | marks, 0x7F78 | marks))
                memory.write(GUEST + 0x1000 * index + 16 * place, DESCRIPTOR.pack(*piece[:3], piece[3] | marks))
                place += 1
                self.places[index] = place % self.sizes[index], wrap ^ (place == self.sizes[index])
        self.front.kick(index)


@pytest.mark.parametrize("rounds", [30, soak(300)])
def test_drivers_that_lie_fail_alone(room: Room, rounds: int) -> None:
    """Whatever is in their rings, tables and headers, and whenever they stop, begin and go, others go on."""
    rng = random.Random(rounds)
    honest = room.front(15, PACKED | INDIRECT_DESC)
    honest.post(8)
    for number in range(rounds):
        liars = [Liar(rng, room.connect(function)) for function in range(3)]
        for _ in range(rng.randrange(1, 5)):
            for liar, index in itertools.product(liars, (0, 1)):
                if rng.random() < 0.8:
                    liar.lie(index)
                if rng.random() < 0.2:
                    liar.events(index)
                if rng.random() < 0.1 and liar.front.kicks:
                    place = liar.front.stop(index)
                    liar.front.begin(index, place, liar.sizes[index])
            frame = rng.randbytes(rng.choice((60, 300, 1514)))
            honest.send(frame, rng.choice((1, 2, 3)))
            room.run(rng.randrange(200, 2_500))
            for _ in range(20):
                if got := honest.received():
                    break
                room.run(1_000)
            assert got == [frame], number
            assert len(honest.drivers[1].used()) == 1
            honest.post(1)
        for liar in liars:
            liar.front.close()
        room.plugs.poll()
    text = "".join(room.told)
    assert all(fault.text in text for fault in QueueFault)
    assert "refused" not in text


def test_a_frame_that_is_to_become_segments_of_a_byte_holds_up_nobody(room: Room) -> None:
    greedy = room.front(0, PACKED | CSUM | HOST_TSO4)
    honest = room.front(1)
    honest.post(1)
    data = bytes(some_headers(random.Random(4), v6=False) / Raw(bytes(60_000)))
    greedy.send(data, header=struct.pack("<BBHHHHH", 1, TCPV4, 0, 1, 34, 16, 0))
    room.run(3_000)  # it is read by then
    honest.send(bytes(60))
    room.run()
    assert honest.received() == [bytes(60)]
    assert room.functions.counters(Side.TRANSMIT, 0).dropped == 1
