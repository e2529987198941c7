"""What host_interrupt promises: a driver that wants an interrupt for what became used gets one, and none that it did
not want, no later than moderation lets; and time may stand still or jump, as far as `wake_ns` at once."""

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import cocotb
from capture.host import OKAY, SLVERR, start
from cocotb.triggers import RisingEdge
from host.loose_memory import Access, LooseMemory, Settings

from headrace.testing.streams import PATTERNS, behaviour, cycles, never, seldom, together, until

SIDES = ("transmit", "receive")
ENABLE, DISABLE, DESCRIPTOR = 0, 1, 2
NEVER = (1 << 64) - 1


@dataclass
class Done:
    """Something that became used: all its descriptors with the wrap counter that each has."""

    places: set[tuple[int, int]]
    count: int


@dataclass
class Queue:
    """A queue of one side, and its driver's event suppression structure."""

    side: int
    number: int
    size: int
    index: int
    wrap: int
    structure: int
    vector: int
    event_index: bool
    dones: list[Done] = field(default_factory=list)
    looks: int = 0
    irqs: int = 0
    failed: int = 0
    ends: set[int] = field(default_factory=lambda: {0})  # how many dones the looks up to now may have covered
    answer: tuple[int, int, int, int] | None = None  # of the look not judged yet: flags, index, wrap, dones

    def use(self, slots: int, count: int) -> Done:
        """The next `slots` descriptors become used."""
        places = set()
        for _ in range(slots):
            places.add((self.index, self.wrap))
            self.index += 1
            if self.index == self.size:
                self.index, self.wrap = 0, self.wrap ^ 1
        self.dones.append(Done(places, count))
        return self.dones[-1]

    def wants(self, flags: int, index: int, wrap: int, dones: list[Done]) -> bool:
        """VIRTIO 1.2, 2.8.10: whether the driver wants an interrupt for `dones`."""
        if flags & 3 == DESCRIPTOR and self.event_index:
            return any((index, wrap) in done.places for done in dones)
        return flags & 3 != DISABLE

    def judge(self, interrupted: bool) -> None:
        """After a look it is known whether an interrupt came: which dones may the look have covered?"""
        if not self.answer:
            return
        flags, index, wrap, most = self.answer
        self.answer = None
        before, self.ends = self.ends, set()
        for begin in before:
            for end in range(begin + 1, most + 1):
                if self.wants(flags, index, wrap, self.dones[begin:end]) == interrupted:
                    self.ends.add(end)
        assert self.ends, f"interrupt {interrupted} with {flags:#x}, {index}, {wrap} after {before} of {most}"


