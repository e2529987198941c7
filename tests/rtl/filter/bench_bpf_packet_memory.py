"""What the packet memory promises: a load of any alignment in one access, rows between the loads, each in time."""

import random
from collections import deque
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, behaviour

BYTE, HALF, WORD = range(3)
LOAD_LATENCY = 4
ROW_LATENCY = 2


class Bench:
    """The memory and a copy of it, and what is due when."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.edge = RisingEdge(dut.clk)
        self.row_bytes = int(dut.DATA_W.value) // 8
        self.rows = int(dut.ROWS.value)
        self.content = bytearray(self.row_bytes * self.rows)
        self.cycle = 0
        self.values: deque[tuple[int, int]] = deque()
        self.row_due: deque[tuple[int, int]] = deque()
        self.forwarded = 0

    async def start(self) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for signal in (dut.write_en, dut.load_en, dut.forward_req):
            signal.value = 0
        for _ in range(2 * LOAD_LATENCY):
            await self.edge
        for row in range(self.rows):
            await self.step(write=row)

    async def step(
        self, load: tuple[int, int, bool] | None = None, forward: int | None = None, write: int | None = None
    ) -> bool:
        """One cycle: a load (byte after the last one, size, msh), a wish for a row, a write. Was the row granted?"""
        dut = self.dut
        dut.load_en.value = load is not None
        end, size, msh = load or (random.randrange(len(self.content)), random.randrange(3), random.random() < 0.5)
        row, place = divmod(end % len(self.content), self.row_bytes)
        dut.load_row.value = row
        dut.load_row_last.value = (row - (place < 4)) % self.rows
        dut.load_bank.value = place // 4
        dut.load_offset.value = place % 4
        dut.load_size.value = size
        dut.load_msh.value = msh
        dut.forward_req.value = forward is not None
        if forward is not None:
            dut.forward_row.value = forward
        dut.write_en.value = write is not None
        fresh = random.randbytes(self.row_bytes)
        if write is not None:
            dut.write_row.value = write
            dut.write_data.value = int.from_bytes(fresh, "little")
        await self.edge
        granted = bool(dut.forward_grant.value)
        assert granted == (forward is not None and load is None)
        self._compare()
        if load is not None:
            self.values.append((self.cycle + LOAD_LATENCY, self._expected(end, size, msh)))
        if granted and forward is not None:
            start = forward * self.row_bytes
            content = int.from_bytes(self.content[start : start + self.row_bytes], "little")
            self.row_due.append((self.cycle + ROW_LATENCY, content))
        if write is not None:
            self.content[write * self.row_bytes : (write + 1) * self.row_bytes] = fresh
        self.cycle += 1
        return granted

    async def drain(self) -> None:
        """Wait for all that is due."""
        for _ in range(2 * LOAD_LATENCY):
            await self.step()
        assert not self.values
        assert not self.row_due

    def _expected(self, end: int, size: int, msh: bool) -> int:
        count = (1, 2, 4)[size]
        data = bytes(self.content[(end - count + i) % len(self.content)] for i in range(count))
        value = int.from_bytes(data, "big")
        return (value & 0xF) * 4 if msh else value

    def _compare(self) -> None:
        due = self.values.popleft()[1] if self.values and self.values[0][0] == self.cycle else 0
        assert int(self.dut.load_value.value) == due
        if self.row_due and self.row_due[0][0] == self.cycle:
            assert int(self.dut.forward_data.value) == self.row_due.popleft()[1]
            self.forwarded += 1


@behaviour()
async def a_load_ends_at_any_byte(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    ends = [*range(3 * bench.row_bytes), *range(len(bench.content) - bench.row_bytes, len(bench.content))]
    for end in ends:
        for size in (BYTE, HALF, WORD):
            await bench.step((end, size, False))
        await bench.step((end, BYTE, True))
    await bench.drain()


@behaviour()
async def loads_rows_and_writes_mix(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    # Rows are written ahead of those that are read, as in the ring of a core.
    newest = 0
    wanted: int | None = None
    for _ in range(6000):
        write = newest if random.random() < 0.5 else None
        old = [(newest + 8 + random.randrange(bench.rows - 16)) % bench.rows for _ in "ab"]
        load = None
        if random.random() < 0.6:
            size = random.randrange(3)
            end = old[0] * bench.row_bytes + random.randrange(bench.row_bytes)
            load = (end, size, size == BYTE and random.random() < 0.5)
        if wanted is None and random.random() < 0.7:
            wanted = old[1]
        # A row that is asked for is not overwritten before it comes.
        if wanted is not None and write is not None and (wanted - write) % bench.rows < 4:
            write = None
        if await bench.step(load, wanted, write):
            wanted = None
        if write is not None:
            newest = (newest + 1) % bench.rows
    await bench.drain()
    assert bench.forwarded > 1000
