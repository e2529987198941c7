"""What the traffic analyser promises: true statistics of each window, whatever steps time takes, and to be woken."""

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, behaviour, cycles

NEVER = (1 << 64) - 1
WORD32 = (1 << 32) - 1
Stats = tuple[int, ...]
EMPTY: Stats = (0, 0, WORD32, 0, 0xFFFF, 0)
LATENCY = 2


@dataclass
class Bench:
    """The analyser, and notes of all that it was shown: time of each cycle, time and size of each packet."""

    dut: Any
    log2: int
    watch: bool = False
    now: int = 0
    times: list[int] = field(default_factory=list)
    packets: list[tuple[int, int]] = field(default_factory=list)
    seen: list[Stats] = field(default_factory=list)

    async def begin(self) -> None:
        """Reset."""
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        dut.rst.value, dut.packet.value, dut.packet_bytes.value = 1, 0, 0
        dut.window_log2.value, dut.watch.value = self.log2, self.watch
        dut.time_ns.value = self.now
        await cycles(dut.clk, 4)
        dut.rst.value = 0
        self.times.append(self.now)

    @property
    def size_log2(self) -> int:
        return min(max(self.log2, 10), 30)

    def whole(self, now: int) -> Stats:
        """The statistics of the last window that has ended at `now`."""
        number = (now >> self.size_log2) - 1
        inside = [index for index, (time, _) in enumerate(self.packets) if time >> self.size_log2 == number]
        if not inside:
            return EMPTY
        gaps = [min(self.packets[i][0] - self.packets[i - 1][0], WORD32) for i in inside if i]
        lengths = [self.packets[i][1] for i in inside]
        sizes = (min(lengths), max(lengths))
        return (len(inside), sum(lengths), min(gaps, default=WORD32), max(gaps, default=0), *sizes)

    async def step(self, by: int, size: int | None = None) -> None:
        """A cycle, `by` ns after the one before, with or without a packet; checks the outputs."""
        dut = self.dut
        self.now += by
        dut.time_ns.value = self.now
        dut.packet.value = size is not None
        dut.packet_bytes.value = random.getrandbits(16) if size is None else size
        await RisingEdge(dut.clk)
        self.times.append(self.now)
        if size is not None:
            self.packets.append((self.now, size))
        if len(self.times) > LATENCY + 1:
            before, then = self.times[-LATENCY - 2 : -LATENCY]
            ended = before >> self.size_log2 != then >> self.size_log2
            assert int(dut.window.value) == ended
            if ended:
                names = ("packets", "bytes", "gap_min", "gap_max", "size_min", "size_max")
                stats = tuple(int(getattr(dut, name).value) for name in names)
                known = [packet for packet in self.packets if packet[0] <= then]
                assert stats == Bench(dut, self.log2, packets=known).whole(then)
                self.seen.append(stats)
        if dut.idle.value:
            self.check_wake()

    def check_wake(self) -> None:
        """A wake-up at the end of the window if there is something in it or in the last one."""
        number = self.now >> self.size_log2
        matters = self.watch or any(time >> self.size_log2 in (number, number - 1) for time, _ in self.packets)
        end = (number + 1) << self.size_log2
        assert int(self.dut.wake_ns.value) == (end if matters else NEVER)

    async def rest(self) -> None:
        """Let what was shown work its way through."""
        for _ in range(4):
            await self.step(0)
        assert self.dut.idle.value


@behaviour()
@cocotb.parametrize(log2=[0, 10, 13, 31], watch=[False, True])
async def each_window_has_its_own_statistics(dut: Any, log2: int, watch: bool) -> None:
    bench = Bench(dut, log2, watch, now=random.getrandbits(60))
    await bench.begin()
    window = 1 << bench.size_log2
    for _ in range(60):
        kind = random.random()
        rate = random.choice((0.0, 0.05, 0.5, 1.0))
        steps = (0, 3, 4, 100, window // 10)
        for _ in range(random.randint(1, 60)):
            await bench.step(random.choice(steps), random.randint(1, 1514) if random.random() < rate else None)
        if kind < 0.2:
            await bench.step(window - bench.now % window + random.choice((-1, 0)))
        elif kind < 0.4:
            await bench.step(random.choice((window, 2 * window, 7 * window + 5, 1 << 33, 1 << 45)))
        elif kind < 0.5:
            await bench.rest()
    await bench.rest()
    assert len(bench.seen) > 20
    assert EMPTY in bench.seen and any(stats[0] > 5 for stats in bench.seen)


@behaviour()
async def windows_go_on_from_wake_to_wake_until_they_are_empty(dut: Any) -> None:
    bench = Bench(dut, 12, now=4096 * 77 + 5)
    await bench.begin()
    await bench.step(4, 100)
    await bench.rest()
    wakes = 0
    while (wake := int(dut.wake_ns.value)) != NEVER:
        await bench.step(wake - bench.now)
        await bench.rest()
        wakes += 1
    assert wakes == 2
    assert [stats[0] for stats in bench.seen] == [1, 0]


@behaviour()
async def the_longest_gap_is_not_exceeded(dut: Any) -> None:
    bench = Bench(dut, 10, now=1 << 40)
    await bench.begin()
    for gap in (WORD32 - 1, WORD32, WORD32 + 1, 1 << 40, 5):
        await bench.step(gap, 64)
    await bench.step(2048)
    await bench.rest()
