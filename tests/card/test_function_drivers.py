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
from headrace.card.functions import Functions, Plugs

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
