"""Requests of a register bus that change before they are taken, each in a simulation of its own."""

from typing import Any

import cocotb
from cocotb.clock import Clock

from headrace.testing.streams import PERIOD_PS, cycles


async def changes(dut: Any, valid: str, what: str) -> None:
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    dut.rst.value = 1
    for name in ("awvalid", "wvalid", "arvalid", "bready", "rready"):
        getattr(dut, f"s_axil_{name}").value = 0
    for name in ("awready", "wready", "arready", "bvalid", "rvalid"):
        getattr(dut, f"m_axil_{name}").value = 0
    await cycles(dut.clk, 2)
    dut.rst.value = 0
    for value in (1, 1, 0):
        getattr(dut, f"s_axil_{valid}").value = 1
        getattr(dut, f"s_axil_{what}").value = value
        await cycles(dut.clk, 2)


@cocotb.test()
async def write(dut: Any) -> None:
    await changes(dut, "awvalid", "awaddr")


@cocotb.test()
async def data(dut: Any) -> None:
    await changes(dut, "wvalid", "wstrb")


@cocotb.test()
async def read(dut: Any) -> None:
    await changes(dut, "arvalid", "arprot")
