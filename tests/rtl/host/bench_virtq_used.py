"""What virtq_used promises: the driver finds each chain used, in order, with what was written, and never a part of
those that become used together; no function waits for another one's memory."""

import random
import struct
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from capture.host import OKAY, SLVERR, start
from cocotb.triggers import RisingEdge
from host.loose_memory import Access, LooseMemory, Settings

from headrace.testing.streams import PAIRS, PATTERNS, behaviour, cycles, never, seldom, together, until

FAULT_MEMORY = 1
WRITE, AVAIL, USED = 1 << 1, 1 << 7, 1 << 15


@dataclass
class Chain:
    """A chain as the device gives it back. `packet` counts those that become used together as one."""

    id: int
    slots: int
    bytes: int
    more: bool
    packet: int


@dataclass
class Driver:
    """The driver of one packed ring, after VIRTIO 1.2, 2.8.6 and 2.8.21.3: polls the flags at the place where the next
    used element must be."""

    number: int
    ring: int
    size: int
    index: int
    wrap: int
    given: deque[Chain] = field(default_factory=deque)  # given to the device and not seen used
    seen: list[Chain] = field(default_factory=list)
    reported: int = 0  # packets that the device says are done
    reported_place: tuple[int, int] = (0, 0)
    packets: int = 0
    free: int = 0
    failed: bool = False
    ids: int = 0
    memory: LooseMemory | None = None
    available: tuple[int, int] = (0, 0)  # place and wrap counter of the next descriptor that it makes available

    def __post_init__(self) -> None:
        self.free = self.size
        self.reported_place = self.available = (self.index, self.wrap)

    def fill(self) -> None:
        """The ring as it looks when nothing is available: flags that mean used on the lap before."""
        for slot in range(self.size):
            lap = self.wrap if slot >= self.index else self.wrap ^ 1
            self.describe(slot, 0 if lap else AVAIL | USED)

    def describe(self, slot: int, flags: int) -> None:
        data = struct.pack("<QIHH", random.getrandbits(64), 77, 0xAAAA, flags | random.choice((0, WRITE)))
        assert self.memory
        self.memory.write(self.ring + 16 * slot, data)

    def packet(self, chains: int, longest: int) -> list[Chain]:
        """Chains for a new packet, available and as the device gives them back, or none when the ring has too few
        descriptors."""
        made: list[Chain] = []
        for number in range(chains):
            room = self.free - (chains - 1 - number)
            slots = random.randint(1, max(1, min(longest, room)))
            if room < 1:
                self.free += sum(chain.slots for chain in made)
                return []
            self.free -= slots
            self.ids = (self.ids + random.randint(1, 3)) % 65536
            size = random.choice((0, 1, random.getrandbits(32)))
            made.append(Chain(self.ids, slots, size, number < chains - 1, self.packets))
        for _ in range(sum(chain.slots for chain in made)):
            slot, wrap = self.available
            self.describe(slot, AVAIL if wrap else USED)
            self.available = self.after(slot, wrap, 1)
        self.packets += 1
        self.given.extend(made)
        return made

    def poll(self) -> None:
        """Take all that is used."""
        assert self.memory
        while True:
            length, number, flags = struct.unpack("<IHH", self.memory.read(self.ring + 16 * self.index + 8, 8))
            if not (bool(flags & AVAIL) == bool(flags & USED) == bool(self.wrap)):
                break
            assert self.given, "more is used than was given"
            chain = self.given.popleft()
            assert (number, length) == (chain.id, chain.bytes)
            assert flags == (AVAIL | USED if self.wrap else 0) | (WRITE if chain.bytes else 0)
            self.index, self.wrap = self.after(self.index, self.wrap, chain.slots)
            self.free += chain.slots
            self.seen.append(chain)
        assert not self.seen or not self.seen[-1].more, "the driver sees a part of a packet"

    def after(self, index: int, wrap: int, slots: int) -> tuple[int, int]:
        index += slots
        return (index - self.size, wrap ^ 1) if index >= self.size else (index, wrap)

    @property
    def packets_seen(self) -> int:
        return self.seen[-1].packet + 1 if self.seen else 0


