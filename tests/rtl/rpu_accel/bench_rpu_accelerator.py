"""What an accelerator behind its decoupler promises: right results, and a slot that can be closed in any cycle."""

import random
import zlib
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from rpu_accel.unit import ADDR, IDENTIFICATION, LEN_START, RESULT, START, Unit

from headrace.testing.streams import PATTERNS, behaviour, bursts, cycles, never, seldom, together

MEMORY = random.Random(1).randbytes(1 << 16)
JOBS = 8
CRC = int.from_bytes(b"CR32", "little")


async def begin(dut: Any, stalls: Any = never, job_stalls: Any = never) -> Unit:
    unit = await Unit.begin(dut, MEMORY, stalls(), job_stalls())
    await opened(dut)
    return unit


async def opened(dut: Any) -> None:
    for _ in range(10_000):
        await RisingEdge(dut.clk)
        if not dut.closed.value and int(dut.identification.value) == CRC:
            return
    raise AssertionError("the slot does not open")


def a_job() -> tuple[int, int, int]:
    length = random.choice((0, 1, 64, random.randint(0, 70), random.randint(60, 1500)))
    return random.randrange(len(MEMORY) - length), length, random.choice((0, random.getrandbits(32)))


def expect(address: int, length: int, seed: int) -> int:
    return zlib.crc32(MEMORY[address : address + length], seed)


async def is_whole(dut: Any, unit: Unit) -> None:
    """Nothing of what was before is left: eight results, all right, and no error."""
    jobs = [a_job() for _ in range(JOBS)]
    for job in jobs:
        await unit.job(*job)
    for job in jobs:
        assert await unit.read(RESULT) == expect(*job)
    assert await unit.read(START) == JOBS << 8
    await cycles(dut.clk, 8)
    assert dut.idle.value


@behaviour()
@cocotb.parametrize((("stalls", "job_stalls"), together(PATTERNS, [never, bursts])))
async def results_come_in_order_whatever_waits(dut: Any, stalls: Any, job_stalls: Any) -> None:
    unit = await begin(dut, stalls, job_stalls)
    assert await unit.read(IDENTIFICATION) == CRC
    expected: deque[int] = deque()
    for _ in range(40):
        if len(expected) == JOBS or (expected and random.random() < 0.4):
            assert await unit.read(RESULT) == expected.popleft()
            continue
        job = a_job()
        await unit.job(*job)
        expected.append(expect(*job))
    while expected:
        assert await unit.read(RESULT) == expected.popleft()
    await is_whole(dut, unit)


@behaviour()
async def a_beat_is_taken_in_every_cycle(dut: Any) -> None:
    unit = await begin(dut)
    width = len(dut.s_axis_tdata) // 8
    for _ in range(4):
        await unit.write(LEN_START, 40 * width)
    for _ in range(4):
        assert await unit.read(RESULT) == zlib.crc32(MEMORY[: 40 * width])
    # From job to job too, but for the first, which are asked for one by one.
    assert all(later - earlier == 1 for earlier, later in zip(unit.beats[40:], unit.beats[41:], strict=False))


@behaviour()
async def stores_take_a_cycle_and_loads_two(dut: Any) -> None:
    unit = await begin(dut)
    for _ in range(20):
        await unit.write(ADDR, 64)
        assert unit.last_cycles == 1
    await cycles(dut.clk, 5)
    for _ in range(5):
        assert await unit.read(ADDR) == 64
        assert unit.last_cycles == 2


@behaviour()
async def a_closed_slot_reads_as_zero_and_does_nothing(dut: Any) -> None:
    unit = await begin(dut)
    await unit.job(0, 1500)
    dut.isolate.value = 1
    await cycles(dut.clk, 100)
    assert dut.closed.value and dut.idle.value and not dut.identification.value and not dut.irq.value
    taken = len(unit.jobs)
    for address in (START, ADDR, RESULT, IDENTIFICATION):
        await unit.write(address, 0xFFFF_FFFF)
        assert unit.last_cycles == 1
        assert await unit.read(address) == 0
        assert unit.last_cycles == 1
    assert len(unit.jobs) == taken
    dut.isolate.value = 0
    await opened(dut)
    assert await unit.read(ADDR) == 0, "it was in reset"
    await is_whole(dut, unit)


@behaviour()
@cocotb.parametrize(stalls=[never, bursts], job_stalls=[never, seldom, bursts])
async def it_may_be_closed_in_any_cycle(dut: Any, stalls: Any, job_stalls: Any) -> None:
    """For however short; accesses end, jobs that were offered are taken, and their beats are, before it opens again."""
    unit = await begin(dut, stalls, job_stalls)
    stop = False

    async def work() -> None:
        while not stop:
            if random.random() < 0.5:
                await unit.job(*a_job())
            else:
                await unit.read(random.choice((RESULT, ADDR, START)))
            await cycles(dut.clk, random.randrange(3))

    for _ in range(25):
        stop = False
        working = cocotb.start_soon(work())
        await cycles(dut.clk, random.randrange(1, 150))
        dut.isolate.value = 1
        await cycles(dut.clk, random.choice((1, 1, 2, random.randrange(1, 100))))
        stop = random.random() < 0.7
        dut.isolate.value = 0
        if not stop:
            await cycles(dut.clk, 40)
            stop = True
            dut.isolate.value = 1
            await cycles(dut.clk, 1)
            dut.isolate.value = 0
        await working
        dut.isolate.value = 1  # what was started in the meantime goes
        await cycles(dut.clk, 1)
        dut.isolate.value = 0
        await opened(dut)
        assert unit.finished == len(unit.jobs), "the slot opens before all beats of its old jobs are gone"
        await is_whole(dut, unit)


@behaviour()
async def a_reset_forgets_all(dut: Any) -> None:
    unit = await begin(dut)
    await unit.write(ADDR, 64)
    dut.rst.value = 1
    await cycles(dut.clk, 2)
    assert not dut.identification.value and dut.closed.value
    dut.rst.value = 0
    await opened(dut)
    assert await unit.read(ADDR) == 0
    await is_whole(dut, unit)
