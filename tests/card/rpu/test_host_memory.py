"""Units reach host memory: what they write is there, what they read is what was there, in order, whatever happens."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from headrace.card import Card
from headrace.cards.rpu import elf, program
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.driver import RpuDriver

UNITS = 4
SMALL = {"PMEM_KB": 512}
ACCELERATORS = {1: "crc", 2: "blacklist"}  # as in test_rpu_card, whose model this is
PROGRAMS = Path(__file__).parent / "programs"

SIZE = 0x4000  # of what a unit has of host memory
LIST, LOCAL = 0x0080_1000, 0x0080_3000  # in data memory: what to do, and data
PACKETS = 0x0104_1000  # 256 KB of packet memory without slots
WAIT, DRAIN, WRITE, READ = 1, 2, 4, 5
DRAM_ERROR, INVALID_DESC, DRAM_FLAG = 1 << 13, 1 << 12, 1 << 2

Item = tuple[int, int, int, int, int]  # what, place in the unit, bytes, tag, place in host memory


@pytest.fixture
def card() -> Iterator[Card]:
    with open_rpu_card(UNITS, ACCELERATORS, parameters=SMALL, progress=False) as opened:
        yield opened


def driving(card: Card, name: str) -> RpuDriver:
    driver = driver_of(card)
    driver.load(elf.read(program.build([PROGRAMS / name])))
    driver.boot()
    assert driver.ready()
    return driver


def start(driver: RpuDriver, unit: int, items: Iterable[Item]) -> None:
    """Lets a unit do what a list says."""
    words = b"".join(
        struct.pack("<6I", what, place, size, tag, at & 0xFFFF_FFFF, at >> 32) for what, place, size, tag, at in items
    )
    driver.write([unit], LIST, words + bytes(4))
    driver.poke(unit)


def finish(card: Card, driver: RpuDriver, unit: int, lists: int = 1) -> int:
    """Waits until a unit has done so many lists, and gives the interrupt flags that it saw then."""
    for _ in range(200):
        out = driver.state(unit).debug_out
        if out & 0xFFFF_FFFF == lists:
            return out >> 32
        card.run(until=None, cycles=500)
    raise AssertionError(f"unit {unit} hangs: {driver.state(unit)}")


def overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[0] + other[1] and other[0] < one[0] + one[1]


class Oracle:
    """A unit's memories and its part of host memory, and a list of requests whose outcome is certain. What the unit's
    memories have comes from behind that part, and goes behind that in the end."""

    def __init__(self, card: Card, rng: random.Random) -> None:
        self.card, self.rng = card, rng
        self.base = card.memory.allocate(4 * SIZE)
        self.dram = bytearray(rng.randbytes(SIZE))
        self.local = {LOCAL: bytearray(rng.randbytes(0x400)), PACKETS: bytearray(rng.randbytes(0x1800))}
        self.items: list[Item] = []
        self.flying: list[tuple[int, tuple[int, int], tuple[int, int]]] = []  # reads: tag, in host memory, in the unit
        card.memory.write(self.base, bytes(self.dram))

    def make(self, count: int, most: int) -> list[Item]:
        rng = self.rng
        for place, data in self.local.items():
            self.card.memory.write(self.base + SIZE + place % SIZE, bytes(data))
            self.items += [(READ, place, len(data), 1, self.base + SIZE + place % SIZE), (WAIT, 0, 0, 1, 0)]
        for _ in range(count):
            memory = rng.choice([LOCAL, PACKETS])
            limit = min(most, len(self.local[memory]))
            size = rng.choice([1, 2, 63, 64, 65, rng.randint(1, 300), rng.randint(1, limit)])
            at = rng.choice([rng.randrange(len(self.dram)), 4096 - rng.randint(1, 70)]) % (len(self.dram) - size)
            place = rng.randrange(len(self.local[memory]) - size)
            if rng.random() < 0.5:
                self.write(memory, place, at, size)
            else:
                self.read(memory, place, at, size)
        self.land(lambda *_: True)
        for place, data in self.local.items():
            self.items.append((WRITE, place, len(data), 0, self.base + 2 * SIZE + place % SIZE))
        self.items += [(READ, LOCAL, 1, 1, self.base + 2 * SIZE), (WAIT, 0, 0, 1, 0)]
        return self.items

    def check(self, driver: RpuDriver, unit: int) -> None:
        memory = self.card.memory
        assert memory.read(self.base, SIZE) == self.dram
        for place, data in self.local.items():
            assert memory.read(self.base + 2 * SIZE + place % SIZE, len(data)) == data
            assert driver.read(unit, place + 64, 64) == data[64:128]

    def write(self, memory: int, place: int, at: int, size: int) -> None:
        self.land(lambda far, near: overlap(far, (at, size)) or overlap(near, (memory + place, size)))
        self.items.append((WRITE, memory + place, size, self.rng.randrange(256), self.base + at))
        self.dram[at : at + size] = self.local[memory][place : place + size]

    def read(self, memory: int, place: int, at: int, size: int) -> None:
        free = set(range(1, 32)) - {tag for tag, *_ in self.flying}
        tag = self.rng.choice(sorted(free))
        self.items.append((READ, memory + place, size, tag, self.base + at))
        self.flying.append((tag, (at, size), (memory + place, size)))
        self.local[memory][place : place + size] = self.dram[at : at + size]

    def land(self, condition) -> None:  # type: ignore[no-untyped-def]
        """Waits for reads, all up to the last one of which something is so."""
        for number in reversed(range(len(self.flying))):
            if condition(*self.flying[number][1:]):
                self.items += [(WAIT, 0, 0, tag, 0) for tag, *_ in self.flying[: number + 1]]
                del self.flying[: number + 1]
                return


@pytest.mark.parametrize("slow", [False, True])
def test_units_read_and_write_what_a_byte_array_has(card: Card, slow: bool) -> None:
    rng = random.Random(slow)
    driver = driving(card, "dram.c")
    if slow:
        card.memory.configure(read_latency_ns=900, write_latency_ns=400, stalls=5, out_of_order=7)
    oracles = [Oracle(card, rng) for _ in range(UNITS)]
    for unit, oracle in enumerate(oracles):
        start(driver, unit, oracle.make(80, 4000))
    for unit, oracle in enumerate(oracles):
        assert not finish(card, driver, unit) & (DRAM_ERROR | INVALID_DESC)
        oracle.check(driver, unit)
    requests = [item[0] for oracle in oracles for item in oracle.items]
    counters = driver.dram_counters()
    assert (counters.reads, counters.writes) == (requests.count(READ), requests.count(WRITE))
    assert (counters.read_errors, counters.write_errors) == (0, 0)
    assert all(driver.counters(unit).tx_packets == 0 for unit in range(UNITS)), "requests are no packets"


def test_a_read_of_64_kb_comes_whole(card: Card) -> None:
    driver = driving(card, "dram.c")
    data = random.Random(3).randbytes(0x10000)
    base = card.memory.allocate(0x11000)
    card.memory.write(base + 77, data)
    start(driver, 0, [(READ, PACKETS + 5, 0xFFFF, 31, base + 77), (WAIT, 0, 0, 31, 0)])
    finish(card, driver, 0)
    for at in (0, 4096 - 77 - 64, 0x8000, 0xFFFF - 256):
        assert driver.read(0, PACKETS + 5 + at, 256) == data[at : at + 256][: 0xFFFF - at]


def test_a_flag_raises_the_dram_interrupt(card: Card) -> None:
    driver = driving(card, "dram_interrupt.c")
    data = random.Random(4).randbytes(192)
    base = 0x1000_0000
    card.memory.map(base, 4096)
    card.memory.write(base, data)
    driver.set_debug(2, base)
    for _ in range(100):
        card.run(until=None, cycles=200)
        if driver.state(2).debug_out:
            break
    assert driver.state(2).debug_out == 3 << 32 | 0b111 << 5
    assert driver.read(2, 0x0080_2000, 192) == data


def test_what_is_not_mapped_is_flagged_and_others_go_on(card: Card) -> None:
    driver = driving(card, "dram.c")
    base, gap = card.memory.allocate(8192), 0x66_0000_0000
    mark = bytes(range(64))
    for unit in (0, 1):
        driver.write([unit], LOCAL, mark)
    start(driver, 0, [(READ, LOCAL, 64, 7, gap + 8), (WAIT, 0, 0, 7, 0)])
    start(driver, 1, [(WRITE, LOCAL, 64, 0, base), (READ, LOCAL + 128, 64, 7, base), (WAIT, 0, 0, 7, 0)])
    assert finish(card, driver, 0) & DRAM_ERROR
    assert not finish(card, driver, 1) & DRAM_ERROR
    assert driver.read(0, LOCAL, 64) == mark, "a read that fails sets no data"
    assert driver.read(1, LOCAL + 128, 64) == mark
    assert driver.dram_error_address(0) == gap + 8
    read: list[Item] = [(READ, LOCAL, 1, 1, base), (WAIT, 0, 0, 1, 0)]
    start(driver, 0, read)
    assert finish(card, driver, 0, 2) & DRAM_ERROR, "until it is acknowledged"
    start(driver, 0, [(WRITE, LOCAL, 64, 0, gap + 4096), *read])
    finish(card, driver, 0, 3)
    counters = driver.dram_counters()
    assert (counters.read_errors, counters.write_errors) == (1, 1)
    assert driver.dram_error_address(0) == gap + 4096
    assert driver.dram_error_address(1) == 0
    assert [driver.state(unit).errors_seen for unit in (0, 1)] == [DRAM_ERROR, 0]


def test_pages_that_are_there_are_read_beside_one_that_is_not(card: Card) -> None:
    driver = driving(card, "dram.c")
    data = random.Random(5).randbytes(4096)
    base = card.memory.allocate(4096)
    card.memory.write(base, data)
    driver.write([3], PACKETS, bytes(8192))
    start(driver, 3, [(READ, PACKETS, 6000, 9, base), (WAIT, 0, 0, 9, 0)])
    assert finish(card, driver, 3) & DRAM_ERROR
    assert driver.read(3, PACKETS, 6000) == data + bytes(6000 - 4096)
    assert driver.dram_error_address(3) == base + 4096


@pytest.mark.parametrize(
    ("what", "place", "size", "tag", "invalid"),
    [
        (READ, LOCAL, 64, 32, True),
        (READ, 0x0081_0000, 64, 1, True),
        (READ, 0x0107_FFF0, 17, 1, True),
        (WRITE, 0x0080_7FFF, 2, 0, True),
        (WRITE, LOCAL, 64, 40, False),
        (WRITE, LOCAL, 0, 0, False),
        (READ, LOCAL, 0, 3, False),
    ],
)
def test_a_request_names_what_is_there(card: Card, what: int, place: int, size: int, tag: int, invalid: bool) -> None:
    driver = driving(card, "dram.c")
    base = card.memory.allocate(4096)
    items: list[Item] = [(what, place, size, tag, base)]
    if what == READ and not invalid:
        items.append((WAIT, 0, 0, tag, 0))
    start(driver, 0, [*items, (DRAIN, 0, 0, 0, 0)])
    assert bool(finish(card, driver, 0) & INVALID_DESC) == invalid
    card.run(until=None, cycles=300)
    counters = driver.dram_counters()
    assert counters.reads + counters.writes == (size > 0 and not invalid)


def test_a_reset_forgets_reads_that_are_under_way(card: Card) -> None:
    driver = driving(card, "dram.c")
    card.memory.configure(read_latency_ns=20_000)
    base = card.memory.allocate(0x4000)
    card.memory.write(base, b"\xaa" * 0x4000)
    driver.write([0], PACKETS, bytes(9000))
    driver.write([0], LOCAL, bytes(64))
    start(driver, 0, [(READ, PACKETS, 9000, 4, base), (READ, LOCAL, 64, 5, base)])
    finish(card, driver, 0)
    driver.reset([0])
    card.run(until=None, cycles=100)
    driver.boot([0])
    assert driver.ready([0])
    card.run(until=None, seconds=1e-4)
    assert driver.read(0, PACKETS, 9000) == bytes(9000)
    assert driver.read(0, LOCAL, 64) == bytes(64)
    assert not driver.state(0).flags & DRAM_FLAG
    start(driver, 0, [(READ, LOCAL, 64, 6, base), (WAIT, 0, 0, 6, 0)])
    assert finish(card, driver, 0) & (DRAM_ERROR | INVALID_DESC) == 0
    assert driver.read(0, LOCAL, 64) == b"\xaa" * 64
    assert driver.counters(0).errors == 0


def test_a_slot_that_is_dropped_stays_until_its_data_have_left(card: Card, tmp_path: Path) -> None:
    (tmp_path / "write.c").write_text(
        '#include "core.h"\nint main(void) {\n  struct Desc packet;\n  init_slots(2, 0, 2048);\n  set_masks(0);\n'
        "  unsigned long long at = (unsigned long long)DEBUG_IN_H << 32 | DEBUG_IN_L;\n  while (1) {\n"
        "    if (!in_pkt_ready()) continue;\n    read_in_pkt(&packet);\n    dram_write(&at, &packet);\n"
        "    at += packet.len;\n    packet.len = 0;\n    pkt_send(&packet);\n  }\n}\n"
    )
    driver = driver_of(card)
    card.memory.configure(stalls=9)
    base = card.memory.allocate(0x10000)
    driver.set_debug(0, base)
    driver.load(elf.read(program.build([tmp_path / "write.c"])), [0])
    driver.boot([0])
    assert driver.ready([0])
    frames = [random.Random(number).randbytes(1500) for number in range(40)]
    driver.set_flow_control(True)
    card.flow_control(0, True)
    card.source(0, frames)
    card.run(until=None, cycles=30_000)
    assert card.memory.read(base, 40 * 1500) == b"".join(frames)


def test_packets_and_requests_share_a_unit(card: Card) -> None:
    driver = driving(card, "dram.c")
    rng = random.Random(6)
    frames = [rng.randbytes(rng.randint(60, 1500)) for _ in range(100)]
    driver.enable([0])
    driver.disable([1, 2, 3])
    card.source(0, frames, timing=2e9)
    card.sink(0, "memory")
    oracle = Oracle(card, rng)
    start(driver, 0, oracle.make(60, 2000))
    finish(card, driver, 0)
    card.run(until=None, seconds=0.0005)
    assert [frame.data for frame in card.received(0)] == frames
    oracle.check(driver, 0)
