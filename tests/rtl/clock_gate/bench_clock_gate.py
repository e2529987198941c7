"""What a clock gate promises: when its clock ticks, and which part it refuses."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

from headrace.testing.streams import PERIOD_PS, behaviour, cycles


async def start(dut: Any, watched: int = 0) -> None:
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    dut.rst.value, dut.work.value, dut.watched.value = 1, 0, watched
    await cycles(dut.clk, 10)
    dut.rst.value = 0


@behaviour()
async def it_ticks_with_work_and_in_hold_cycles_after(dut: Any) -> None:
    """And in all cycles with GATED 0."""
    await start(dut)
    since = 0
    for _ in range(1000):
        dut.work.value = work = random.random() < 0.2
        since = 0 if work else since + 1
        await RisingEdge(dut.clk)
        await Timer(PERIOD_PS // 4, "ps")
        assert dut.gated.value == (not dut.GATED.value or since <= int(dut.HOLD.value))


async def drive(dut: Any, rows: list[tuple[int, int]]) -> None:
    """A cycle for each row of work and what is watched; it is closed before, and HOLD is 2."""
    await start(dut, watched=1)
    await cycles(dut.clk, 10)
    for dut.work.value, dut.watched.value in rows:
        await cycles(dut.clk, 1)
    await cycles(dut.clk, 2)


@cocotb.test()
async def good(dut: Any) -> None:
    """What is watched may change with work and until the cycle after the last tick."""
    await drive(dut, [(0, 1), (1, 2), (1, 3), (0, 4), (0, 5), (0, 6), (0, 6), (1, 7)])


@cocotb.test()
async def asleep(dut: Any) -> None:
    await drive(dut, [(0, 1), (0, 2), (0, 2)])


@cocotb.test()
async def late(dut: Any) -> None:
    await drive(dut, [(1, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 6)])