class Bench:
    """The block, memory, and a driver for each queue."""

    def __init__(self, dut: Any, **memory: Any) -> None:
        self.dut = dut
        self.queues, self.pairs, self.first = (int(p.value) for p in (dut.QUEUES, dut.PAIRS, dut.FIRST))
        self.memory = LooseMemory(dut=dut, shown=self.shown, asked=self.asked, **memory)
        self.drivers: dict[int, Driver] = {}
        self.by_page: dict[int, Driver] = {}
        self.fails: list[int] = []
        self.slots_reported: Counter[int] = Counter()
        self.dones: list[tuple[int, int]] = []
        self.under_way: dict[int, set[int]] = {}
        self.given = 0
        self.ready_at: list[int] = []

    async def start(self) -> None:
        dut = self.dut
        names = ("set_valid", "used_valid", "probe_queue", "place_queue")
        names += ("room_queue", "room_begun", "room_begun_all")
        await start(dut, *names, "m_axi_awready", "m_axi_wready", "m_axi_bvalid")
        cocotb.start_soon(self.memory.run(RisingEdge(dut.clk)))
        cocotb.start_soon(self.watch())
        await cycles(dut.clk, self.queues + 40)
        assert dut.idle.value

    def user(self, queue: int) -> int:
        return self.first + queue // self.pairs

    def asked(self, _: str, access: Access) -> None:
        driver = self.by_page[access.address >> 20]
        assert access.user == self.user(driver.number)

    def shown(self, address: int, data: bytes, _: int) -> None:
        driver = self.by_page[address >> 20]
        assert len(data) == 8 and address % 16 == 8
        assert driver.ring <= address < driver.ring + 16 * driver.size
        driver.poll()

    async def watch(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            await edge
            if dut.fail_valid.value:
                assert int(dut.fail_fault.value) == FAULT_MEMORY
                self.fails.append(int(dut.fail_queue.value))
                self.drivers[self.fails[-1]].failed = True
            if dut.done_valid.value:
                driver = self.drivers[int(dut.done_queue.value)]
                place, slots = int(dut.done_place.value), int(dut.done_slots.value)
                assert not driver.failed
                assert (place & 0x7FFF, place >> 15) == driver.reported_place
                driver.reported_place = driver.after(*driver.reported_place, slots)
                driver.reported += int(dut.done_count.value)
                assert driver.reported <= driver.packets_seen, "done before it is seen"
                used = sum(c.slots for c in driver.seen if c.packet < driver.reported)
                self.slots_reported[driver.number] += slots
                assert self.slots_reported[driver.number] == used
                self.dones.append((driver.number, self.memory.cycle))

    async def set(self, queue: int, size: int, index: int | None = None, wrap: int | None = None) -> Driver:
        page = 0
        while not page or page in self.by_page:
            page = random.getrandbits(44)
        ring = (page << 20) + 16 * random.randrange(0, (1 << 16) - size)
        index = random.randrange(size) if index is None else index
        wrap = random.getrandbits(1) if wrap is None else wrap
        driver = Driver(queue, ring, size, index, wrap, memory=self.memory)
        driver.fill()
        self.drivers[queue] = self.by_page[page] = driver
        self.slots_reported[queue] = 0
        settings = Settings(ring=ring, size=size, index=index, wrap=wrap, driver=random.getrandbits(64))
        await self.say(queue, settings)
        return driver

    async def say(self, queue: int, settings: Settings) -> None:
        dut = self.dut
        dut.set_queue.value, dut.set.value, dut.set_valid.value = queue, settings.packed(), 1
        await RisingEdge(dut.clk)
        dut.set_valid.value = 0
        dut.set_queue.value, dut.set.value = random.randrange(self.queues), random.getrandbits(245)
        await cycles(dut.clk, 3)

    async def give(self, queue: int, chain: Chain) -> None:
        dut = self.dut
        dut.used_valid.value, dut.used_queue.value = 1, queue
        dut.used_more.value, dut.used_id.value = int(chain.more), chain.id
        dut.used_slots.value, dut.used_bytes.value = chain.slots, chain.bytes
        await RisingEdge(dut.clk)
        while not dut.used_ready.value:
            await RisingEdge(dut.clk)
        self.given += 1
        dut.used_valid.value = 0

    async def traffic(
        self,
        packets: int,
        stalls: Any,
        chains: Callable[[], int] = lambda: 1,
        longest: int = 1,
        queues: list[int] | None = None,
        ends: Callable[[], bool] = lambda: False,
    ) -> None:
        """Gives packets of any of the queues, and those of different queues among each other."""
        begun: dict[int, deque[Chain]] = {}
        while (packets or begun) and not ends():
            while next(stalls):
                await RisingEdge(self.dut.clk)
            queue = random.choice(queues or list(self.drivers))
            if queue not in begun and packets:
                made = self.drivers[queue].packet(chains(), longest)
                if made:
                    begun[queue] = deque(made)
                    packets -= 1
            if queue in begun:
                await self.give(queue, begun[queue].popleft())
                if not begun[queue]:
                    del begun[queue]
            else:
                await RisingEdge(self.dut.clk)

    async def idle(self, limit: int) -> None:
        await cycles(self.dut.clk, 2)  # it shows a cycle after a chain was taken
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), limit)

    async def settle(self, limit: int = 20_000) -> None:
        await self.idle(limit)
        await cycles(self.dut.clk, 10)
        assert self.dut.idle.value
        for driver in self.drivers.values():
            if not driver.failed:
                assert not driver.given and driver.reported == driver.packets

    async def quiet(self, queue: int) -> bool:
        self.dut.probe_queue.value = queue
        await cycles(self.dut.clk, 6)
        return bool(self.dut.probe_quiet.value)

    async def place(self, queue: int) -> tuple[int, int]:
        self.dut.place_queue.value = queue
        await cycles(self.dut.clk, 6)
        value = int(self.dut.place_next.value)
        return value & 0x7FFF, value >> 15


