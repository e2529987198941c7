"""What a unit of the RPU card is to its accelerator: a core that accesses registers, a loader, packet memory."""

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from headrace.testing.streams import PERIOD_PS, Stalls, frame_words, start

START, LEN, ADDR, SEED, RESULT, LEN_START, INTERRUPT, IDENTIFICATION = 0, 4, 8, 12, 16, 20, 24, 0xFFC
PATIENCE = 20_000  # cycles that an access may take


@dataclass
class Unit:
    """Drives an accelerator; `memory` is its packet memory. Beats are stalled by `stalls`, jobs by `job_stalls`."""

    dut: Any
    memory: bytearray
    stalls: Stalls
    job_stalls: Stalls
    jobs: list[tuple[int, int]] = field(default_factory=list)  # address and length of those taken
    beats: list[int] = field(default_factory=list)  # times in ps at which beats were taken
    finished: int = 0  # jobs whose last beat was taken
    last_cycles: int = 0  # of the last access

    @classmethod
    async def begin(cls, dut: Any, memory: bytes, stalls: Stalls, job_stalls: Stalls) -> "Unit":
        """Reset the accelerator and start its packet memory."""
        for name in ("reg_valid", "reg_write", "reg_addr", "reg_wdata", "reg_wstrb", "load_valid", "job_ready"):
            getattr(dut, name).value = 0
        dut.s_axis_tvalid.value = 0
        if hasattr(dut, "isolate"):
            dut.isolate.value = 0
        await start(dut, offered=0)
        unit = cls(dut, bytearray(memory), stalls, job_stalls)
        queue: deque[tuple[int, int]] = deque()
        cocotb.start_soon(unit._take_jobs(queue))
        cocotb.start_soon(unit._send_beats(queue))
        return unit

    async def _take_jobs(self, queue: deque[tuple[int, int]]) -> None:
        dut = self.dut
        offered = None
        while True:
            ready = not next(self.job_stalls)
            dut.job_ready.value = int(ready)
            await RisingEdge(dut.clk)
            if not dut.job_valid.value:
                assert offered is None, "a job went before it was taken"
                continue
            job = int(dut.job.value)
            assert offered in (None, job), "a job changed before it was taken"
            offered = None if ready else job
            if ready:
                address, length = job >> 16, job & 0xFFFF
                assert length, "a job of 0 bytes"
                self.jobs.append((address, length))
                queue.append((address, length))

    async def _send_beats(self, queue: deque[tuple[int, int]]) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            while not queue:
                dut.s_axis_tvalid.value = 0
                await edge
            address, length = queue.popleft()
            data = bytes(self.memory[address : address + length])
            for tdata, tkeep, tlast, _ in frame_words(data, len(dut.s_axis_tdata), lambda: 0):
                while next(self.stalls):
                    dut.s_axis_tvalid.value = 0
                    await edge
                dut.s_axis_tvalid.value = 1
                dut.s_axis_tdata.value, dut.s_axis_tkeep.value, dut.s_axis_tlast.value = tdata, tkeep, tlast
                await edge
                while not dut.s_axis_tready.value:
                    await edge
                self.beats.append(int(get_sim_time("ps")) // PERIOD_PS)
            self.finished += 1

    async def _access(self, address: int, write: bool, data: int = 0, strobes: int = 0) -> int:
        dut = self.dut
        dut.reg_valid.value, dut.reg_write.value, dut.reg_addr.value = 1, int(write), address
        dut.reg_wdata.value, dut.reg_wstrb.value = data, strobes
        for self.last_cycles in range(1, PATIENCE):
            await RisingEdge(dut.clk)
            if dut.reg_ready.value:
                break
        else:
            raise AssertionError(f"access to register {address:#x} is never answered")
        value = 0 if write else int(dut.reg_rdata.value)
        dut.reg_valid.value = 0
        dut.reg_write.value = random.getrandbits(1)
        return value

    async def write(self, address: int, value: int, size: int = 4) -> None:
        """A store of `size` bytes."""
        lane = address & 3
        noise = random.getrandbits(32) & ~(((1 << 8 * size) - 1) << 8 * lane)
        await self._access(address, True, (value << 8 * lane) | noise, ((1 << size) - 1) << lane)

    async def read(self, address: int, size: int = 4) -> int:
        """A load of `size` bytes."""
        return await self._access(address, False) >> 8 * (address & 3) & ((1 << 8 * size) - 1)

    async def load(self, words: Iterable[tuple[int, int]], before: Callable[[], bool] = lambda: False) -> None:
        """Write table words (address, data), one a cycle, with a gap wherever `before` says so."""
        dut = self.dut
        for address, data in words:
            while before():
                await RisingEdge(dut.clk)
            dut.load_valid.value, dut.load_addr.value, dut.load_data.value = 1, address, data
            await RisingEdge(dut.clk)
            dut.load_valid.value = 0

    async def job(self, address: int, length: int, seed: int = 0) -> None:
        """Start a job of an accelerator that makes one result of each."""
        await self.write(ADDR, address)
        if seed:
            await self.write(SEED, seed)
        if random.random() < 0.5:
            await self.write(LEN_START, length, random.choice((2, 4)))
        else:
            await self.write(LEN, length)
            await self.write(START, 1, 1)
