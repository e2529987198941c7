"""What the measurement's counters promise: nothing is counted twice or lost, and a read tells one moment."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, behaviour

MEASURES = 1024


class Bench:
    """Counts what `index` says in every cycle in which it may, reads when asked, and compares each read."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.edge = RisingEdge(dut.clk)
        self.packets: Counter[int] = Counter()
        self.bytes: Counter[int] = Counter()
        self.history: list[tuple[int, int]] = []
        self.reads = 0

    async def start(self) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        dut.count_valid.value = 0
        dut.read_req.value = 0
        dut.rst.value = 1
        for _ in range(3):
            await self.edge
        dut.rst.value = 0
        cycles = 0
        while not dut.ready.value:
            await self.edge
            cycles += 1
        assert cycles <= MEASURES + 2

    async def run(self, cycles: int, index: Callable[[], int | None], read: Callable[[], int | None]) -> None:
        """Count for a number of cycles. Like the engine, it stops counting one cycle after `read_wait` rises."""
        dut = self.dut
        waiting: int | None = None
        wait_before = False
        trail: list[tuple[int, int]] = [(0, 0)] * 4  # of the entry being read, in the last cycles
        for _ in range(cycles):
            chosen = None if wait_before else index()
            dut.count_valid.value = chosen is not None
            if chosen is not None:
                size = random.getrandbits(int(dut.BYTES_W.value))
                dut.count_index.value = chosen
                dut.count_bytes.value = size
            dut.read_req.value = 0
            if waiting is None and (wanted := read()) is not None:
                waiting = wanted
                dut.read_req.value = 1
                dut.read_index.value = wanted
                trail = [(0, 0)] * 4
            await self.edge
            wait_before = bool(dut.read_wait.value)
            if dut.read_done.value:
                assert waiting is not None, "an answer that nobody asked for"
                # The read took its turn two cycles ago: it tells what was counted before that.
                assert (int(dut.read_packets.value), int(dut.read_bytes.value)) == trail[-2]
                waiting = None
                self.reads += 1
            if waiting is not None:
                trail.append((self.packets[waiting], self.bytes[waiting]))
            if chosen is not None:
                self.packets[chosen] += 1
                self.bytes[chosen] += size

    async def check_all(self) -> None:
        """Read every entry."""
        entries = iter(range(MEASURES))
        before = self.reads
        await self.run(8 * MEASURES, lambda: None, lambda: next(entries, None))
        assert self.reads == before + MEASURES


def never() -> None:
    """No count, no read."""


@behaviour()
async def all_are_0_after_reset(dut: Any) -> None:
    for _ in range(2):
        bench = Bench(dut)
        await bench.start()
        await bench.check_all()
        await bench.run(50, lambda: random.randrange(MEASURES), never)


@behaviour()
async def packets_of_one_counter_may_come_every_cycle(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    await bench.run(500, lambda: 7, never)
    await bench.run(500, lambda: random.choice((7, 8)), never)
    await bench.run(500, lambda: random.choice((7, 8, None)), never)
    await bench.check_all()


@behaviour()
async def neighbours_in_time_do_not_disturb_each_other(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for span in (1, 2, 3, 4, 5, 6, 1024):
        await bench.run(800, lambda: random.randrange(span) if random.random() < 0.9 else None, never)  # noqa: B023
    await bench.check_all()


@behaviour()
async def reads_under_full_load_are_exact_and_lose_nothing(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for span in (1, 2, 4, 1024):
        await bench.run(1500, lambda: random.randrange(span), lambda: random.randrange(span))  # noqa: B023
    assert bench.reads > 500
    await bench.check_all()
    assert sum(bench.packets.values()) > 3000


@behaviour()
async def a_read_takes_at_most_5_cycles(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for _ in range(50):
        asked = iter((3,))
        before = bench.reads
        await bench.run(6, lambda: random.choice((3, 3, 4)), lambda: next(asked, None))  # noqa: B023
        assert bench.reads == before + 1