def sizes() -> int:
    return random.choice((1, 2, 3, 7, 8, 64, 255, 256))


@behaviour()
@cocotb.parametrize((("host_stalls", "stalls"), PAIRS))
async def chains_of_any_slots_become_used_in_rings_of_any_size(dut: Any, host_stalls: Any, stalls: Any) -> None:
    bench = Bench(dut, stalls=host_stalls, latency=lambda _: random.randint(1, 30))
    await bench.start()
    for queue in range(bench.queues):
        await bench.set(queue, sizes())
    await bench.traffic(250, stalls(), longest=random.choice((1, 4, 300)))
    await bench.settle()
    for queue, driver in bench.drivers.items():
        assert await bench.place(queue) == (driver.index, driver.wrap)


@behaviour()
@cocotb.parametrize((("host_stalls", "longest"), together(PATTERNS, [1, 5])))
async def the_driver_sees_all_chains_of_a_packet_or_none(dut: Any, host_stalls: Any, longest: int) -> None:
    bench = Bench(dut, stalls=host_stalls, latency=lambda _: random.randint(1, 60))
    await bench.start()
    for queue in range(bench.queues):
        await bench.set(queue, random.choice((16, 17, 64)))
    await bench.traffic(250, seldom(), lambda: random.choice((1, 1, 2, 3, 8)), longest)
    await bench.settle()
    for queue, driver in bench.drivers.items():
        assert await bench.place(queue) == (driver.index, driver.wrap)


@behaviour()
async def the_largest_ring_and_the_longest_chain(dut: Any) -> None:
    bench = Bench(dut, latency=lambda _: random.randint(1, 30))
    await bench.start()
    driver = await bench.set(bench.queues - 1, 32768, 32765, 1)
    await bench.traffic(300, never(), longest=32768)
    await bench.traffic(50, never(), lambda: 3, 9000)
    await bench.settle()
    assert driver.packets_seen == 350


@behaviour()
async def wrap_counters_of_a_ring_of_one(dut: Any) -> None:
    bench = Bench(dut, latency=lambda _: 1)
    await bench.start()
    driver = await bench.set(0, 1, 0, 1)
    for lap in range(10):
        assert await bench.place(0) == (0, 1 - lap % 2)
        await bench.traffic(1, never())
        await bench.settle()
    assert driver.packets_seen == 10


