"""What the order of packets promises: they leave as they arrived, whichever core finishes first."""

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, Stalls, behaviour, bursts, mostly, never, seldom

MOST_IN_A_CORE = 63


@dataclass(frozen=True)
class Packet:
    number: int
    core: int
    port: int
    time_ns: int
    set: int


class Bench:
    """Cores that finish their packets in order, each after a time of its own."""

    def __init__(self, dut: Any, work: Callable[[], int]) -> None:
        self.dut = dut
        self.edge = RisingEdge(dut.clk)
        self.cores = int(dut.CORES.value)
        self.work = work
        self.inside: list[deque[tuple[int, Packet]]] = [deque() for _ in range(self.cores)]
        self.order: deque[Packet] = deque()
        self.numbers = 0
        self.cycle = 0
        self.out: Packet | None = None  # that must come out now
        self.flight = [0, 0]  # packets of each set, before this cycle
        self.gaps = 0  # cycles in which a packet was there and none left

    async def start(self) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for signal in (dut.arrived, dut.finished_valid, dut.stall, dut.time_ns):
            signal.value = 0
        dut.rst.value = 1
        for _ in range(3):
            await self.edge
        dut.rst.value = 0
        await self.edge  # nothing arrives so soon: the cores take no packet yet

    def _arrivals(self, gaps: tuple[Stalls, Stalls], chosen_set: int) -> list[Packet]:
        free = [core for core in range(self.cores) if len(self.inside[core]) < MOST_IN_A_CORE]
        random.shuffle(free)
        packets = []
        for port in range(2):
            if not next(gaps[port]) and free:
                packets.append(Packet(self.numbers % 65536, free.pop(), port, self.cycle * 3 + (7 << 40), chosen_set))
                self.numbers += 1
        return packets

    async def run(self, cycles: int, gaps: tuple[Stalls, Stalls], stalls: Stalls) -> None:
        """Let packets come and go for a number of cycles, checking all that comes out."""
        dut = self.dut
        for _ in range(cycles):
            self.cycle += 1
            chosen_set = self.cycle // 200 % 2
            packets = self._arrivals(gaps, chosen_set)
            dut.arrived.value = sum(1 << packet.port for packet in packets)
            for packet in packets:
                (dut.core_1 if packet.port else dut.core_0).value = packet.core
            dut.arrived_set.value = chosen_set
            dut.time_ns.value = self.cycle * 3 + (7 << 40)
            stall = next(stalls)
            dut.stall.value = stall
            ready = [bool(queue) and queue[0][0] <= self.cycle for queue in self.inside]
            dut.finished_valid.value = sum(valid << core for core, valid in enumerate(ready))
            numbers = [queue[0][1].number if queue else random.getrandbits(16) for queue in self.inside]
            dut.finished_number.value = sum(number << 16 * core for core, number in enumerate(numbers))
            await self.edge

            out = self.out
            assert bool(dut.out_valid.value) == (out is not None)
            if out is not None:
                found = (dut.out_number, dut.out_core, dut.out_port, dut.out_time_ns)
                assert tuple(int(signal.value) for signal in found) == (out.number, out.core, out.port, out.time_ns)
            for number in range(2):
                assert not self.flight[number] or int(dut.set_busy.value) >> number & 1
            assert not (self.order or out or packets) or not dut.idle.value
            self.out = self._popped(int(dut.pop.value), ready, stall)
            for packet in packets:
                self.order.append(packet)
                self.inside[packet.core].append((self.cycle + 1 + self.work(), packet))
            self.flight = [sum(packet.set == number for packet in self.order) for number in range(2)]

    def _popped(self, pop: int, ready: list[bool], stall: bool) -> Packet | None:
        may = not stall and bool(self.order) and ready[self.order[0].core]
        if not pop:
            self.gaps += may
            return None
        packet = self.order.popleft()
        assert pop == 1 << packet.core, "the wrong core"
        assert may, "a packet that is not finished, or in a stall"
        assert self.inside[packet.core].popleft()[1] == packet
        return packet

    async def drain(self) -> None:
        """Let everything out; then it is idle and no set is busy."""
        closed = iter(lambda: True, None)
        await self.run(4000, (closed, closed), never())
        assert not self.order
        assert self.dut.idle.value
        assert int(self.dut.set_busy.value) == 0


@behaviour()
async def packets_leave_in_order_of_arrival(dut: Any) -> None:
    patterns = (never, seldom, mostly, bursts)
    bench = Bench(dut, lambda: random.choice((0, 3, 10, 60)))
    await bench.start()
    for gaps_0 in patterns:
        for gaps_1 in patterns:
            await bench.run(300, (gaps_0(), gaps_1()), random.choice((never, seldom, bursts))())
    await bench.drain()


@behaviour()
async def all_that_the_cores_can_hold_may_wait(dut: Any) -> None:
    bench = Bench(dut, lambda: 0)
    await bench.start()
    stuck = iter(lambda: True, None)
    while not all(len(queue) == MOST_IN_A_CORE for queue in bench.inside):
        await bench.run(10, (seldom(), seldom()), stuck)
    await bench.drain()


@behaviour()
async def one_leaves_a_cycle(dut: Any) -> None:
    bench = Bench(dut, lambda: 0)
    await bench.start()
    await bench.run(100, (never(), never()), iter(lambda: True, None))
    bench.gaps = 0
    await bench.run(50, (iter(lambda: True, None), iter(lambda: True, None)), never())
    assert bench.gaps == 0
    await bench.drain()


@behaviour()
async def a_set_is_busy_until_its_last_packet_has_left(dut: Any) -> None:
    bench = Bench(dut, lambda: 5)
    await bench.start()
    closed = iter(lambda: True, None)
    once = iter((False,))
    arriving = iter(lambda: next(once, True), None)
    bench.cycle = 10  # set 0
    await bench.run(20, (arriving, closed), closed)
    assert int(dut.set_busy.value) == 1
    assert not dut.idle.value
    await bench.run(20, (closed, closed), never())
    assert int(dut.set_busy.value) == 0
    assert dut.idle.value
