"""The whole card, without filters: while a frame is anywhere between its port and the ring, it is busy and not idle."""

import itertools
import random
from typing import Any

import cocotb
from capture.host import Host, start
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from simulation import ROOT

from headrace.registers.compile import load_map
from headrace.testing.streams import PATTERNS, Stalls, behaviour, cycles, frame_words, until

REGISTERS = {path: address for path, address, _ in load_map(ROOT / "regs" / "capture_card.rdl").walk()}
RING, RING_LOG2 = 0x40_0000, 12


class Card:
    """The card with its ring in a host's memory, and how often busy and idle changed."""

    def __init__(self, dut: Any, stalls: Any) -> None:
        self.dut = dut
        self.memory = Host(dut=dut, stalls=stalls, latency=lambda: random.randint(1, 20))
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.changes: list[tuple[int, int]] = []  # (busy, idle) as they became

    async def start(self) -> "Card":
        dut = self.dut
        await start(dut, "rx_tvalid", "tx_tready", "irq_ready", "time_ns")
        cocotb.start_soon(self.memory.run())
        for name, value in (("ring_base", RING), ("ring_size", RING_LOG2), ("control", 1)):
            await self.host.write_dword(REGISTERS[f"capture.{name}"], value)
        await cycles(dut.clk, 10)
        assert dut.idle.value
        cocotb.start_soon(self._watch())
        return self

    async def _watch(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            await edge
            now = (int(dut.busy.value), int(dut.idle.value))
            if not self.changes or self.changes[-1] != now:
                self.changes.append(now)

    async def send(self, data: bytes, stalls: Stalls) -> None:
        """Send a frame on port 0."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        width = len(dut.rx_tdata) // 2
        for tdata, tkeep, tlast, _ in frame_words(data, width, lambda: 0):
            while next(stalls):
                dut.rx_tvalid.value = 0
                await edge
            dut.rx_tdata.value, dut.rx_tkeep.value, dut.rx_tlast.value = tdata, tkeep, tlast
            dut.rx_tuser.value = len(data)
            dut.rx_tvalid.value = 1
            await edge
        dut.rx_tvalid.value = 0


@behaviour()
@cocotb.parametrize(stalls=PATTERNS)
async def it_is_busy_until_a_frame_is_in_the_ring(dut: Any, stalls: Any) -> None:
    card = await Card(dut, stalls).start()
    written = 0
    for size in [1, 4, 8, *(random.randint(1, 70) for _ in range(20))]:
        card.changes[:] = [(0, 1)]
        await card.send(random.randbytes(size), stalls())
        written += 16 + size
        await until(dut.clk, lambda want=written: int(dut.producer.value) == want, 2000)
        await cycles(dut.clk, 20)
        busy = [now for now, _ in card.changes]
        idle = [now for _, now in card.changes]
        assert [after for before, after in itertools.pairwise(busy) if before != after] == [1, 0]
        assert [after for before, after in itertools.pairwise(idle) if before != after] == [0, 1]