@behaviour()
async def an_error_fails_its_queue_alone_until_it_is_set_again(dut: Any) -> None:
    wrong: set[int] = set()

    def bad(address: int, _: int) -> int:
        driver = bench.by_page[address >> 20]
        return SLVERR if driver.number in wrong and random.random() < 0.2 else OKAY

    bench = Bench(dut, stalls=seldom, latency=lambda _: random.randint(1, 50), bad_write=bad)
    await bench.start()
    for queue in range(bench.queues):
        await bench.set(queue, 64)
    for _ in range(6):
        wrong |= set(random.sample(range(bench.queues), (bench.queues + 2) // 3))
        bench.fails.clear()
        chains = lambda: random.choice((1, 1, 1, 2, 5))  # noqa: E731
        await bench.traffic(300, seldom(), chains, 2, ends=lambda: all(d.failed for d in bench.drivers.values()))
        await bench.settle()
        assert len(bench.fails) == len(set(bench.fails)) and set(bench.fails) <= wrong
        assert set(bench.fails) == {queue for queue in wrong if bench.drivers[queue].failed}
        assert bench.fails
        writes = bench.memory.writes
        for queue in bench.fails:
            assert await bench.quiet(queue)
            for chain in (Chain(1, 1, 1, True, 0), Chain(2, 1, 1, False, 0), Chain(3, 2, 1, False, 0)):
                await bench.give(queue, chain)
        await cycles(dut.clk, 200)
        assert bench.memory.writes == writes, "a failed queue goes on"
        wrong.clear()
        for queue in bench.fails:
            await bench.set(queue, sizes())


@behaviour()
async def what_was_begun_and_never_ended_is_forgotten_when_the_queue_is_set_again(dut: Any) -> None:
    bench = Bench(dut, latency=lambda _: random.randint(1, 20))
    await bench.start()
    for _ in range(8):
        driver = await bench.set(0, 16)
        await bench.traffic(5, never(), queues=[0])
        seen = driver.packets
        for chain in driver.packet(4, 1)[:3]:
            await bench.give(0, chain)
        await until(dut.clk, lambda: bool(dut.idle.value), 1000)
        assert driver.packets_seen == seen and await bench.quiet(0)
    await bench.set(0, 16)
    await bench.traffic(50, never(), lambda: 2, queues=[0])
    await bench.settle()


@behaviour()
async def a_queue_that_is_turned_off_ends_what_it_has(dut: Any) -> None:
    bench = Bench(dut, latency=lambda _: random.randint(30, 200))
    await bench.start()
    for queue in range(bench.queues):
        await bench.set(queue, 64)
    for _ in range(20):
        queue = random.randrange(bench.queues)
        if bench.drivers[queue].free > 9:
            traffic = cocotb.start_soon(bench.traffic(5, never(), lambda: random.randint(1, 2), queues=[queue]))
            await cycles(dut.clk, random.randint(1, 30))
            await bench.say(queue, Settings(enabled=False, ring=0x1230, size=1, index=0))
            await traffic
            dut.probe_queue.value = queue
            await cycles(dut.clk, 6)
            assert not dut.probe_quiet.value
            await until(dut.clk, lambda: bool(dut.probe_quiet.value), 2000)
            driver = bench.drivers[queue]
            assert not driver.given and await bench.place(queue) == (driver.index, driver.wrap)
            await bench.set(queue, sizes(), 0, driver.wrap)
    await bench.settle()


@behaviour()
async def functions_share_no_id_while_there_are_enough(dut: Any) -> None:
    bench = Bench(dut, latency=lambda _: random.randint(1, 100))
    ids = int(dut.IDS.value)
    owner: dict[int, Counter[int]] = {}
    shared = 0

    def asked(_: str, access: Access) -> None:
        nonlocal shared
        under_way = owner.setdefault(access.number, Counter())
        assert access.number < ids
        shared += any(count for user, count in under_way.items() if user != access.user)
        others = [number for number, users in owner.items() if users[access.user] and number != access.number]
        assert not others, "a function with two IDs at once"
        under_way[access.user] += 1

    async def answered() -> None:
        while True:
            await RisingEdge(dut.clk)
            if dut.m_axi_bvalid.value:
                waits = answers[int(dut.m_axi_bid.value)]
                owner[int(dut.m_axi_bid.value)][waits.popleft()] -= 1

    answers: dict[int, deque[int]] = {number: deque() for number in range(ids)}

    def both(kind: str, access: Access) -> None:
        asked(kind, access)
        answers[access.number].append(access.user)

    bench.memory.asked = both
    await bench.start()
    cocotb.start_soon(answered())
    for queue in range(bench.queues):
        await bench.set(queue, 64)
    await bench.traffic(1000, seldom())
    await bench.settle()
    if bench.user(bench.queues - 1) - bench.user(0) + 1 <= ids:
        assert shared == 0


@behaviour()
async def a_function_with_slow_memory_delays_no_other(dut: Any) -> None:
    """Who looks at `room` before it begins chains, as up to 20 of a queue that are begun at once."""
    slow = int(dut.FIRST.value)
    bench = Bench(dut, latency=lambda user: 20_000 if user == slow else 100)
    if bench.user(bench.queues - 1) == slow or int(dut.ELEMENTS.value) < 256:
        return
    await bench.start()
    for queue in range(bench.queues):
        await bench.set(queue, 256)
    slows = [queue for queue in bench.drivers if bench.user(queue) == slow]
    others = [queue for queue in bench.drivers if bench.user(queue) != slow]
    rooms = 0
    for _ in range(30):
        queue = random.choice(slows)
        dut.room_queue.value = queue
        await cycles(dut.clk, 6)
        if dut.room.value:
            rooms += 1
            await bench.traffic(20, never(), queues=[queue])
        begin = bench.memory.cycle
        await bench.traffic(50, never(), queues=others)
        assert bench.memory.cycle - begin < 50 * 8 * (2 if bench.queues < 8 else 1)
    assert 3 < rooms < 30, "it never had room, or always"
    assert all(driver.reported == 0 for queue, driver in bench.drivers.items() if queue in slows)
    await bench.settle(60_000)


@behaviour()
async def functions_with_silent_memory_leave_others_their_share(dut: Any) -> None:
    """All but one, the one after the other, with as many elements as each has room for."""
    pairs, elements = int(dut.PAIRS.value), int(dut.ELEMENTS.value)
    last = int(dut.FIRST.value) + (int(dut.QUEUES.value) - 1) // pairs
    bench = Bench(dut, latency=lambda user: 50 if user == last else 1_000_000)
    await bench.start()
    for queue in range(bench.queues):
        await bench.set(queue, 256)
    functions = last - bench.user(0) + 1
    own = elements // (2 * functions)
    if functions == 1 or functions > int(dut.IDS.value):
        return
    silent = [queue for queue in bench.drivers if bench.user(queue) != last]
    counts: Counter[int] = Counter()
    for queue in silent:
        dut.room_queue.value = queue
        await cycles(dut.clk, 6)
        while dut.room.value:
            await bench.traffic(1, never(), queues=[queue])
            counts[bench.user(queue)] += 1
            await cycles(dut.clk, 8)
    assert all(counts[bench.user(queue)] >= own for queue in silent)
    left = elements - counts.total()
    assert left >= own
    # What is begun elsewhere counts.
    queue = dut.room_queue.value = bench.queues - 1
    for begun in range(own + 3):
        dut.room_begun.value, dut.room_begun_all.value = begun, begun
        await cycles(dut.clk, 6)
        assert bool(dut.room.value) == (begun < own or begun == 0 or (begun < left - begun > own * (functions - 1)))
    dut.room_begun.value = dut.room_begun_all.value = 0
    begin = bench.memory.cycle
    for _ in range(10):
        await bench.traffic(own, never(), queues=[queue])
        await until(dut.clk, lambda: bench.drivers[queue].reported == bench.drivers[queue].packets, 400)
    assert bench.memory.cycle - begin < 10 * (100 + 4 * own)


async def rate(dut: Any, queues: int, chains: int = 1) -> float:
    """Chains a cycle with answers after 250 cycles."""
    bench = Bench(dut, latency=lambda _: 250)
    await bench.start()
    for queue in range(queues):
        await bench.set(queue, 1024)
    count = 600
    begin = bench.memory.cycle
    for number in range(count // chains):
        driver = bench.drivers[number % queues]
        for chain in driver.packet(chains, 1):
            await bench.give(driver.number, chain)
    await bench.settle()
    cycles_taken = bench.dones[-1][1] - begin - 250
    dut._log.info("%d queues, %d chains a packet: %.3f elements a cycle", queues, chains, count / cycles_taken)
    return count / cycles_taken


@behaviour()
async def a_used_element_in_three_cycles_with_slow_answers(dut: Any) -> None:
    if int(dut.ELEMENTS.value) < 256:
        return
    assert await rate(dut, int(dut.QUEUES.value)) > 1 / 3


@behaviour()
async def one_queue_is_as_fast(dut: Any) -> None:
    if int(dut.ELEMENTS.value) < 256:
        return
    assert await rate(dut, 1) > 1 / 3


@behaviour()
async def packets_in_several_chains_are_as_fast(dut: Any) -> None:
    if int(dut.ELEMENTS.value) < 256:
        return
    assert await rate(dut, int(dut.QUEUES.value), 6) > 1 / 3


@behaviour()
async def answers_in_bursts_are_all_taken(dut: Any) -> None:
    """As many as can be under way, answered one a cycle."""
    bench = Bench(dut, latency=lambda _: 1500 - bench.memory.cycle % 1500)
    await bench.start()
    for queue in range(bench.queues):
        await bench.set(queue, 300)
    await bench.traffic(2 * int(dut.ELEMENTS.value), never(), lambda: random.choice((1, 1, 3)))
    await bench.settle()
    assert bench.memory.most >= int(dut.ELEMENTS.value) - bench.queues * 2 or bench.queues == 1
