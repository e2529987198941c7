"""What a side's counters promise: each event is counted once, at an event a cycle, whatever is read meanwhile."""

import random
from collections import Counter
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, behaviour, start, until

KINDS = 4
WORD = (1 << 64) - 1
READ_LATENCY = 10


async def begin(dut: Any) -> int:
    """Reset the counters and wait until they are 0; gives the number of queues."""
    dut.event_valid.value = 0
    dut.read.value = 0
    await start(dut)
    queues = int(dut.QUEUES.value)
    await until(dut.clk, lambda: bool(dut.idle.value), KINDS * queues + 9)
    return queues


async def read(dut: Any, queue: int) -> list[int]:
    """A queue's packets that passed, their bytes, and those dropped by reason."""
    dut.read.value = 1
    dut.read_queue.value = queue
    await RisingEdge(dut.clk)
    dut.read.value = 0
    dut.read_queue.value = random.randrange(int(dut.QUEUES.value))
    await until(dut.clk, lambda: bool(dut.read_valid.value), READ_LATENCY)
    counted = int(dut.counted.value)
    return [counted >> 64 * i & WORD for i in range(KINDS + 1)]


def count(counted: Counter[tuple[int, int]], queue: int, kind: int, size: int) -> None:
    """Notes an event under (queue, place in what is read)."""
    if kind == 0:
        counted[queue, 0] += 1
        counted[queue, 1] += size
    else:
        counted[queue, kind + 1] += 1


async def offer(dut: Any, queue: int, kind: int, size: int) -> bool:
    """An event for one cycle; was it taken?"""
    dut.event_valid.value = 1
    dut.event_queue.value = queue
    dut.event_kind.value = kind
    dut.event_bytes.value = size
    await RisingEdge(dut.clk)
    dut.event_valid.value = 0
    return bool(dut.event_ready.value)


async def check(dut: Any, queues: int, counted: Counter[tuple[int, int]]) -> None:
    await until(dut.clk, lambda: bool(dut.idle.value), 30)
    for queue in range(queues):
        assert await read(dut, queue) == [counted[queue, place] for place in range(KINDS + 1)]


def some_event(queues: int) -> tuple[int, int, int]:
    """Few queues and kinds, so that the same counters come often one after the other."""
    queue = random.randrange(min(queues, random.choice((1, 3, queues))))
    return queue, random.choice((0, 0, 0, 1, 2, 3)), random.randrange(1 << 17)


@behaviour()
async def an_event_a_cycle_is_counted(dut: Any) -> None:
    queues = await begin(dut)
    counted: Counter[tuple[int, int]] = Counter()
    for _ in range(500):
        event = some_event(queues)
        assert await offer(dut, *event), "not an event a cycle"
        count(counted, *event)
    await check(dut, queues, counted)


@behaviour()
@cocotb.parametrize((("event_stalls", "read_stalls"), PAIRS))
async def events_are_counted_whatever_is_read(dut: Any, event_stalls: Any, read_stalls: Any) -> None:
    """What is read lies between what was counted some cycles before and what came until the end of the read."""
    queues = await begin(dut)
    counted: Counter[tuple[int, int]] = Counter()
    done = False

    async def reader() -> None:
        before = [[0] * (KINDS + 1) for _ in range(queues)]
        stalls = read_stalls()
        while not done:
            if next(stalls):
                await RisingEdge(dut.clk)
                continue
            queue = random.randrange(queues)
            found = await read(dut, queue)
            now = [counted[queue, place] for place in range(KINDS + 1)]
            assert all(old <= new <= most for old, new, most in zip(before[queue], found, now, strict=True))
            before[queue] = found

    reading = cocotb.start_soon(reader())
    stalls = event_stalls()
    for _ in range(600):
        if next(stalls):
            await RisingEdge(dut.clk)
            continue
        event = some_event(queues)
        if await offer(dut, *event):
            count(counted, *event)
    done = True
    await reading
    await check(dut, queues, counted)


@behaviour()
async def what_comes_after_a_reset_is_counted_when_all_are_0(dut: Any) -> None:
    queues = await begin(dut)
    for _ in range(20):
        await offer(dut, *some_event(queues))
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    counted: Counter[tuple[int, int]] = Counter()
    for _ in range(10):
        event = some_event(queues)
        assert await offer(dut, *event)
        count(counted, *event)
    await until(dut.clk, lambda: bool(dut.idle.value), KINDS * queues + 30)
    await check(dut, queues, counted)


@behaviour()
async def a_read_while_all_become_0_waits(dut: Any) -> None:
    queues = await begin(dut)
    for queue in range(queues):
        await offer(dut, queue, 0, 1)
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    dut.read.value = 1
    dut.read_queue.value = queues - 1
    await RisingEdge(dut.clk)
    dut.read.value = 0
    await until(dut.clk, lambda: bool(dut.read_valid.value), KINDS * queues + READ_LATENCY)
    assert dut.counted.value == 0
    await check(dut, queues, Counter())
