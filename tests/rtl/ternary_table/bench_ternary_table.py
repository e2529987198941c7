"""What a ternary table promises: the first entry that matches, at every moment, while entries come, move and go."""

import random
from dataclasses import dataclass
from typing import Any

import cocotb

from headrace.testing.lookups import Lookups, State
from headrace.testing.streams import PATTERNS, behaviour, start


def levels(count: int, fan: int) -> int:
    """Of a tree of nodes of `fan` inputs, at least one."""
    done = 0
    while count > 1 or not done:
        count, done = -(-count // fan), done + 1
    return done


@dataclass(frozen=True)
class Entry:
    value: int
    mask: int

    def matches(self, key: int) -> bool:
        return (key ^ self.value) & self.mask == 0


Entries = tuple[Entry | None, ...]


def state(entries: Entries) -> State:
    return lambda key: next((i for i, entry in enumerate(entries) if entry and entry.matches(key)), None)


class Table:
    """The table under test and what must be in it."""

    def __init__(self, dut: Any, stalls: Any) -> None:
        self.width, self.size, chunk = (int(getattr(dut, name).value) for name in ("KEY_W", "ENTRIES", "CHUNK_W"))
        words = -(-self.width // chunk)
        tree = 1 + (levels(-(-words // 4), 8) if words > 4 else 0)
        self.entries: Entries = (None,) * self.size
        self.coming: Entry | None = None
        self.lookups = Lookups(dut, "index", 2 + tree + levels(self.size, 8), stalls(), self.draw)

    def random_bits(self) -> int:
        return random.getrandbits(self.width)

    def draw(self) -> int:
        """A key: any, or one that an entry matches, or does but for one bit."""
        near = random.choice((*self.entries, self.coming))
        if not near or random.random() < 0.2:
            return self.random_bits()
        key = near.value & near.mask | self.random_bits() & ~near.mask
        return key ^ (random.random() < 0.3) << random.randrange(self.width)

    def random_entry(self) -> Entry:
        mask = random.choice((0, -1, self.random_bits(), self.random_bits() | self.random_bits()))
        return Entry(self.random_bits(), mask & (1 << self.width) - 1)

    async def operate(self, index: int | None, entry: Entry | None, clear: int | None) -> int:
        """Write `entry` at `index`, remove the one at `clear`; the cycles that it took."""
        steps = []
        after = list(self.entries)
        if index is not None and after[index]:
            after[index] = None  # an entry written in its own place is first removed
            steps.append(state(tuple(after)))
        if clear is not None:
            after[clear] = None
        if index is not None:
            after[index] = self.coming = entry
        left = tuple(after)
        cycles = await self.lookups.operate(
            [*steps, state(left)],
            lambda: state(left),
            op_set=int(index is not None),
            op_index=index if index is not None else random.randrange(self.size),
            op_value=entry.value if entry else self.random_bits(),
            op_mask=entry.mask if entry else self.random_bits(),
            op_clear=int(clear is not None),
            op_clear_index=clear if clear is not None else random.randrange(self.size),
        )
        self.entries = left
        return cycles


async def begin(dut: Any, stalls: Any) -> Table:
    dut.key_valid.value = dut.op_valid.value = 0
    await start(dut)
    table = Table(dut, stalls)
    await table.lookups.run(30)  # random keys, an empty table
    return table


@behaviour()
@cocotb.parametrize(stalls=PATTERNS)
async def each_answer_is_the_first_match_before_or_after_an_operation(dut: Any, stalls: Any) -> None:
    table = await begin(dut, stalls)
    for _ in range(16):
        used = [i for i, entry in enumerate(table.entries) if entry]
        free = [i for i, entry in enumerate(table.entries) if not entry]
        kind = random.choice(("insert", "insert", "move", "change", "write", "remove"))
        if kind == "remove" and used:
            assert await table.operate(None, None, random.choice(used)) == 2
        elif kind == "move" and used and free:
            source = random.choice(used)
            await table.operate(random.choice(free), table.entries[source], source)
        elif kind == "change" and used and free:
            await table.operate(random.choice(free), table.random_entry(), random.choice(used))
        elif kind == "insert" and free:
            duplicate = table.entries[random.choice(used)] if used and random.random() < 0.2 else None
            await table.operate(random.choice(free), duplicate or table.random_entry(), None)
        else:
            await table.operate(random.randrange(table.size), table.random_entry(), None)
        await table.lookups.run(random.choice((0, 0, 1, 5, 40)))
    await table.lookups.run(600)
    assert table.lookups.judged > 80


@behaviour()
async def a_full_table_answers_a_lookup_each_cycle(dut: Any) -> None:
    table = await begin(dut, PATTERNS[0])
    longest = 0
    for index in random.sample(range(table.size), min(table.size, 24)):
        longest = max(longest, await table.operate(index, table.random_entry(), None))
    assert longest < 512 + 40
    before = table.lookups.judged
    await table.lookups.run(300)
    assert table.lookups.judged == before + 300
    assert table.lookups.hits > 100


@behaviour()
async def a_moved_entry_is_never_absent(dut: Any) -> None:
    """Each lookup is of the only entry, so that a moment without it shows."""
    table = await begin(dut, PATTERNS[0])
    if table.size < 2:
        return
    entry = Entry(table.random_bits(), (1 << table.width) - 1)
    at = table.size - 1
    await table.operate(at, entry, None)
    table.lookups.draw = lambda: entry.value
    await table.lookups.run(table.lookups.latency)
    misses = table.lookups.judged - table.lookups.hits
    for _ in range(4):
        to = random.choice([i for i in range(table.size) if i != at])
        await table.operate(to, entry, at)
        at = to
    await table.lookups.run(20)
    assert table.lookups.judged - table.lookups.hits == misses


@behaviour()
async def a_written_entry_is_never_a_mixture(dut: Any) -> None:
    """Each lookup is of a key that has some chunks of the old value and the others of the new one."""
    table = await begin(dut, PATTERNS[0])
    chunk, full = int(dut.CHUNK_W.value), (1 << table.width) - 1
    last = full >> chunk * ((table.width - 1) // chunk) << chunk * ((table.width - 1) // chunk)
    values = [table.random_bits(), table.random_bits() | last]

    def mixed() -> int:
        key = 0
        for first in range(0, table.width, chunk):
            key |= random.choice(values) & ((1 << chunk) - 1) << first
        return key

    table.lookups.draw = mixed
    await table.operate(0, Entry(values[1], full), None)
    for _ in range(12):
        # What is written last, of the highest value of the last chunk, changes.
        values = [table.random_bits() & ~last, values[1] | last]
        await table.operate(0, Entry(values[0], full), None)
        await table.lookups.run(20)
        values = [values[0], table.random_bits() | last]
        await table.operate(0, Entry(values[1], full), None)
        await table.lookups.run(20)


@behaviour()
async def an_operation_that_asks_for_nothing_is_done(dut: Any) -> None:
    table = await begin(dut, PATTERNS[0])
    assert await table.operate(None, None, None) == 2
    await table.lookups.run(20)
