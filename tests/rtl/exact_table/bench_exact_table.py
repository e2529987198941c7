"""What an exact-match table promises: what was inserted is found at every moment, and nothing else is."""

import random
from typing import Any

import cocotb
from exact_table.operations import Answer, Op, Table, begin

from headrace.testing.streams import PATTERNS, behaviour, cycles


def keys(dut: Any) -> list[int]:
    """More keys than places; wide ones differ in few bits."""
    width = int(dut.KEY_W.value)
    if width <= 8:
        return list(range(1 << width))
    base = random.getrandbits(width)
    return [base, *(base ^ 1 << i for i in range(width))]


def table_room(dut: Any) -> int:
    """Entries that can be in the table and its stash at once."""
    return int(dut.ENTRIES.value) + int(dut.STASH.value) - 1


@behaviour()
@cocotb.parametrize(stalls=PATTERNS)
async def each_answer_is_right_before_or_after_an_operation(dut: Any, stalls: Any) -> None:
    pool = keys(dut)
    table = await begin(dut, stalls(), pool)
    seen = set()
    for i in range(400):
        filling = i // 100 % 2 == 0
        op = random.choices(list(Op), (8, 2, 1) if filling else (2, 2, 8))[0]
        known = list(table.entries)
        key = random.choice(known) if known and random.random() < (0.2 if op == Op.INSERT else 0.8) else None
        answer, _ = await table.operate(op, random.choice(pool) if key is None else key)
        seen.add((op, answer))
        if random.random() < 0.3:
            await table.ready()
            await table.lookups.run(random.choice((0, 1, 3, 20)))
    assert {(Op.INSERT, Answer.DONE), (Op.INSERT, Answer.EXISTS), (Op.REMOVE, Answer.DONE)} <= seen
    assert {(Op.CHANGE, Answer.DONE), (Op.CHANGE, Answer.NOT_FOUND), (Op.REMOVE, Answer.NOT_FOUND)} <= seen
    assert table.lookups.judged > 500


@behaviour()
async def a_full_table_says_so_and_keeps_what_it_has(dut: Any) -> None:
    pool = keys(dut)
    if len(pool) < table_room(dut):
        return  # fewer keys than places
    table = await begin(dut, PATTERNS[0](), pool)
    full = 0
    tried = random.sample(pool, min(len(pool), table_room(dut) + 40))
    for key in tried:
        answer, _ = await table.operate(Op.INSERT, key)
        full += answer == Answer.FULL
    assert full == len(tried) - len(table.entries) > 0
    assert len(table.entries) <= table_room(dut)
    before = table.lookups.judged
    await table.ready()
    await table.lookups.run(300)
    assert table.lookups.judged >= before + 300
    for op in (Op.CHANGE, Op.REMOVE):  # also of entries in the stash, while each lookup is of that entry
        for key in list(table.entries):
            table.lookups.draw = lambda key=key: key
            assert (await table.operate(op, key))[0] == Answer.DONE
    await table.ready()
    await table.lookups.run(100)


@behaviour()
@cocotb.parametrize(op=list(Op))
async def an_entry_that_moves_is_always_found(dut: Any, op: Op) -> None:
    """Each lookup is of one key, while others come and go or it is itself changed; so a moment without it shows."""
    pool = keys(dut)
    table = await begin(dut, PATTERNS[0](), pool)
    kept = random.choice(pool)
    assert (await table.operate(Op.INSERT, kept))[0] == Answer.DONE
    await table.ready()
    table.lookups.draw = lambda: kept
    others = [key for key in pool if key != kept]
    await table.lookups.run(10)
    missed = table.lookups.judged - table.lookups.hits
    for key in random.sample(others, min(len(others), table.size + 24)):
        await table.operate(Op.INSERT, key)
        if op == Op.CHANGE:
            await table.operate(Op.CHANGE, kept)
        if op == Op.REMOVE and len(table.entries) > 0.7 * table.size:
            await table.operate(Op.REMOVE, random.choice([k for k in table.entries if k != kept]))
    await table.ready()
    await table.lookups.run(30)
    assert table.lookups.judged - table.lookups.hits == missed


@behaviour()
async def a_reset_empties_the_table(dut: Any) -> None:
    """Lookups go on while the places are emptied."""
    pool = keys(dut)
    table = await begin(dut, PATTERNS[0](), pool)
    for key in random.sample(pool, 10):
        await table.operate(Op.INSERT, key)
    dut.key_valid.value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    dut.rst.value = 0
    table = Table(dut, PATTERNS[0](), pool)
    await table.ready()
    await table.lookups.run(300)
    assert table.lookups.judged > 290
    assert table.lookups.hits == 0
