"""Models of hard IPs in front of a card, from cocotbext-pcie: what differs between them, for benches that don't."""

from typing import Any, Protocol

from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core.tlp import TlpType
from cocotbext.pcie.intel.s10 import S10PcieDevice, S10RxBus, S10TxBus
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

from headrace.testing.streams import until

MEMORY = (TlpType.MEM_READ, TlpType.MEM_READ_64, TlpType.MEM_WRITE, TlpType.MEM_WRITE_64)


def msix(functions: int) -> dict[str, Any]:
    """Settings of `functions` physical functions: 4 vectors, in BAR 2."""
    tables = {"enable": True, "table_size": 3, "table_bir": 2, "table_offset": 0, "pba_bir": 2, "pba_offset": 2048}
    return {f"pf{pf}_msix_{name}": value for pf in range(functions) for name, value in tables.items()}


class Block(Protocol):
    """A hard IP with physical functions alone."""

    device: Any
    streams: tuple[Any, ...]  # of TLPs, whose pauses stall them

    async def hold_completions(self, hold: bool) -> None:
        """Keep what the host answers to the card's reads, or let it go."""

    async def reset_function(self, number: int) -> None:
        """A function-level reset, until it is over."""


class UltraScale:
    """UltraScale+'s integrated block. The wrapper's flr_* say which function is reset, as the block's virtual ones
    have no model."""

    def __init__(self, dut: Any, functions: int) -> None:
        self.dut = dut
        if hasattr(dut, "flr_valid"):
            dut.flr_valid.value = 0
        self.device = UltraScalePlusPcieDevice(
            pcie_generation=3,
            pcie_link_width={128: 4, 256: 8, 512: 16}[len(dut.m_axis_rq_tdata)],
            user_clk_frequency=250e6,
            alignment="dword",
            pf_count=functions,
            max_payload_size=1024,
            enable_client_tag=True,
            enable_extended_tag=True,
            **msix(functions),
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
        self.streams = (self.device.rq_sink, self.device.rc_source, self.device.cq_source, self.device.cc_sink)

    async def hold_completions(self, hold: bool) -> None:
        self.device.rc_source.pause = hold

    async def reset_function(self, number: int) -> None:
        dut = self.dut
        dut.flr_func.value, dut.flr_valid.value = number, 1
        await RisingEdge(dut.clk)
        while not dut.flr_ready.value:
            await RisingEdge(dut.clk)
        dut.flr_valid.value = 0
        await until(dut.clk, lambda: bool(dut.flr_done.value), 20000)
        assert int(dut.flr_done_func.value) == number


class Stratix10:
    """Stratix 10's H-tile. rx_st_func_num is the function that a request is for (UG-20032); cocotbext-pcie 0.2.16 gives
    the requester's, which is corrected here."""

    def __init__(self, dut: Any, functions: int) -> None:
        self.dut = dut
        if hasattr(dut, "flr_pf_active"):
            dut.flr_pf_active.value = 0
        self.device = S10PcieDevice(
            pcie_generation=3,
            pcie_link_width=8,
            pld_clk_frequency=250e6,
            l_tile=False,
            pf_count=functions,
            max_payload_size=1024,
            enable_extended_tag=True,
            **msix(functions),
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
        self.streams = (self.device.rx_source, self.device.tx_sink)
        self.held: list[Any] | None = None
        self.put = self.device.rx_queue.put
        self.device.rx_queue.put = self.receive

    async def receive(self, item: Any) -> None:
        """A TLP for the card."""
        tlp, frame = item
        if tlp.fmt_type in MEMORY:
            found = (one for one in self.device.functions if one.match_bar(tlp.address))
            frame.func_num = next(found).pcie_id.function
        elif self.held is not None:
            self.held.append(item)
            return
        await self.put(item)

    async def hold_completions(self, hold: bool) -> None:
        held, self.held = self.held or [], [] if hold else None
        for item in held:
            await self.receive(item)

    async def reset_function(self, number: int) -> None:
        dut = self.dut
        dut.flr_pf_active.value = 1 << number
        await until(dut.clk, lambda: int(dut.flr_pf_done.value) == 1 << number, 20000)
        dut.flr_pf_active.value = 0
