"""pcie_core on UltraScale+: cocotbext-pcie's model of the integrated block, and its root complex."""

from typing import Any

import cocotb
from pcie.blocks import UltraScale
from pcie.machine import Machine, reset

FUNCTIONS = 2


def behaviour() -> Any:
    """Decorator of a cocotb test."""
    return cocotb.test(timeout_time=2, timeout_unit="ms")


async def machine(dut: Any) -> Machine:
    """A host that has enumerated the card."""
    await reset(dut)
    device = UltraScale(dut, FUNCTIONS).device
    for one in device.functions:
        one.configure_bar(0, 1 << 16)
        one.configure_bar(2, 1 << 12)
    made = Machine(dut, device)
    await made.start()
    return made


@behaviour()
async def accesses_reach_registers(dut: Any) -> None:
    await (await machine(dut)).accesses_reach_registers()


@behaviour()
async def memory_is_read_and_written(dut: Any) -> None:
    await (await machine(dut)).memory_is_read_and_written()


@behaviour()
async def interrupts_arrive(dut: Any) -> None:
    await (await machine(dut)).interrupts_arrive()


@behaviour()
async def memory_that_is_not_there_is_an_error(dut: Any) -> None:
    await (await machine(dut)).memory_that_is_not_there_is_an_error()
