"""What keeps to a contract, and what breaks it in one place. A breach ends the simulation."""

from typing import Any

import cocotb
from cocotb.clock import Clock

from headrace.testing.streams import PERIOD_PS, cycles

Rows = list[tuple[int, ...]]  # values of the ports behind clk and rst, a cycle each

PORTS = {
    "offer_contract": ("valid", "ready", "data"),
    "onehot_contract": ("valid", "select"),
    "range_contract": ("valid", "number"),
    "ready_contract": ("valid", "ready"),
}
GOOD: dict[str, Rows] = {
    "offer_contract": [(0, 0, 1), (1, 0, 2), (1, 0, 2), (1, 1, 2), (1, 1, 3), (0, 1, 4), (1, 0, 5), (1, 1, 5)],
    "onehot_contract": [(0, 0), (1, 0b001), (1, 0b010), (1, 0b100), (0, 0b011)],
    "range_contract": [(1, 0), (1, 5), (0, 6), (0, 7)],
    "ready_contract": [(0, 0), (0, 1), (1, 1)],
}
GONE: Rows = [(1, 0, 2), (0, 0, 2)]
CHANGED: Rows = [(1, 0, 2), (1, 0, 3)]
CHANGED_LATE: Rows = [(1, 0, 2), (1, 0, 2), (1, 1, 3)]
TWO: Rows = [(1, 0b101)]
NONE: Rows = [(1, 0)]
BEYOND: Rows = [(1, 6)]
LOST: Rows = [(1, 0)]
BAD = {"offer_contract": CHANGED, "onehot_contract": TWO, "range_contract": BEYOND, "ready_contract": LOST}


async def play(dut: Any, rows: Rows) -> None:
    for row in rows:
        for port, value in zip(PORTS[dut._name], row, strict=True):
            getattr(dut, port).value = value
        await cycles(dut.clk, 1)


async def drive(dut: Any, rows: Rows, before: Rows) -> None:
    """`before` comes before the first reset and, once more, in it."""
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    dut.rst.value = 0
    await play(dut, before)
    dut.rst.value = 1
    await play(dut, before)
    dut.rst.value = 0
    await play(dut, rows)
    await cycles(dut.clk, 2)


@cocotb.test()
async def good(dut: Any) -> None:
    """It may be broken until the first reset is over."""
    rows = GOOD[dut._name]
    await drive(dut, rows, [*BAD[dut._name], rows[0]])


@cocotb.test()
async def gone(dut: Any) -> None:
    await drive(dut, GONE, GOOD[dut._name])


@cocotb.test()
async def changed(dut: Any) -> None:
    await drive(dut, CHANGED, GOOD[dut._name])


@cocotb.test()
async def late(dut: Any) -> None:
    await drive(dut, CHANGED_LATE, GOOD[dut._name])


@cocotb.test()
async def two(dut: Any) -> None:
    await drive(dut, TWO, GOOD[dut._name])


@cocotb.test()
async def none(dut: Any) -> None:
    await drive(dut, NONE, GOOD[dut._name])


@cocotb.test()
async def beyond(dut: Any) -> None:
    await drive(dut, BEYOND, GOOD[dut._name])


@cocotb.test()
async def lost(dut: Any) -> None:
    await drive(dut, LOST, GOOD[dut._name])
