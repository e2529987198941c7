"""What the heap promises: of all entries the earliest is at the head, whatever comes and goes."""

import heapq
import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import behaviour, start, until


async def ready(dut: Any) -> None:
    await until(dut.clk, lambda: bool(dut.idle.value), 2 * len(dut.head_rest) + 40)


async def push(dut: Any, at: int, rest: int) -> bool:
    """False: it is full."""
    await ready(dut)
    dut.push_time.value, dut.push_rest.value, dut.push_valid.value = at, rest, 1
    await RisingEdge(dut.clk)
    taken = bool(dut.push_ready.value)
    dut.push_valid.value = 0
    await RisingEdge(dut.clk)
    return taken


async def pop(dut: Any) -> tuple[int, int] | None:
    """None: it is empty."""
    await ready(dut)
    dut.head_ready.value = 1
    await RisingEdge(dut.clk)
    found = (int(dut.head_time.value), int(dut.head_rest.value)) if dut.head_valid.value else None
    dut.head_ready.value = 0
    await RisingEdge(dut.clk)
    return found


@behaviour()
@cocotb.parametrize(spread=[3, 1 << 64])
async def the_earliest_comes_first(dut: Any, spread: int) -> None:
    """With many equal times, and with few; the heap fills and empties several times."""
    dut.push_valid.value = dut.head_ready.value = 0
    await start(dut)
    room = int(dut.DEPTH.value) - 1
    model: list[tuple[int, int]] = []
    number = fills = empties = 0
    for turn in range(12 * room):
        grows = (turn // (2 * room)) % 2 == 0
        if random.random() < (0.8 if grows else 0.2):
            entry = (random.randrange(spread), number)
            number += 1
            assert await push(dut, *entry) == (len(model) < room)
            if len(model) < room:
                heapq.heappush(model, entry)
            else:
                fills += 1
        else:
            found = await pop(dut)
            if found is None:
                empties += 1
                assert not model
            else:
                assert found in model
                assert found[0] == model[0][0]
                model.remove(found)
                heapq.heapify(model)
        assert bool(dut.empty.value) == (not model) or not dut.idle.value
    assert fills and empties


@behaviour()
async def a_push_and_a_pop_take_as_long_as_the_head_says(dut: Any) -> None:
    dut.push_valid.value = dut.head_ready.value = 0
    await start(dut)
    depth = int(dut.DEPTH.value)
    most = 2 * (depth.bit_length() - 1) + 3
    for at in reversed(range(depth - 1)):  # each goes up to the head
        assert await push(dut, at, at)
        await until(dut.clk, lambda: bool(dut.head_valid.value), most)
    for at in range(depth - 1):
        assert await pop(dut) == (at, at)
        await until(dut.clk, lambda: bool(dut.idle.value), most)
