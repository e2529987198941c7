"""What accel_crc32 and accel_checksum promise, against zlib and scapy: results in order, nothing lost, full rate."""

import random
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from rpu_accel.unit import ADDR, IDENTIFICATION, INTERRUPT, LEN_START, RESULT, START, Unit
from scapy.utils import checksum

from headrace.testing.streams import PATTERNS, behaviour, bursts, cycles, never, seldom, together

MEMORY = random.Random(1).randbytes(1 << 16) + bytes([0xFF] * (1 << 16))
JOBS = 8


def crc_oracle(data: bytes, start: int) -> int:
    return zlib.crc32(data, start)


def checksum_oracle(data: bytes, start: int) -> int:
    """The start value's half words are summed as they would lie in a packet, before the data."""
    number = checksum(start.to_bytes(4, "little") + data)
    return number << 16 | number >> 8 | (number & 0xFF) << 8


def oracle(dut: Any) -> Callable[[bytes, int], int]:
    return crc_oracle if "crc32" in dut._name else checksum_oracle


def expect(dut: Any, address: int, length: int, start: int) -> int:
    return oracle(dut)(MEMORY[address : address + length], start)


async def begin(dut: Any, stalls: Any = never, job_stalls: Any = never) -> Unit:
    return await Unit.begin(dut, MEMORY, stalls(), job_stalls())


@behaviour()
async def says_what_it_is(dut: Any) -> None:
    unit = await begin(dut)
    name = (await unit.read(IDENTIFICATION)).to_bytes(4, "little")
    assert name == (b"CR32" if "crc32" in dut._name else b"CSUM")
    assert await unit.read(0xFF8) == 1
    assert await unit.read(0x800) == 0


@behaviour()
@cocotb.parametrize((("stalls", "job_stalls"), together(PATTERNS, [never, bursts])))
async def results_come_in_order_whatever_waits(dut: Any, stalls: Any, job_stalls: Any) -> None:
    unit = await begin(dut, stalls, job_stalls)
    expected: deque[int] = deque()
    for _ in range(40):
        if len(expected) == JOBS or (expected and random.random() < 0.4):
            assert await unit.read(RESULT) == expected.popleft()
            continue
        length = random.choice((0, 1, 2, random.randint(0, 70), random.randint(60, 600)))
        address = random.randrange(len(MEMORY) - length)
        start = random.choice((0, random.getrandbits(32), 0xFFFF_FFFF))
        await unit.job(address, length, start)
        expected.append(expect(dut, address, length, start))
    while expected:
        assert await unit.read(RESULT) == expected.popleft()
    await cycles(dut.clk, 5)
    assert dut.idle.value
    assert await unit.read(START, 4) == JOBS << 8


@behaviour()
async def every_length_to_two_beats_and_the_longest(dut: Any) -> None:
    unit = await begin(dut)
    width = len(dut.s_axis_tdata) // 8
    for length in [*range(2 * width + 3), 1500, 9000]:
        address = random.randrange(1 << 15)
        await unit.job(address, length)
        assert await unit.read(RESULT) == expect(dut, address, length, 0)
    if width == 64:
        for address, length in ((0, 65535), (1 << 16, 65535)):  # the second of ones alone: the largest sum
            await unit.job(address, length, 0xFFFF_FFFF)
            assert await unit.read(RESULT) == expect(dut, address, length, 0xFFFF_FFFF)


@behaviour()
async def is_continued_over_pieces(dut: Any) -> None:
    unit = await begin(dut, seldom)
    is_crc = "crc32" in dut._name
    for _ in range(5):
        pieces = [random.randint(0, 100) * 2 + (is_crc and random.randint(0, 1)) for _ in range(4)]
        pieces.append(random.randint(1, 99))
        value, position = 0, 0
        for piece in pieces:
            await unit.job(position, piece, value)
            result = await unit.read(RESULT)
            value = result if is_crc else ~result & 0xFFFF
            position += piece
        assert result == expect(dut, 0, position, 0)


@behaviour()
async def takes_a_beat_in_each_cycle_from_job_to_job(dut: Any) -> None:
    stuck = True

    def hold() -> Any:
        while True:
            yield stuck

    unit = await begin(dut, hold)
    width = len(dut.s_axis_tdata) // 8
    lengths = [width, 5 * width, 1, 3 * width + 1, width - 1, 10 * width, 2 * width, 1]
    for index, length in enumerate(lengths):
        await unit.job(100 * index, length)
    await cycles(dut.clk, 20)
    stuck = False
    results = [await unit.read(RESULT) for _ in lengths]
    assert results == [expect(dut, 100 * index, length, 0) for index, length in enumerate(lengths)]
    assert len(unit.beats) == sum(-(-length // width) for length in lengths)
    assert unit.beats[-1] - unit.beats[0] == len(unit.beats) - 1


@behaviour()
async def a_result_waits_for_its_read_and_a_read_for_its_result(dut: Any) -> None:
    unit = await begin(dut)
    await unit.job(0, 64)
    await unit.read(RESULT)
    assert 5 < unit.last_cycles < 20
    await unit.job(0, 64)
    await cycles(dut.clk, 20)
    status = await unit.read(START)
    assert (status & 0xFF, status >> 8 & 0xFF) == (1, JOBS - 1)
    await unit.read(RESULT)
    assert unit.last_cycles == 1


@behaviour()
async def too_many_jobs_and_reads_of_nothing_are_flagged_and_harm_nothing(dut: Any) -> None:
    unit = await begin(dut)
    assert await unit.read(RESULT) == 0
    assert await unit.read(START + 2, 1) == 2
    await unit.write(START, 0x80, 1)
    assert await unit.read(START + 2, 1) == 0
    assert not dut.interrupt.value
    await unit.write(INTERRUPT, 2)
    for index in range(JOBS + 2):
        assert not dut.interrupt.value or index > JOBS
        await unit.job(index, 30 + index)
        await RisingEdge(dut.clk)
    assert dut.interrupt.value
    assert await unit.read(START + 2, 1) == 1
    await unit.write(START, 0x80, 1)
    await unit.write(INTERRUPT, 1)
    await cycles(dut.clk, 3)
    for index in range(JOBS):
        assert dut.interrupt.value
        assert await unit.read(RESULT) == expect(dut, index, 30 + index, 0)
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
    assert not dut.interrupt.value
    assert len(unit.jobs) == JOBS
    assert await unit.read(START) == JOBS << 8


@behaviour()
async def half_a_length_starts_nothing(dut: Any) -> None:
    unit = await begin(dut)
    await unit.write(ADDR, 3)
    await unit.write(LEN_START, 0x21, 1)
    await cycles(dut.clk, 20)
    assert not unit.jobs
    await unit.write(LEN_START + 1, 0x01, 1)
    assert await unit.read(RESULT) == expect(dut, 3, 0x121, 0)
