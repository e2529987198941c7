"""pcie_core on UltraScale+: cocotbext-pcie's model of the integrated block, and its root complex."""

from typing import Any

import cocotb
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice
from pcie.machine import Machine, reset

FUNCTIONS = 2


def behaviour() -> Any:
    """Decorator of a cocotb test."""
    return cocotb.test(timeout_time=2, timeout_unit="ms")


async def machine(dut: Any) -> Machine:
    """A host that has enumerated the card."""
    width = len(dut.s_axi_wdata)
    tables = {
        f"pf{number}_msix_{name}": value
        for number in range(FUNCTIONS)
        for name, value in {
            "enable": True,
            "table_size": 3,
            "table_bir": 2,
            "table_offset": 0,
            "pba_bir": 2,
            "pba_offset": 2048,
        }.items()
    }
    await reset(dut)
    device = UltraScalePlusPcieDevice(
        pcie_generation=3,
        pcie_link_width={128: 4, 256: 8, 512: 16}[width],
        user_clk_frequency=250e6,
        alignment="dword",
        pf_count=FUNCTIONS,
        max_payload_size=1024,
        enable_client_tag=True,
        enable_extended_tag=True,
        **tables,
        user_clk=dut.clk,
        user_reset=dut.rst,
        user_lnk_up=dut.user_lnk_up,
        rq_bus=AxiStreamBus.from_prefix(dut, "m_axis_rq"),
        rc_bus=AxiStreamBus.from_prefix(dut, "s_axis_rc"),
        cq_bus=AxiStreamBus.from_prefix(dut, "s_axis_cq"),
        cc_bus=AxiStreamBus.from_prefix(dut, "m_axis_cc"),
        cfg_max_payload=dut.cfg_max_payload,
        cfg_max_read_req=dut.cfg_max_read_req,
        cfg_fc_nph=dut.cfg_fc_nph,
        cfg_fc_sel=dut.cfg_fc_sel,
        cfg_interrupt_msix_enable=dut.cfg_interrupt_msix_enable,
        cfg_interrupt_msix_mask=dut.cfg_interrupt_msix_mask,
    )
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