class Bench:
    """The block, memory, time, and the queues of both sides."""

    def __init__(self, dut: Any, irq_stalls: Any = never, **memory: Any) -> None:
        self.dut = dut
        self.numbers, self.pairs, self.first = (int(p.value) for p in (dut.QUEUES, dut.PAIRS, dut.FIRST))
        self.memory = LooseMemory(dut=dut, asked=self.asked, answered=self.answered, **memory)
        self.queues: dict[tuple[int, int], Queue] = {}
        self.by_beat: dict[int, Queue] = {}
        self.by_vector: dict[int, Queue] = {}
        self.irq_stalls: Iterator[bool] = irq_stalls()
        self.time = random.getrandbits(50)
        self.step: Callable[[], int] = lambda: 2
        self.seen: dict[int, int] = {}
        self.under_way: list[Queue] = []

    async def start(self, size: Callable[[], int], event_index: Callable[[], bool] = lambda: True) -> None:
        dut = self.dut
        dut.time_ns.value = self.time
        names = ("set_valid", "moderate_valid", "transmit_done_valid", "receive_done_valid", "probe_queue")
        await start(dut, *names, "m_axi_arready", "m_axi_rvalid", "irq_ready")
        cocotb.start_soon(self.memory.run(RisingEdge(dut.clk)))
        cocotb.start_soon(self.watch())
        await until(dut.clk, lambda: bool(dut.idle.value), self.numbers + 50)
        for side in range(2):
            for number in range(self.numbers):
                await self.set(side, number, size(), event_index())

    async def set(self, side: int, number: int, size: int, event_index: bool = True) -> Queue:
        structure = 0
        beat = len(self.dut.m_axi_rdata) // 8
        while structure // beat in self.by_beat or not structure:
            structure = 4 * random.getrandbits(62)
        vector = random.choice([n for n in range(4 * self.numbers + 4) if n not in self.by_vector])
        queue = Queue(side, number, size, random.randrange(size), random.getrandbits(1), structure, vector, event_index)
        old = self.queues.get((side, number))
        if old:
            del self.by_beat[old.structure // beat], self.by_vector[old.vector]
        self.queues[side, number] = self.by_beat[structure // beat] = self.by_vector[vector] = queue
        self.say(queue, ENABLE)
        await self.settings(queue, True)
        return queue

    async def settings(self, queue: Queue, enabled: bool) -> None:
        dut = self.dut
        settings = Settings(
            enabled=enabled,
            event_index=queue.event_index,
            size=queue.size,
            vector=queue.vector,
            driver=queue.structure,
            ring=random.getrandbits(64),
            index=queue.index,
            wrap=queue.wrap,
        )
        dut.set_valid.value, dut.set_queue.value, dut.set.value = 1 << queue.side, queue.number, settings.packed()
        await RisingEdge(dut.clk)
        dut.set_valid.value, dut.set_queue.value = 0, random.randrange(self.numbers)
        dut.set.value = random.getrandbits(245)
        await cycles(dut.clk, 3)

    async def moderate(self, queue: Queue, packets: int, ns: int) -> None:
        dut = self.dut
        dut.moderate_valid.value, dut.moderate_queue.value = 1 << queue.side, queue.number
        dut.moderate_packets.value, dut.moderate_ns.value = packets, ns
        await RisingEdge(dut.clk)
        dut.moderate_valid.value = 0
        dut.moderate_ns.value = random.getrandbits(32)
        await cycles(dut.clk, 2)

    def say(self, queue: Queue, flags: int, index: int | None = None, wrap: int = 0) -> None:
        """What the driver writes."""
        place = random.getrandbits(16) if index is None else index | wrap << 15
        self.memory.write(queue.structure, struct.pack("<HH", place, flags | random.getrandbits(14) << 2))

    async def done(self, queue: Queue, slots: int = 1, count: int = 1) -> None:
        """Something of the queue became used. Two calls for one side must be two cycles apart: so long this takes."""
        dut, side = self.dut, SIDES[queue.side]
        place = queue.index | queue.wrap << 15
        values = {"valid": 1, "queue": queue.number, "count": count, "place": place, "slots": slots}
        for name, value in values.items():
            getattr(dut, f"{side}_done_{name}").value = value
        await RisingEdge(dut.clk)
        queue.use(slots, count)
        for name in values:
            signal = getattr(dut, f"{side}_done_{name}")
            signal.value = 0 if name == "valid" else random.getrandbits(len(signal))
        await RisingEdge(dut.clk)

    def asked(self, _: str, access: Access) -> None:
        queue = self.by_beat[access.address // (len(self.dut.m_axi_rdata) // 8)]
        assert access.user == self.first + queue.number // self.pairs
        queue.looks += 1
        self.seen[id(access)] = len(queue.dones)
        others = [other for other in self.under_way if other is queue]
        assert not others, "two looks at once"
        self.under_way.append(queue)

    def answered(self, _: str, access: Access) -> None:
        size = len(self.dut.m_axi_rdata) // 8
        queue = self.by_beat[access.address // size]
        queue.judge(False)
        data = access.data.to_bytes(size, "little")[queue.structure % size :][:4]
        place, flags = struct.unpack("<HH", data)
        self.under_way.remove(queue)
        most = self.seen.pop(id(access))
        if access.response == OKAY:
            queue.answer = (flags, place & 0x7FFF, place >> 15, most)

    async def watch(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        offered = None
        while True:
            ready = int(not next(self.irq_stalls))
            dut.irq_ready.value = ready
            await edge
            if dut.irq_valid.value:
                irq = (int(dut.irq_function.value), int(dut.irq_vector.value))
                assert offered in (None, irq), "an offered interrupt changed"
                offered = None if ready else irq
                if ready:
                    queue = self.by_vector[irq[1]]
                    assert irq[0] == self.first + queue.number // self.pairs
                    queue.irqs += 1
                    assert queue.answer, "an interrupt without a look"
                    queue.judge(True)
            else:
                assert offered is None
            for side, name in enumerate(SIDES):
                if getattr(dut, f"{name}_fail_valid").value:
                    self.queues[side, int(getattr(dut, f"{name}_fail_queue").value)].failed += 1
            self.time += self.step()
            dut.time_ns.value = self.time

    async def idle(self, limit: int = 5000) -> None:
        await cycles(self.dut.clk, 3)
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), limit)
        for queue in self.queues.values():
            queue.judge(False)

    @property
    def wake(self) -> int:
        return int(self.dut.wake_ns.value)

    async def jump(self, time: int) -> None:
        """From one cycle to the next it is `time`."""
        self.time = time - self.step()
        await cycles(self.dut.clk, 2)

    async def finish(self) -> None:
        """As long as a timer runs, on to when it rings. Then all is looked at."""
        self.step = lambda: 0
        for _ in range(1000):
            await self.idle()
            if self.wake == NEVER:
                break
            assert self.wake > self.time
            await self.jump(self.wake)
        assert self.wake == NEVER
        for queue in self.queues.values():
            assert queue.failed or len(queue.dones) in queue.ends, "something was not looked at"


def any_size() -> int:
    return random.choice((1, 2, 3, 5, 8, 64, 255))


async def one_look(bench: Bench, queue: Queue, dones: int) -> None:
    """A driver that wants something or not, and as many dones as are enough: exactly one look, and an interrupt only if
    it is wanted."""
    flags = random.choice((ENABLE, DISABLE, DESCRIPTOR, DESCRIPTOR, DESCRIPTOR, 3))
    index, wrap = random.randrange(queue.size), random.getrandbits(1)
    if random.random() < 0.4:
        index, wrap = queue.index, queue.wrap
    bench.say(queue, flags, index, wrap)
    looks, irqs, first = queue.looks, queue.irqs, len(queue.dones)
    for number in range(dones):
        assert queue.looks == looks
        await bench.done(queue, random.randint(1, min(queue.size, 1 if number % 2 else 255)))
    await bench.idle()
    assert queue.looks == looks + 1
    wanted = queue.wants(flags, index, wrap, queue.dones[first:])
    assert queue.irqs == irqs + wanted
    assert queue.ends == {len(queue.dones)} or not queue.ends - set(range(first, len(queue.dones) + 1))
    queue.ends = {len(queue.dones)}


@behaviour()
@cocotb.parametrize(stalls=PATTERNS)
async def an_interrupt_comes_when_the_driver_wants_it(dut: Any, stalls: Any) -> None:
    bench = Bench(dut, stalls=stalls, latency=lambda _: random.randint(1, 20))
    await bench.start(any_size, lambda: random.random() < 0.8)
    for _ in range(120):
        await one_look(bench, random.choice(list(bench.queues.values())), 1)
    await bench.finish()


@behaviour()
async def the_place_counts_across_wraps_of_the_largest_ring(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(lambda: 8)
    queue = await bench.set(random.getrandbits(1), random.randrange(bench.numbers), 32768)
    for _ in range(60):
        slots = random.choice((1, 5, 1000, 32767, 32768))
        where = random.choice((-1, 0, slots // 2, slots - 1, slots, 32767, 32768, 65535))
        place = (queue.index + queue.wrap * 32768 + where) % 65536
        bench.say(queue, DESCRIPTOR, place % 32768, place // 32768)
        irqs = queue.irqs
        await bench.done(queue, slots)
        await bench.idle()
        assert queue.irqs == irqs + (0 <= where < slots)
        queue.ends = {len(queue.dones)}


@behaviour()
async def enough_packets_are_looked_at_together(dut: Any) -> None:
    bench = Bench(dut, stalls=seldom, latency=lambda _: random.randint(1, 20))
    await bench.start(any_size)
    for queue in bench.queues.values():
        await bench.moderate(queue, 5, 1 << 31)
    bench.step = lambda: 0
    for _ in range(60):
        await one_look(bench, random.choice(list(bench.queues.values())), 5)
    queue = random.choice(list(bench.queues.values()))
    await bench.moderate(queue, 30, 1 << 31)
    bench.say(queue, ENABLE)
    looks = queue.looks
    await bench.done(queue, 1, 29)
    await bench.idle()
    assert queue.looks == looks
    await bench.done(queue, 1, 65535)
    await bench.idle()
    assert queue.looks == looks + 1
    await bench.finish()


@behaviour()
async def laps_that_are_gathered_cover_every_place(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(any_size)
    bench.step = lambda: 0
    for queue in list(bench.queues.values())[:20]:
        await bench.moderate(queue, 1000, 10_000)
        for number in range(random.randint(1, 6)):
            await bench.done(queue, random.randint(queue.size if number else 1, queue.size))
        event = (random.randrange(queue.size), random.getrandbits(1))
        bench.say(queue, DESCRIPTOR, *event)
        assert queue.looks == 0
        await bench.idle()
        assert bench.wake == bench.time + 10_000
        await bench.jump(bench.wake)
        await bench.idle()
        assert (queue.looks, queue.irqs) == (1, queue.wants(DESCRIPTOR, *event, queue.dones))
        queue.ends = {len(queue.dones)}
    await bench.finish()


@behaviour()
async def a_saturated_range_is_every_place(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(lambda: 4)
    queue = await bench.set(0, 0, 32768)
    await bench.moderate(queue, 60, 10_000)
    bench.step = lambda: 0
    bench.say(queue, DESCRIPTOR, queue.index, queue.wrap ^ 1)
    for _ in range(6):
        await bench.done(queue, 32768, 10)
    await bench.idle()
    assert queue.irqs == 1


@behaviour()
async def the_first_packet_waits_as_long_as_it_may_and_no_longer(dut: Any) -> None:
    bench = Bench(dut, latency=lambda _: random.randint(1, 20))
    await bench.start(any_size)
    bench.step = lambda: 0
    assert bench.wake == NEVER
    for _ in range(20):
        queues = random.sample(list(bench.queues.values()), min(5, len(bench.queues)))
        due = {}
        for queue in queues:
            wait = random.choice((1, 100, 1 << 20, (1 << 32) - 1))
            await bench.moderate(queue, 100, wait)
            bench.say(queue, ENABLE)
            due[queue.vector] = bench.time + wait
            await bench.done(queue)
            await cycles(dut.clk, random.randint(0, 5))
            if random.random() < 0.5:
                await bench.jump(bench.time + random.randint(0, min(due.values()) - bench.time - 1))
                await bench.done(queue)
            await bench.idle()
            assert bench.time < bench.wake <= min(due.values())
        while due:
            await bench.idle()
            first = min(due.values())
            assert bench.time < bench.wake <= first
            if random.random() < 0.3:
                await bench.jump(first - 1)
                await bench.idle()
            irqs = {queue.vector: queue.irqs for queue in queues}
            await bench.jump(random.choice((first, first, first + random.getrandbits(36))))
            await bench.idle(100 + 3 * bench.numbers)
            for queue in queues:
                late = due.get(queue.vector, NEVER) <= bench.time
                assert queue.irqs == irqs[queue.vector] + late
                if late:
                    del due[queue.vector]
        await bench.jump(max(bench.time, min(bench.wake, bench.time + (1 << 33))))
        await bench.idle()
        assert bench.wake == NEVER or bench.wake > bench.time
    await bench.finish()


@behaviour()
@cocotb.parametrize((("stalls", "slow"), together(PATTERNS, [False, True])))
async def nothing_is_lost_whatever_comes_when(dut: Any, stalls: Any, slow: bool) -> None:
    bench = Bench(dut, stalls=stalls, latency=lambda _: random.randint(1, 300 if slow else 10))
    await bench.start(any_size, lambda: random.random() < 0.8)
    bench.step = lambda: random.choice((0, 0, 2, 2, 2, random.randrange(3000)))
    for queue in bench.queues.values():
        if random.random() < 0.8:
            await bench.moderate(queue, random.choice((0, 1, 2, 10)), random.choice((0, 20, 500, 5000)))

    async def feed(side: int) -> None:
        queues = [queue for queue in bench.queues.values() if queue.side == side]
        for _ in range(400):
            some = random.choice(queues[: random.choice((1, 4, 100))])
            if random.random() < 0.3:
                flags = random.choice((ENABLE, DISABLE, DESCRIPTOR, DESCRIPTOR))
                bench.say(some, flags, random.randrange(some.size), random.getrandbits(1))
            await bench.done(some, random.randint(1, some.size), random.choice((1, 1, 3)))
            if random.random() < 0.1:
                await cycles(dut.clk, random.randrange(40))
            if random.random() < 0.02:
                await bench.moderate(some, random.choice((0, 1, 2, 10)), random.choice((0, 20, 500, 5000)))

    tasks = [cocotb.start_soon(feed(side)) for side in range(2)]
    for task in tasks:
        await task
    await bench.finish()
    assert sum(queue.irqs for queue in bench.queues.values()) > 10


@behaviour()
async def interrupts_that_wait_are_all_there(dut: Any) -> None:
    bench = Bench(dut, irq_stalls=lambda: (random.random() < 0.97 for _ in iter(int, 1)))
    await bench.start(any_size)
    for _ in range(5):
        irqs = {queue.vector: queue.irqs for queue in bench.queues.values()}
        for queue in bench.queues.values():
            await bench.done(queue)
        await bench.idle(20_000)
        assert all(queue.irqs == irqs[queue.vector] + 1 for queue in bench.queues.values())
    await bench.finish()


@behaviour()
async def a_queue_that_is_turned_off_holds_nothing_back(dut: Any) -> None:
    bench = Bench(dut, latency=lambda _: random.randint(1, 100))
    await bench.start(any_size)
    bench.step = lambda: 0
    for _ in range(20):
        side, number = random.choice(list(bench.queues))
        queue = bench.queues[side, number]
        await bench.moderate(queue, 100, 1 << 30)
        dut.probe_queue.value = number
        await bench.done(queue)
        await bench.idle()
        assert queue.looks == 0 and not dut.probe_quiet.value[side]
        await bench.settings(queue, False)
        await until(dut.clk, lambda side=side: bool(dut.probe_quiet.value[side]), 500)
        await bench.idle()
        assert queue.irqs == 1
        await bench.done(queue)
        await cycles(dut.clk, 6)
        assert not dut.probe_quiet.value[side]
        await bench.idle()
        assert queue.irqs == 2 and dut.probe_quiet.value[side]
        await bench.set(side, number, any_size())
        await bench.moderate(bench.queues[side, number], 1, 0)
    await bench.finish()


@behaviour()
async def a_structure_that_cannot_be_read_fails_its_queue(dut: Any) -> None:
    wrong: set[int] = set()
    bench = Bench(dut, stalls=seldom, bad_read=lambda address, _: SLVERR if address in wrong else OKAY)
    await bench.start(any_size)
    size = len(dut.m_axi_rdata) // 8
    some = random.sample(list(bench.queues.values()), (len(bench.queues) + 2) // 3)
    wrong |= {queue.structure // size * size for queue in some}
    for queue in bench.queues.values():
        await bench.done(queue)
    await bench.idle()
    for queue in bench.queues.values():
        assert (queue.failed, queue.irqs) == ((1, 0) if queue in some else (0, 1))
    wrong.clear()
    for queue in some:
        again = await bench.set(queue.side, queue.number, 8)
        await bench.done(again)
        await bench.idle()
        assert again.irqs == 1


@behaviour()
async def slow_structures_delay_no_other(dut: Any) -> None:
    slow = int(dut.FIRST.value)
    bench = Bench(dut, latency=lambda user: 20_000 if user == slow else 100)
    if bench.numbers < 2 * bench.pairs:
        return
    await bench.start(any_size)
    slows = [queue for queue in bench.queues.values() if queue.number < bench.pairs]
    others = [queue for queue in bench.queues.values() if queue.number >= bench.pairs]
    for queue in slows:
        await bench.done(queue)
    for _ in range(20):
        queue = random.choice(others)
        irqs = queue.irqs
        await bench.done(queue)
        await bench.done(random.choice(slows))
        await cycles(dut.clk, 150)
        assert queue.irqs == irqs + 1
    assert not any(queue.irqs for queue in slows)
    await until(dut.clk, lambda: bool(dut.idle.value), 60_000)
    await bench.finish()
    assert all(queue.irqs in (1, 2) for queue in slows)


@behaviour()
async def a_timer_that_starts_while_another_rings_is_not_forgotten(dut: Any) -> None:
    bench = Bench(dut, latency=lambda _: 3)
    if bench.numbers == 1:
        return
    await bench.start(any_size)
    bench.step = lambda: 0
    for _ in range(60):
        first, second = random.sample([queue for queue in bench.queues.values() if queue.side == 0], 2)
        await bench.moderate(first, 100, 10)
        await bench.done(first)
        await bench.idle()
        await bench.moderate(second, 100, 1000)
        await bench.jump(bench.wake)
        await cycles(dut.clk, random.randint(0, 2 * bench.numbers))
        due = bench.time + 1000
        await bench.done(second)
        await bench.idle()
        assert bench.time < bench.wake <= due
        irqs = second.irqs
        await bench.jump(due)
        await bench.idle()
        assert second.irqs == irqs + 1


@behaviour()
async def what_is_enough_while_memory_is_slow_is_looked_at_next(dut: Any) -> None:
    bench = Bench(dut, latency=lambda _: 60)
    await bench.start(any_size)
    bench.step = lambda: 0
    for _ in range(10):
        queue = random.choice(list(bench.queues.values()))
        await bench.moderate(queue, 3, 1 << 31)
        looks, irqs = queue.looks, queue.irqs
        await bench.done(queue, 1, 3)
        await cycles(dut.clk, 20)
        assert queue.looks == looks + 1
        for _ in range(3):
            await bench.done(queue)
        assert queue.looks == looks + 1
        await bench.idle()
        assert (queue.looks, queue.irqs) == (looks + 2, irqs + 2)
    await bench.finish()
