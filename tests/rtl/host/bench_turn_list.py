"""What a list of turns promises: who is added gets a turn, is never in the list twice, and nobody waits for ever; with
newcomers, that they go first."""

import random
from collections import Counter
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, behaviour, cycles, start, until

LATENCY = 5
ON_THE_WAY = 2  # cycles from a wish to the look whether the item is in the list


async def begin(dut: Any) -> int:
    """Reset the list; gives its number of items."""
    dut.add_valid.value = 0
    dut.add_first.value = 0
    dut.m_ready.value = 0
    await start(dut)
    return int(dut.ITEMS.value)


async def add(dut: Any, item: int, first: bool = False) -> None:
    dut.add_valid.value = 1
    dut.add_item.value = item
    dut.add_first.value = int(first)
    await RisingEdge(dut.clk)
    dut.add_valid.value = 0


async def take(dut: Any) -> int:
    """The next one's number, once it is there."""
    dut.m_ready.value = 1
    await RisingEdge(dut.clk)
    await until(dut.clk, lambda: bool(dut.m_valid.value), LATENCY + 2)
    item = int(dut.m_item.value)
    dut.m_ready.value = 0
    return item


@behaviour()
@cocotb.parametrize((("add_stalls", "take_stalls"), PAIRS))
async def who_is_added_gets_a_turn_and_is_never_listed_twice(dut: Any, add_stalls: Any, take_stalls: Any) -> None:
    """After the last wish of an item comes a turn of it, and between two turns a wish."""
    items = await begin(dut)
    pool = random.sample(range(items), max(1, int(items * random.choice((0.1, 1.0)))))
    adds, takes = add_stalls(), take_stalls()
    wished: dict[int, list[int]] = {item: [] for item in pool}  # cycles
    turns: dict[int, list[int]] = {item: [] for item in pool}
    offered = None
    for cycle in range(1500):
        adding = cycle < 1100 and not next(adds)
        item = random.choice(pool) if random.random() < 0.7 else pool[cycle % len(pool)]
        dut.add_valid.value = int(adding)
        dut.add_item.value = item if adding else random.randrange(items)
        dut.add_first.value = random.getrandbits(1)
        ready = int(cycle >= 1100 or not next(takes))
        dut.m_ready.value = ready
        await RisingEdge(dut.clk)
        if adding:
            wished[item].append(cycle)
        if dut.m_valid.value:
            now = int(dut.m_item.value)
            assert offered in (None, now) or dut.m_first.value, "an offered item changed"
            offered = None if ready else now
            if ready:
                turns[now].append(cycle)
        else:
            assert offered is None
    assert dut.idle.value and not dut.m_valid.value
    for item in pool:
        assert not wished[item] or turns[item][-1] > wished[item][-1], "no turn"
        before = -1
        for turn in turns[item]:  # a wish that is on the way when the turn comes is one for the next
            assert any(before - ON_THE_WAY <= wish < turn for wish in wished[item]), "two turns for one wish"
            before = turn


@behaviour()
async def a_full_list_holds_each_item_once_in_order(dut: Any) -> None:
    items = await begin(dut)
    order = random.sample(range(items), items)
    for _ in range(3):
        for item in order:
            dut.add_valid.value = 1
            dut.add_item.value = item
            await RisingEdge(dut.clk)
    dut.add_valid.value = 0
    await cycles(dut.clk, LATENCY + 1)
    assert not dut.idle.value
    dut.m_ready.value = 1
    found = []
    for _ in range(items + 10):
        await RisingEdge(dut.clk)
        if dut.m_valid.value:
            found.append(int(dut.m_item.value))
    assert found == order
    assert dut.idle.value


@behaviour()
async def a_wish_in_the_cycle_of_the_take_counts(dut: Any) -> None:
    """Whoever is taken and wants another turn at once gets it."""
    items = await begin(dut)
    for delay in range(6):
        item = random.randrange(items)
        dut.m_ready.value = 0
        dut.add_valid.value = 1
        dut.add_item.value = item
        await RisingEdge(dut.clk)
        dut.add_valid.value = 0
        await RisingEdge(dut.clk)
        await until(dut.clk, lambda: bool(dut.m_valid.value), 10)
        dut.m_ready.value = 1
        for cycle in range(9):  # in the first of which it is taken
            dut.add_valid.value = int(cycle == delay)
            await RisingEdge(dut.clk)
            if cycle == 0:
                dut.m_ready.value = 0
        dut.add_valid.value = 0
        await until(dut.clk, lambda: bool(dut.m_valid.value), LATENCY + 2)
        assert int(dut.m_item.value) == item
        dut.m_ready.value = 1
        await RisingEdge(dut.clk)
        dut.m_ready.value = 0
        await RisingEdge(dut.clk)
        await cycles(dut.clk, 10)
        assert dut.idle.value, "in the list twice"


@behaviour()
async def turns_are_fair(dut: Any) -> None:
    """Items that want a turn all the time get as many as each other, one each cycle."""
    items = await begin(dut)
    dut.m_ready.value = 1
    turns: Counter[int] = Counter()
    for cycle in range(20 * items):
        dut.add_valid.value = 1
        dut.add_item.value = cycle % items
        await RisingEdge(dut.clk)
        if dut.m_valid.value:
            turns[int(dut.m_item.value)] += 1
    assert max(turns.values()) - min(turns[item] for item in range(items)) <= 1
    assert items < 8 or sum(turns.values()) >= 20 * items - LATENCY


@behaviour()
async def a_newcomer_goes_first_if_none_of_the_last_turns_was_its_own(dut: Any) -> None:
    items = await begin(dut)
    newcomer, *others = random.sample(range(items), items)
    if not others:
        return
    for turns in (items - 1, items):  # of others, since its own
        await add(dut, newcomer)
        assert await take(dut) == newcomer
        for turn in range(turns):
            await add(dut, others[turn % len(others)])
            assert await take(dut) == others[turn % len(others)]
        for item in others:
            await add(dut, item)
        await cycles(dut.clk, LATENCY)
        await add(dut, newcomer, first=True)
        await cycles(dut.clk, LATENCY)
        goes_first = bool(dut.NEWCOMERS.value) and turns == items
        assert bool(dut.m_first.value) == goes_first
        found = [await take(dut) for _ in range(items)]
        assert found == ([newcomer, *others] if goes_first else [*others, newcomer])


@behaviour()
@cocotb.parametrize((("add_stalls", "take_stalls"), PAIRS))
async def whoever_waits_gets_one_of_the_next_turns_whatever_goes_first(
    dut: Any, add_stalls: Any, take_stalls: Any
) -> None:
    items = await begin(dut)
    patient, *others = random.sample(range(items), items)
    adds, takes = add_stalls(), take_stalls()
    for _ in range(10):
        await add(dut, patient)
        before, cycle = 0, 0  # turns of others since it has been in the list
        while True:
            cycle += 1
            dut.add_valid.value = int(bool(others) and not next(adds))
            dut.add_item.value = random.choice(others or [patient])
            dut.add_first.value = 1
            ready = int(not next(takes))
            dut.m_ready.value = ready
            await RisingEdge(dut.clk)
            if ready and dut.m_valid.value:
                if int(dut.m_item.value) == patient:
                    break
                before += cycle > ON_THE_WAY
                assert before <= items, "waits too long"
            assert cycle < 100 * (items + LATENCY)
        dut.m_ready.value = 0
