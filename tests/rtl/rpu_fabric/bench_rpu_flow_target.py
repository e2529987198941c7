"""What the table of flows promises: a usable unit for each entry, the listed one where that can be."""

import random
from collections import Counter
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer

from headrace.testing.streams import PERIOD_PS, behaviour

ENTRIES = 128
NUMBERS = 16  # that can be written


async def begin(dut: Any) -> None:
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    dut.write.value, dut.entry.value, dut.usable.value, dut.rst.value = 0, 0, 0, 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    for _ in range(ENTRIES + 1):
        await RisingEdge(dut.clk)
    assert dut.ready.value


async def targets(dut: Any, usable: int) -> list[int]:
    """The unit of each entry."""
    dut.usable.value = usable
    units = []
    for entry in range(ENTRIES):
        dut.entry.value = entry
        await ReadOnly()
        assert bool(dut.found.value) == bool(usable)
        units.append(int(dut.unit.value))
        await Timer(1, "ps")
    return units


def some(units: int) -> list[int]:
    """Sets of units: all, each one alone, all but one, and others."""
    all_of_them = (1 << units) - 1
    ones = [1 << unit for unit in range(units)]
    sets = [all_of_them, *ones, *(all_of_them & ~one for one in ones), *(random.getrandbits(units) for _ in range(8))]
    return [each for each in dict.fromkeys(sets) if each]


@behaviour()
async def flows_of_a_unit_stay_there_and_others_are_spread(dut: Any) -> None:
    units = int(dut.UNITS.value)
    await begin(dut)
    for usable in some(units):
        found = await targets(dut, usable)
        assert all(usable >> unit & 1 for unit in found)
        moved = Counter()
        for entry, unit in enumerate(found):
            if usable >> entry % units & 1:
                assert unit == entry % units
            else:
                moved[unit] += 1
        if usable.bit_count() == units - 1 > 1:  # those of one unit: no other has three quarters
            assert len(moved) >= min(3, units - 1) and 4 * max(moved.values()) < 3 * moved.total()


@behaviour()
async def entries_go_to_the_units_that_are_written(dut: Any) -> None:
    """Units that the card hasn't can be written, too: then the entry's number chooses."""
    units = int(dut.UNITS.value)
    await begin(dut)
    listed = [random.randrange(NUMBERS) for _ in range(ENTRIES)]
    for entry, unit in enumerate(listed):
        dut.write.value = 1 << 11 | entry << 4 | unit
        await RisingEdge(dut.clk)
    dut.write.value = 0
    await RisingEdge(dut.clk)
    await Timer(1, "ps")
    for usable in some(units):
        for unit, wanted in zip(await targets(dut, usable), listed, strict=True):
            assert unit == wanted if usable >> wanted & 1 else usable >> unit & 1


@behaviour()
async def it_is_ready_when_the_table_is_written(dut: Any) -> None:
    await begin(dut)
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    waited = 0
    while not dut.ready.value:
        waited += 1
        await RisingEdge(dut.clk)
    assert waited == ENTRIES
