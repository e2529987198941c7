"""pcie_core on Stratix 10: cocotbext-pcie's model of the H-tile's hard IP, and its root complex."""

from typing import Any

import cocotb
from cocotbext.pcie.core.tlp import TlpType
from cocotbext.pcie.intel.s10 import S10PcieDevice, S10RxBus, S10TxBus
from pcie.machine import Machine, reset

FUNCTIONS = 2


def behaviour() -> Any:
    """Decorator of a cocotb test."""
    return cocotb.test(timeout_time=2, timeout_unit="ms")


def name_the_target(device: S10PcieDevice) -> None:
    """rx_st_func_num is the function that a request is for (UG-20032); cocotbext-pcie 0.2.16 gives the requester's."""
    put = device.rx_queue.put

    async def corrected(item: Any) -> None:
        tlp, frame = item
        if tlp.fmt_type in (TlpType.MEM_READ, TlpType.MEM_READ_64, TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            frame.func_num = next(one for one in device.functions if one.match_bar(tlp.address)).pcie_id.function
        await put(item)

    device.rx_queue.put = corrected


async def machine(dut: Any) -> Machine:
    """A host that has enumerated the card."""
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
    device = S10PcieDevice(
        pcie_generation=3,
        pcie_link_width=8,
        pld_clk_frequency=250e6,
        l_tile=False,
        pf_count=FUNCTIONS,
        max_payload_size=1024,
        enable_extended_tag=True,
        **tables,
        reset_status=dut.rst,
        coreclkout_hip=dut.clk,
        rx_bus=S10RxBus.from_prefix(dut, "rx_st"),
        tx_bus=S10TxBus.from_prefix(dut, "tx_st"),
        tx_ph_cdts=dut.tx_ph_cdts,
        tx_pd_cdts=dut.tx_pd_cdts,
        tx_nph_cdts=dut.tx_nph_cdts,
        tl_cfg_func=dut.tl_cfg_func,
        tl_cfg_add=dut.tl_cfg_add,
        tl_cfg_ctl=dut.tl_cfg_ctl,
    )
    name_the_target(device)
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
