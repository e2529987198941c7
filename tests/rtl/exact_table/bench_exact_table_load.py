"""How full an exact-match table gets with random keys, and what an insertion takes."""

import random
from typing import Any

import cocotb
from exact_table.operations import Answer, Op, begin

from headrace.testing.streams import PATTERNS, behaviour


@behaviour()
async def a_table_takes_95_percent_of_its_entries(dut: Any) -> None:
    size = int(dut.ENTRIES.value)
    pool = random.sample(range(1 << 32), 2 * size)
    table = await begin(dut, PATTERNS[0](), pool)
    took: dict[int, list[int]] = {}
    refused = 0
    for key in pool:
        answer, cycles = await table.operate(Op.INSERT, key)
        if answer == Answer.FULL:
            refused = len(table.entries)
            break
        took.setdefault(20 * (len(table.entries) - 1) // size, []).append(cycles + await table.ready())
    for part, cycles_each in took.items():
        mean = sum(cycles_each) / len(cycles_each)
        dut._log.info("load %d to %d %%: %.1f cycles, at most %d", 5 * part, 5 * part + 5, mean, max(cycles_each))
    dut._log.info("the first refused at %.1f %%", 100 * refused / size)
    assert refused >= 0.95 * size
    assert sum(took[0]) <= 15 * len(took[0])
    assert sum(took[17]) <= 100 * len(took[17]), "cycles of an insertion from 85 to 90 %"
    assert table.lookups.undecided > 0
    asked = iter([*pool[:refused], *pool[:8]])  # each key that it has, and time for the last answer
    table.lookups.draw = lambda: next(asked)
    hits = table.lookups.hits
    await table.lookups.run(refused + 8)
    assert table.lookups.hits - hits >= refused


ALIKE = {
    "counting up": lambda i: i,
    "counting up by 8": lambda i: 8 * i,
    "pairs of fields": lambda i: i % 32 | i // 32 << 16,
    "pairs of bytes": lambda i: i % 32 | i // 32 << 8,
}


@behaviour()
@cocotb.parametrize(keys=list(ALIKE))
async def keys_that_are_alike_have_room_for_15_of_16(dut: Any, keys: str) -> None:
    size = int(dut.ENTRIES.value)
    pool = [ALIKE[keys](i) for i in range(2 * size)]
    table = await begin(dut, PATTERNS[0](), pool)
    for key in pool:
        answer, _ = await table.operate(Op.INSERT, key)
        if answer == Answer.FULL:
            break
        await table.ready()
    dut._log.info("the first refused at %.1f %%", 100 * len(table.entries) / size)
    assert len(table.entries) >= 15 * size // 16
