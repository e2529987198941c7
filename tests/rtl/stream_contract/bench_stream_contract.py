"""A stream that keeps to the contract, and streams that break it in one place each."""

from typing import Any

import cocotb
from cocotb.clock import Clock

from headrace.testing.streams import PERIOD_PS, cycles

Offer = tuple[int, int, int, int, int]  # tvalid, tready, tdata, tkeep, tlast
FULL = 0xFF

GOOD: list[Offer] = [
    (0, 0, 1, 0b1010, 0),  # nothing is offered: the rest says nothing
    (1, 0, 2, FULL, 0),
    (1, 1, 2, FULL, 0),
    (1, 0, 3, 0b111, 1),
    (1, 0, 3, 0b111, 1),
    (1, 1, 3, 0b111, 1),
    (0, 1, 4, 0, 0),
    (1, 1, 5, 1, 1),
    (1, 1, 6, 0, 1),
]


async def drive(dut: Any, offers: list[Offer]) -> None:
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    dut.rst.value = 1
    dut.tvalid.value = 0
    await cycles(dut.clk, 2)
    dut.rst.value = 0
    for valid, ready, data, keep, last in offers:
        dut.tvalid.value, dut.tready.value = valid, ready
        dut.tdata.value, dut.tkeep.value, dut.tlast.value = data, keep, last
        await cycles(dut.clk, 1)
    await cycles(dut.clk, 2)


@cocotb.test()
async def good(dut: Any) -> None:
    await drive(dut, GOOD)


@cocotb.test()
async def taken_back(dut: Any) -> None:
    await drive(dut, [(1, 0, 2, FULL, 1), (0, 0, 2, FULL, 1), (1, 0, 2, FULL, 0), (1, 0, 3, 0b111, 1), *GOOD])


@cocotb.test()
async def gone(dut: Any) -> None:
    await drive(dut, [(1, 0, 2, FULL, 1), (0, 0, 2, FULL, 1)])


@cocotb.test()
async def changed(dut: Any) -> None:
    await drive(dut, [(1, 0, 2, FULL, 1), (1, 0, 3, FULL, 1)])


@cocotb.test()
async def hole(dut: Any) -> None:
    await drive(dut, [(1, 1, 2, 0b101, 1)])


@cocotb.test()
async def short(dut: Any) -> None:
    await drive(dut, [(1, 1, 2, 0b111, 0)])
