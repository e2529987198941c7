"""What a bank of counters promises: each packet is counted, and reads and clears take what was counted before."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PATTERNS, Stalls, behaviour, start, together, until

LATENCY = 4  # cycles from a read to its values, beside those in which a packet is counted


class Bank:
    """Drives the block a cycle at a time and keeps what the counters should be."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.size = int(dut.COUNTERS.value)
        self.pairs = [(0, 0)] * self.size
        self.reading: int | None = None
        self.clearing: int | None = None
        self.due: list[tuple[int, tuple[int, int]]] = []  # of a read: cycles left, values
        self.reads = 0

    async def begin(self) -> None:
        """Reset the block and wait until all counters are 0."""
        for name in ("count_valid", "clear_valid", "read"):
            getattr(self.dut, name).value = 0
        await start(self.dut)
        await RisingEdge(self.dut.clk)
        assert not self.dut.idle.value
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), self.size + 5)

    async def cycle(self, count: int | None = None, *, clear: int | None = None, read: int | None = None) -> None:
        """One cycle, with a packet on counter `count`, a clear and a read."""
        dut, length = self.dut, random.choice((0, 64, 1518, (1 << 17) - 1))
        for valid, port, number in (
            (dut.count_valid, dut.count_number, count),
            (dut.clear_valid, dut.clear_number, clear),
            (dut.read, dut.read_number, read),
        ):
            valid.value = int(number is not None)
            port.value = random.getrandbits(16) if number is None else number
        dut.count_bytes.value = length
        await RisingEdge(dut.clk)
        self._judge()
        self.due = [(left - 1, values) for left, values in self.due]
        if count is not None:
            if count < self.size:
                packets, total = self.pairs[count]
                self.pairs[count] = (packets + 1, total + length)
        elif self.clearing is not None:
            if self.clearing < self.size:
                self.pairs[self.clearing] = (0, 0)
            self.clearing = None
        elif self.reading is not None:
            self.due.append((LATENCY - 2, self.pairs[self.reading] if self.reading < self.size else (0, 0)))
            self.reading = None
        self.clearing = self.clearing if clear is None else clear
        self.reading = self.reading if read is None else read

    def _judge(self) -> None:
        assert bool(self.dut.clear_ready.value) == (self.clearing is None)
        found = bool(self.dut.read_valid.value)
        assert found == any(not left for left, _ in self.due)
        if found:
            assert (int(self.dut.packets.value), int(self.dut.bytes.value)) == self.due.pop(0)[1]
            self.reads += 1

    async def settle(self) -> None:
        """Wait for what is under way."""
        for _ in range(LATENCY + 2):
            await self.cycle()
        assert self.dut.idle.value

    async def read_all(self) -> None:
        """Read every counter."""
        for number in range(self.size):
            await self.cycle(read=number)
            await self.settle()


@behaviour()
@cocotb.parametrize((("stalls", "few"), together(PATTERNS, [True, False])))
async def every_packet_is_counted_once(dut: Any, stalls: Any, few: bool) -> None:
    bank = Bank(dut)
    await bank.begin()
    pause: Stalls = stalls()
    numbers = random.sample(range(bank.size), 2) if few else [*range(bank.size), bank.size, 1 << 15 | 1]
    for i in range(2000):
        free = bank.reading is None and not bank.due
        await bank.cycle(
            None if next(pause) or i % 40 == 0 else random.choice(numbers),
            clear=random.choice(numbers) if bank.clearing is None and random.random() < 0.01 else None,
            read=random.choice(numbers) if free and random.random() < 0.5 else None,
        )
    await bank.settle()
    assert bank.reads > 20
    await bank.read_all()
    assert max(total for _, total in bank.pairs) > 1 << 18


@behaviour()
async def one_counter_counts_in_each_cycle(dut: Any) -> None:
    bank = Bank(dut)
    await bank.begin()
    for _ in range(300):
        await bank.cycle(3)
    await bank.read_all()
    assert bank.pairs[3][0] == 300


@behaviour()
async def a_reset_clears_all(dut: Any) -> None:
    bank = Bank(dut)
    await bank.begin()
    for number in range(bank.size):
        await bank.cycle(number)
    dut.count_valid.value = 0
    again = Bank(dut)
    await again.begin()
    await again.read_all()
    assert again.pairs == [(0, 0)] * again.size and again.reads == again.size


@behaviour()
async def numbers_beyond_the_last_counter_count_nothing(dut: Any) -> None:
    bank = Bank(dut)
    await bank.begin()
    for bit in range(bank.size.bit_length() - 1, 16):
        await bank.cycle(5)
        await bank.cycle(1 << bit | 5)
        await bank.cycle(clear=1 << bit | 5)
        await bank.settle()
        await bank.cycle(read=1 << bit | 5)
        await bank.settle()
    await bank.read_all()
    assert bank.pairs[5][0] == 17 - bank.size.bit_length()
