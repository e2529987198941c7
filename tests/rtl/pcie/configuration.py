"""The host's accesses of the devices' registers in configuration space, as a hard IP hands them over."""

import random
from collections import deque
from typing import Any

from cocotb.triggers import RisingEdge

from headrace.testing.streams import cycles


class Configuration:
    """The ports cfg_* of `dut`: one access at a time, in the order in which they are asked for."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.turn = deque[object]()
        for name in ("valid", "func", "number", "wstrb", "wdata"):
            getattr(dut, f"cfg_{name}").value = 0

    async def access(self, func: int, number: int, strobes: int, data: int) -> tuple[int, int]:
        """Hit and data of DW `number`; without strobes it is read."""
        dut, me = self.dut, object()
        self.turn.append(me)
        while self.turn[0] is not me:
            await RisingEdge(dut.clk)
        await cycles(dut.clk, random.choice((0, 0, 1, 5)))
        dut.cfg_func.value, dut.cfg_number.value = func, number
        dut.cfg_wstrb.value, dut.cfg_wdata.value, dut.cfg_valid.value = strobes, data, 1
        await RisingEdge(dut.clk)
        while not dut.cfg_ready.value:
            await RisingEdge(dut.clk)
        answer = int(dut.cfg_hit.value), int(dut.cfg_rdata.value)
        dut.cfg_valid.value = 0
        self.turn.popleft()
        return answer

    async def read(self, func: int, address: int, size: int) -> int:
        """Bytes of a device's register."""
        hit, data = await self.access(func, address // 4, 0, random.getrandbits(32))
        assert hit, hex(address)
        return data >> 8 * (address % 4) & ((1 << 8 * size) - 1)

    async def write(self, func: int, address: int, size: int, value: int) -> None:
        """The other bytes of the DW are noise."""
        lane = 8 * (address % 4)
        mask = ((1 << 8 * size) - 1) << lane
        data = value << lane | random.getrandbits(32) & ~mask
        hit, _ = await self.access(func, address // 4, ((1 << size) - 1) << address % 4, data)
        assert hit, hex(address)
