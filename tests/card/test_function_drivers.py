# SPDX-License-Identifier: Apache-2.0
"""The function engine and drivers of other processes: what is usual, what is odd and what is wrong in their rings."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from host.packed import Buffer
from vhost_front_end import GUEST, HEADER, PACKED, FrontEnd

from headrace.card import Card
from headrace.card.functions import Functions, Plugs, Policy, Side

CARD = Path(__file__).parent / "cards" / "functions"
INDIRECT = 1 << 28
CYCLES = 5_000


class Room:
    """The card, which gives each function back what it sends, and front ends of the first ones."""

    def __init__(self, card: Card, folder: Path) -> None:
        self.card, self.told = card, list[str]()
        self.functions = Functions(card, card.regs.functions)
        self.plugs = Plugs(self.functions, self.told.append)
        self._folder = folder

    def front(self, function: int, features: int = PACKED) -> FrontEnd:
        path = self._folder / str(function)
        if function not in self.plugs:
            self.plugs.plug(function, f"vhost:{path}")
        front = FrontEnd(path, self.plugs.poll)
        front.start(features)
        return front

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
    front = room.front(0, PACKED | INDIRECT)
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
