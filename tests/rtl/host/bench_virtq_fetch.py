"""What virtq_fetch promises: every buffer that drivers make available, once and in order, whatever memory is like."""

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from capture.host import DECERR, OKAY, PAGE, SLVERR, Memory
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from host.packed import (
    AVAIL,
    DESCRIPTOR,
    DISABLE,
    ELEMENT,
    ENABLE,
    EVENT,
    INDIRECT,
    NEXT,
    USED,
    WRITE,
    Buffer,
    Chain,
    Driver,
)

from headrace.testing.streams import (
    PERIOD_PS,
    Stalls,
    behaviour,
    bursts,
    cycles,
    mostly,
    never,
    seldom,
    together,
    until,
)

LONGEST = 131071  # what a buffer's length is cut to
MEMORY, CHAIN, FLAGS, DIRECTION, LENGTH = range(1, 6)  # faults
INPUTS = (
    *("set_valid", "bell_valid", "open_valid", "buffer_ready", "close", "probe_queue"),
    *("m_axi_arready", "m_axi_rvalid", "m_axi_awready", "m_axi_wready", "m_axi_bvalid"),
)


@dataclass
class Read:
    """A burst under way: its beats as they were when it was asked for."""

    id: int
    address: int
    due: int
    early: list[bytes]
    beat: int = 0


@dataclass
class Bus:
    """Memory behind the block. Reads of different IDs are answered in any order and interleaved, and each descriptor
    of a beat is as it was when the read was asked for, or as it is when the beat goes; writes take effect between data
    and answer. Every access is shown to the driver of the function's queues (`owner`)."""

    dut: Any
    memory: Memory
    owner: Callable[[int, int], Driver | None]
    stalls: Callable[[], Stalls] = never
    latency: Callable[[int], int] = lambda _: 1  # by function
    bad: Callable[[int], int] = lambda _: OKAY  # by address of a beat or write
    reads: int = 0
    writes: list[tuple[int, int]] = field(default_factory=list)  # address, value
    most: int = 0

    async def run(self) -> None:
        """Serve for ever."""
        parts = [self._reads(), self._writes()]
        edge = RisingEdge(self.dut.clk)
        for part in parts:
            next(part)
        while True:
            await edge
            for part in parts:
                next(part)

    def _reads(self) -> Iterable[None]:
        dut, size = self.dut, len(self.dut.m_axi_wstrb)
        asks, gives = self.stalls(), self.stalls()
        open_reads: list[Read] = []
        cycle = 0
        held: tuple[int, ...] | None = None
        while True:
            cycle += 1
            ready = not next(asks)
            dut.m_axi_arready.value = int(ready)
            first: dict[int, Read] = {}
            for read in open_reads:
                first.setdefault(read.id, read)
            due = [read for read in first.values() if read.due <= cycle]
            if due and not next(gives):
                read = random.choice(due)
                late = self.memory.read(read.address + read.beat * size, size)
                lanes = [
                    (late, read.early[read.beat])[random.getrandbits(1)][at : at + 16] for at in range(0, size, 16)
                ]
                response = self.bad(read.address + read.beat * size)
                data = b"".join(lanes) if response == OKAY else random.randbytes(size)
                read.beat += 1
                last = read.beat == len(read.early)
                if last:
                    open_reads.remove(read)
                dut.m_axi_rvalid.value = 1
                dut.m_axi_rid.value = read.id
                dut.m_axi_rdata.value = int.from_bytes(data, "little")
                dut.m_axi_rresp.value = response
                dut.m_axi_rlast.value = int(last)
            else:
                dut.m_axi_rvalid.value = 0
                dut.m_axi_rid.value = random.getrandbits(4)
                dut.m_axi_rlast.value = random.getrandbits(1)
            yield
            assert dut.m_axi_rready.value and dut.m_axi_bready.value
            if not dut.m_axi_arvalid.value:
                assert held is None
                continue
            word = tuple(int(getattr(dut, f"m_axi_ar{name}").value) for name in ("id", "addr", "len", "user"))
            assert held in (None, word)
            held = None if ready else word
            if ready:
                number, address, length, user = word
                beats = length + 1
                assert (
                    address % size == 0
                    and beats * size <= 512
                    and address // PAGE == (address + beats * size - 1) // PAGE
                )
                assert (1 << int(dut.m_axi_arsize.value), int(dut.m_axi_arburst.value)) == (size, 1)
                driver = self.owner(user, address)
                assert driver, f"a read of {address:#x} as function {user}"
                driver.device_reads(address, beats * size)
                early = [self.memory.read(address + beat * size, size) for beat in range(beats)]
                due_at = cycle + self.latency(user)
                assert all(read.id != number for read in open_reads), "an ID is used twice"
                assert all(read.address >> 32 != address >> 32 for read in open_reads), "two fetches of a queue"
                open_reads.append(Read(number, address, due_at, early))
                self.reads += 1
                self.most = max(self.most, len(open_reads))

    def _writes(self) -> Iterable[None]:
        dut, size = self.dut, len(self.dut.m_axi_wstrb)
        stalls = [self.stalls() for _ in range(3)]
        addresses: deque[tuple[int, ...]] = deque()
        data: deque[tuple[int, int]] = deque()
        answers: list[tuple[int, int, int, bytes, int]] = []  # cycle, ID, address, data, when it takes effect
        cycle = 0
        while True:
            cycle += 1
            ready, data_ready = not next(stalls[0]), not next(stalls[1])
            dut.m_axi_awready.value, dut.m_axi_wready.value = int(ready), int(data_ready)
            for answer in answers:
                if answer[4] == cycle and self.bad(answer[2]) == OKAY:
                    self.memory.write(answer[2], answer[3])
            due = [answer for answer in answers if answer[0] <= cycle]
            dut.m_axi_bvalid.value = 0
            if due and not next(stalls[2]):
                answer = random.choice(due)
                answers.remove(answer)
                dut.m_axi_bvalid.value = 1
                dut.m_axi_bid.value = answer[1]
                dut.m_axi_bresp.value = self.bad(answer[2])
            yield
            if ready and dut.m_axi_awvalid.value:
                addresses.append(tuple(int(getattr(dut, f"m_axi_aw{name}").value) for name in ("id", "addr", "user")))
                assert dut.m_axi_awlen.value == 0 and 1 << int(dut.m_axi_awsize.value) == size
            if data_ready and dut.m_axi_wvalid.value:
                assert dut.m_axi_wlast.value
                data.append((int(dut.m_axi_wdata.value), int(dut.m_axi_wstrb.value)))
            while addresses and data:
                number, address, user = addresses.popleft()
                value, lanes = data.popleft()
                offset = (lanes & -lanes).bit_length() - 1
                assert address % size == 0 and lanes == 3 << offset
                word = value.to_bytes(size, "little")[offset : offset + 2]
                driver = self.owner(user, address + offset)
                assert driver, f"a write to {address + offset:#x} as function {user}"
                driver.device_writes(address + offset, word)
                self.writes.append((address + offset, int.from_bytes(word, "little")))
                assert all(answer[1] != number for answer in answers), "an ID is used twice"
                end = cycle + 1 + self.latency(user)
                answers.append((end, number, address + offset, word, random.randint(cycle + 1, end)))


@dataclass
class Queue:
    """A queue: its driver, and the buffers that must come."""

    number: int
    driver: Driver
    tables: int
    due: deque[tuple[Buffer, Chain, bool]] = field(default_factory=deque)
    taken: list[Chain] = field(default_factory=list)  # not used yet
    arrived: int = 0
    fault: int = 0
    used_at: tuple[int, int] = (0, 1)


class Bench:
    """The block, drivers, and a consumer that visits queues as the contract says."""

    def __init__(self, dut: Any, sizes: Callable[[int], int] = lambda _: 64, **bus: Any) -> None:
        self.dut = dut
        self.count, self.pairs, self.first = (int(getattr(dut, name).value) for name in ("QUEUES", "PAIRS", "FIRST"))
        self.writable = bool(int(dut.WRITABLE.value))
        self.memory = Memory()
        self.bus = Bus(dut, self.memory, self.owner, **bus)
        self.queues = [self.queue(number, sizes(number)) for number in range(self.count)]
        self.bells: deque[int] = deque()
        self.rings = 0
        self.fresh: set[int] = set()
        self.stalls: Callable[[], Stalls] = never
        self.visits: Callable[[], int] = lambda: 1 << 30  # most buffers of a visit
        self.total = 0
        self.recycle = True
        self.visiting: int | None = None

    def queue(self, number: int, size: int, aligned: bool = False) -> Queue:
        """A queue with its own part of memory; ``aligned``: it begins where a burst may."""
        base = (number + 1) << 32
        driver = Driver(
            self.memory,
            size,
            ring=base + (0 if aligned else 16 * random.randrange(256)),
            driver=base + 0x2000_0000,
            device=base + 0x2000_0000 + 4 * random.randint(1, 40),
            index=0 if aligned else random.randrange(size),
            wrap=random.getrandbits(1),
            presets=True,
            slack=len(self.dut.m_axi_wstrb),
            in_order=True,
            random=random.Random(number),
        )
        queue = Queue(number, driver, base + 0x4000_0000)
        queue.used_at = (driver.index, driver.wrap)
        return queue

    def owner(self, user: int, address: int) -> Driver | None:
        number = (address >> 32) - 1
        right = number < self.count and user == self.first + number // self.pairs
        return self.queues[number].driver if right else None

    async def start(self) -> None:
        Clock(self.dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in INPUTS:
            getattr(self.dut, name).value = 0
        self.dut.rst.value = 1
        await cycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), 100)
        cocotb.start_soon(self.bus.run())
        cocotb.start_soon(self._bells())
        cocotb.start_soon(self._listen())

    async def set(self, queue: Queue, enabled: bool = True, indirect: bool = True) -> None:
        """As control does."""
        dut, driver = self.dut, queue.driver
        index, wrap = queue.used_at
        for name, value in {
            "queue": queue.number,
            "enabled": int(enabled),
            "indirect": int(indirect),
            "start": index | wrap << 15,
            "size": driver.size,
            "ring": driver.ring,
            "driver": driver.driver,
            "device": driver.device,
        }.items():
            getattr(dut, f"set_{name}").value = value
        dut.set_valid.value = 1
        await RisingEdge(dut.clk)
        dut.set_valid.value = 0
        await cycles(dut.clk, 4)

    async def stop(self, queue: Queue) -> None:
        """As control does: no new chain, and then nothing of the queue for 64 cycles."""
        dut = self.dut
        await self.set(queue, enabled=False)
        dut.probe_queue.value = queue.number
        await cycles(dut.clk, 5)
        quiet = waited = 0
        while quiet < 64:
            await RisingEdge(dut.clk)
            others = self.visiting != queue.number and not queue.taken
            quiet = quiet + 1 if dut.probe_quiet.value and others else 0
            waited += 1
            assert waited < 20_000, "never quiet"

    async def _bells(self) -> None:
        while True:
            self.dut.bell_valid.value = int(bool(self.bells))
            if self.bells:
                self.dut.bell_queue.value = self.bells.popleft()
                self.rings += 1
            await RisingEdge(self.dut.clk)

    async def _listen(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            if self.dut.fresh_valid.value:
                self.fresh.add(int(self.dut.fresh_queue.value))

    # -------------------------------------------------------------------------------------------------- drivers
    def buffers(self, count: int) -> list[Buffer]:
        lengths = (0, 1, random.randint(1, 4096), LONGEST, LONGEST + 1, (1 << 32) - 1)
        return [Buffer(random.getrandbits(64), random.choice(lengths), self.writable) for _ in range(count)]

    def chain(self, queue: Queue, longest: int = 9, tables: float = 0.3) -> tuple[list[Buffer], int | None]:
        if random.random() < tables:
            queue.tables += 16 * random.randrange(1, 500)
            table = (
                queue.tables if random.random() < 0.5 else -(-queue.tables // PAGE) * PAGE - 16 * random.randint(1, 4)
            )
            count = random.randint(1, min(queue.driver.size, 40))
            queue.tables = table + 16 * count
            return self.buffers(count), table
        return self.buffers(random.randint(1, min(longest, queue.driver.size))), None

    def ring(self, queue: Queue) -> None:
        if queue.driver.notify():
            self.bells.append(queue.number)

    def expect(self, queue: Queue, chain: Chain) -> None:
        for buffer in chain.buffers:
            queue.due.append((buffer, chain, buffer is chain.buffers[-1]))

    async def produce(self, queue: Queue, count: int, pause: Callable[[], int], **kind: Any) -> None:
        """Make chains available, some write by write, and ring when the device asks for it."""
        for _ in range(count):
            buffers, table = self.chain(queue, **kind)
            slots = 1 if table is not None else len(buffers)
            while not queue.driver.room(slots):
                self.ring(queue)
                await RisingEdge(self.dut.clk)
                queue.driver.used()
            slowly = random.random() < 0.3
            steps = queue.driver.steps(buffers, table)
            chain = next(steps)
            self.expect(queue, chain)
            for _ in steps:
                if slowly:
                    await cycles(self.dut.clk, random.randint(0, 12))
            if random.random() < 0.7:
                self.ring(queue)
            if wait := pause():
                self.ring(queue)
                await cycles(self.dut.clk, wait)
        self.ring(queue)

    def use(self, queue: Queue) -> None:
        """As the device would: the oldest chain that was taken becomes used."""
        chain = queue.taken.pop(0)
        index, wrap = queue.used_at
        element = ELEMENT.pack(0, chain.id, (AVAIL | USED) if wrap else 0)
        address = queue.driver.place(index) + 8
        queue.driver.device_writes(address, element)
        self.memory.write(address, element)
        queue.used_at = queue.driver.after(index, wrap, chain.slots)

    # ------------------------------------------------------------------------------------------------- consumer
    async def consume(self) -> None:
        """Visit queues with fresh buffers, and those that were left with some, for ever."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        stalls = self.stalls()
        while True:
            while not self.fresh:
                await edge
            number = random.choice(sorted(self.fresh))
            self.fresh.discard(number)
            queue = self.queues[number]
            dut.open_valid.value, dut.open_queue.value = 1, number
            await edge
            while not dut.open_ready.value:
                await edge
            dut.open_valid.value = 0
            self.visiting = number
            most, taken, waited = self.visits(), 0, 0
            over = False
            while not over:
                ready = not next(stalls) and taken < most
                dut.buffer_ready.value = int(ready)
                # Some visits end in the cycle of their last buffer, or before they have had one.
                over = (taken == most - 1 and ready and random.random() < 0.5) or taken >= most
                over = over or random.random() < 0.001
                dut.close.value = int(over)
                await edge
                valid, none = bool(dut.buffer_valid.value), bool(dut.buffer_none.value)
                assert not (valid and none)
                waited = 0 if valid or none else waited + 1
                assert waited <= 6, "neither a buffer nor none"
                if valid and ready:
                    taken += 1
                    self.take(queue)
                if over and not (none and not valid):
                    self.fresh.add(number)
                if none and not over and random.random() < 0.5:
                    dut.close.value = 1
                    dut.buffer_ready.value = 0
                    await edge
                    if dut.buffer_valid.value:
                        self.fresh.add(number)
                    over = True
            dut.close.value = 0
            dut.buffer_ready.value = 0
            self.visiting = None

    def take(self, queue: Queue) -> None:
        dut = self.dut
        addr, length, last, failed = (
            int(getattr(dut, f"buffer_{name}").value) for name in ("addr", "bytes", "last", "failed")
        )
        assert not queue.fault, "a buffer after a failed one"
        if failed:
            queue.fault = length
            return
        buffer, chain, final = queue.due.popleft()
        assert (addr, length, last) == (buffer.address, min(buffer.length, LONGEST), final), queue.number
        self.total += 1
        if final:
            assert (int(dut.buffer_id.value), int(dut.buffer_slots.value)) == (chain.id, chain.slots)
            queue.taken.append(chain)
            queue.arrived += 1
            if self.recycle:
                cocotb.start_soon(self._use_later(queue))

    async def _use_later(self, queue: Queue) -> None:
        await cycles(self.dut.clk, random.randint(1, 40))
        self.use(queue)

    async def all_taken(self, limit: int = 60_000) -> None:
        """Until every buffer has come and the block rests; drivers are asked to notify again then."""
        await until(self.dut.clk, lambda: not any(queue.due for queue in self.queues), limit)
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), 8000)
        for queue in self.queues:
            place, flags = EVENT.unpack(self.memory.read(queue.driver.device, 4))
            assert (place, flags) == (0, ENABLE)


def latencies(low: int, high: int) -> Callable[[int], int]:
    return lambda _: random.randint(low, high)


@behaviour()
@cocotb.parametrize(
    (
        ("memory", "stalls"),
        together([(never, 1, 1), (seldom, 1, 30), (mostly, 1, 60), (bursts, 100, 300)], [never, bursts]),
    )
)
async def every_buffer_comes_once_and_in_order(dut: Any, memory: Any, stalls: Any) -> None:
    pattern, low, high = memory
    bench = Bench(
        dut,
        lambda number: (
            (1, 64, 5, 8, 2, 256, 3, 17, 1000, 16, 33, 7)[number % 12] if number else random.choice((1, 7, 64))
        ),
        stalls=pattern,
        latency=latencies(low, high),
    )
    bench.stalls = stalls
    bench.visits = lambda: random.choice((1, 2, 5, 20, 100))
    await bench.start()
    cocotb.start_soon(bench.consume())
    pauses: list[Callable[[], int]] = [
        lambda: 0,
        lambda: random.choice((0, 0, 0, 300)),
        lambda: random.randint(0, 100),
        lambda: random.randint(0, 2000),
    ]
    count = max(15, 80 // bench.count)
    jobs = []
    for queue in random.sample(bench.queues, bench.count):
        await bench.set(queue)
        jobs.append(cocotb.start_soon(bench.produce(queue, count, random.choice(pauses))))
    for job in jobs:
        await job
    await bench.all_taken()
    assert all(queue.arrived == count for queue in bench.queues)


@behaviour()
async def a_queue_that_rests_is_not_polled_and_no_doorbell_is_lost(dut: Any) -> None:
    bench = Bench(dut, stalls=seldom, latency=latencies(1, 40))
    await bench.start()
    cocotb.start_soon(bench.consume())
    for queue in bench.queues:
        await bench.set(queue)
    await bench.all_taken()
    reads = bench.bus.reads
    await cycles(dut.clk, 500)
    assert bench.bus.reads == reads and dut.idle.value
    for _ in range(60):
        queue = random.choice(bench.queues)
        await bench.produce(queue, 1, lambda: 0)
        await cycles(dut.clk, random.randint(0, 120))
    await bench.all_taken()


@behaviour()
async def a_busy_driver_need_not_notify(dut: Any) -> None:
    bench = Bench(dut, latency=latencies(20, 40))
    await bench.start()
    cocotb.start_soon(bench.consume())
    queue = bench.queues[-1]
    await bench.set(queue)
    await bench.produce(queue, 200, lambda: random.randint(0, 20), tables=0.0, longest=1)
    await bench.all_taken()
    assert bench.rings <= 20
    assert {value for _, value in bench.bus.writes} == {ENABLE, DISABLE}


@behaviour()
async def slow_and_stuck_functions_hold_up_no_other(dut: Any) -> None:
    if int(dut.QUEUES.value) == 1:
        return
    slow = int(dut.FIRST.value)
    pairs = int(dut.PAIRS.value)
    if (int(dut.QUEUES.value) - 1) // pairs == 0:
        return
    bench = Bench(dut, latency=lambda user: 25_000 if user == slow else random.randint(1, 30))
    await bench.start()
    cocotb.start_soon(bench.consume())
    for queue in bench.queues:
        await bench.set(queue)
    others = bench.queues[pairs:]
    for queue in bench.queues[:pairs]:
        cocotb.start_soon(bench.produce(queue, 5, lambda: 0))
        bench.bells.extend([queue.number] * 2000)
    jobs = [cocotb.start_soon(bench.produce(queue, 20, lambda: 0)) for queue in others]
    for job in jobs:
        await job
    await until(dut.clk, lambda: not any(queue.due for queue in others), 12_000)
    assert all(queue.arrived == 0 for queue in bench.queues[:pairs])


@behaviour()
@cocotb.parametrize(stalls=[never, seldom])
async def a_stopped_queue_ends_its_chain_and_begins_again_where_it_is_told(dut: Any, stalls: Any) -> None:
    bench = Bench(dut, stalls=stalls, latency=latencies(1, 50))
    bench.visits = lambda: random.choice((1, 3, 10))
    bench.stalls = bursts
    await bench.start()
    cocotb.start_soon(bench.consume())
    for queue in bench.queues:
        await bench.set(queue)
    count = max(10, 90 // bench.count)
    jobs = [cocotb.start_soon(bench.produce(queue, count, lambda: random.randint(0, 90))) for queue in bench.queues]
    for _ in range(8):
        await cycles(dut.clk, random.randint(0, 600))
        queue = random.choice(bench.queues)
        await bench.stop(queue)
        # No chain is half taken, and the chains of before, which are not taken, come again.
        if queue.due:
            assert queue.due[0][0] is queue.due[0][1].buffers[0]
        arrived = queue.arrived
        await cycles(dut.clk, random.randint(1, 300))
        assert queue.arrived == arrived
        await bench.set(queue)
    for job in jobs:
        await job
    await bench.all_taken()
    assert all(queue.arrived == count for queue in bench.queues)


Writes = list[tuple[int, bytes]]


def faults(bench: Bench, queue: Queue) -> dict[str, tuple[int, Writes]]:
    """What a driver must not do: the fault, and the descriptors from the ring's next place on."""
    driver = queue.driver
    way = WRITE if bench.writable else 0
    table = queue.tables + 0x100_0000
    # As many as the ring has, each with NEXT: the driver's marks change with the wrap counter.
    loop, long_table = [], []
    index, wrap = driver.index, driver.wrap
    for _ in range(driver.size):
        mark = driver.marks(wrap)
        loop.append((driver.place(index), DESCRIPTOR.pack(0x1000, 64, 0, NEXT | way | mark)))
        index, wrap = driver.after(index, wrap, 1)
    mark, place = driver.marks(driver.wrap), driver.place(driver.index)

    def one(length: int, flags: int, address: int = table) -> Writes:
        return [(place, DESCRIPTOR.pack(address, length, 0, flags | mark))]

    def entry(flags: int) -> Writes:
        return [(table, DESCRIPTOR.pack(0x1000, 64, 0, flags)), *one(16, INDIRECT)]

    long_table = one(16 * (driver.size + 1), INDIRECT)
    found = {
        "a chain longer than the ring": (CHAIN, loop),
        "a table longer than the ring": (CHAIN, long_table),
        "a table and more": (FLAGS, one(16, INDIRECT | NEXT)),
        "a table within a table": (FLAGS, entry(INDIRECT | way)),
        "the wrong way": (DIRECTION, one(64, way ^ WRITE)),
        "an empty table": (LENGTH, one(0, INDIRECT)),
        "a table and a half": (LENGTH, one(24, INDIRECT)),
        "a table at an odd place": (LENGTH, one(16, INDIRECT, table + 8)),
        "a table in a chain": (
            FLAGS,
            [
                *one(64, NEXT | way),
                (
                    driver.place(driver.after(driver.index, driver.wrap, 1)[0]),
                    DESCRIPTOR.pack(
                        table, 16, 0, INDIRECT | driver.marks(driver.after(driver.index, driver.wrap, 1)[1])
                    ),
                ),
            ],
        ),
        "an indirect table that was not agreed upon": (FLAGS, one(16, INDIRECT)),
    }
    if bench.writable:  # the other way round, DPDK does it
        found["the wrong way in a table"] = (DIRECTION, entry(0))
    return found


class Anything(Driver):
    """A driver of whom nothing is expected: the device may read all of its memory."""

    def device_reads(self, address: int, count: int) -> None:
        pass


@behaviour()
async def what_cannot_be_stops_its_queue_alone(dut: Any) -> None:
    bench = Bench(dut, lambda _: 12, latency=latencies(1, 30))
    await bench.start()
    cocotb.start_soon(bench.consume())
    names = list(faults(bench, bench.queues[0]))
    for round_, name in enumerate(names):
        await bench.stop(bench.queues[round_ % bench.count])
        bad = bench.queue(round_ % bench.count, 12)
        bench.queues[bad.number] = bad
        bad.driver.__class__ = Anything
        agreed = "not agreed" not in name
        others = [queue for queue in bench.queues if queue is not bad]
        for queue in bench.queues if round_ == 0 else [bad]:
            await bench.set(queue, indirect=agreed or queue is not bad)
        good = random.randint(0, 5)
        for _ in range(good):
            bench.expect(bad, bad.driver.add(bench.buffers(1)))
        bench.bells.append(bad.number)
        await until(dut.clk, lambda bad=bad, good=good: bad.arrived == good and not bad.taken, 4000)
        fault, writes = faults(bench, bad)[name]
        for address, data in reversed(writes):
            bench.memory.write(address, data)
        # Buffers of the chain that fails may come before.
        bad.due.extend([(Buffer(0x1000, 64), None, False)] * 12 if "longer than the ring" in name else [])
        if name == "a table in a chain":
            bad.due.append((Buffer(int.from_bytes(writes[0][1][:8], "little"), 64), None, False))
        bench.bells.append(bad.number)
        some = random.sample(others, min(len(others), 4))
        jobs = [cocotb.start_soon(bench.produce(queue, 5, lambda: 0)) for queue in some]
        await until(dut.clk, lambda bad=bad: bad.fault != 0, 20_000)
        assert (bad.fault, bad.arrived) == (fault, good), name
        for job in jobs:
            await job
        await until(dut.clk, lambda others=others: not any(queue.due for queue in others), 20_000)
        reads = bench.bus.reads
        bad.due.clear()
        await until(dut.clk, lambda: bool(dut.idle.value), 4000)
        reads = bench.bus.reads
        bench.bells.append(bad.number)
        await cycles(dut.clk, 200)
        assert bench.bus.reads == reads, "a queue that failed is read"
        await bench.stop(bad)
        bench.queues[bad.number] = bench.queue(bad.number, 12)
        await bench.set(bench.queues[bad.number])


@behaviour()
@cocotb.parametrize(kind=["ring", "table", "flags"], response=[SLVERR, DECERR])
async def an_error_of_memory_stops_its_queue_alone(dut: Any, kind: str, response: int) -> None:
    bad_range: list[range] = [range(0)]
    bench = Bench(dut, latency=latencies(1, 30), bad=lambda at: response if at in bad_range[0] else OKAY)
    await bench.start()
    cocotb.start_soon(bench.consume())
    bad = random.choice(bench.queues)
    driver = bad.driver
    size = len(dut.m_axi_wstrb)
    if kind == "ring":
        bad_range[0] = range(driver.ring // size * size, driver.place(driver.size))
    elif kind == "flags":
        bad_range[0] = range(driver.device, driver.device + 4)
    for queue in bench.queues:
        await bench.set(queue)
    others = [queue for queue in bench.queues if queue is not bad]
    jobs = [cocotb.start_soon(bench.produce(queue, 10, lambda: 0)) for queue in others]
    if kind == "table":
        bench.expect(bad, driver.add(bench.buffers(3)))
        table = bad.tables + 0x1000
        bad_range[0] = range(table // size * size, table + 16)
        driver.add(bench.buffers(1), table)
        bench.bells.append(bad.number)
    await until(dut.clk, lambda: bad.fault != 0, 20_000)
    assert bad.fault == MEMORY and bad.arrived == (kind == "table")
    for job in jobs:
        await job
    await until(dut.clk, lambda: not any(queue.due for queue in others), 20_000)


@behaviour()
@cocotb.parametrize(every=[True, False], longest=[1, 2])
async def rates(dut: Any, every: bool, longest: int) -> None:
    """With 250 cycles of latency: two descriptors a packet and 6.25 cycles a packet are 0.32 descriptors a cycle."""
    bench = Bench(dut, lambda _: 256, latency=lambda _: 250)
    bench.recycle = False
    bench.queues = [bench.queue(number, 256, aligned=True) for number in range(bench.count)]
    await bench.start()
    cocotb.start_soon(bench.consume())
    queues = bench.queues if every else bench.queues[:1]
    for queue in queues:
        while queue.driver.room(longest):
            bench.expect(queue, queue.driver.add(bench.buffers(longest)))
    for queue in queues:
        await bench.set(queue)
    # The first look waits for a write; it, and for some queues the second one, is for half as many.
    burst = int(dut.BURST.value)
    await until(dut.clk, lambda: bench.total > burst * len(queues), 4_000 + 400 * len(queues))
    begun, count = bench.total, 0
    while any(queue.due for queue in queues):
        await RisingEdge(dut.clk)
        count += 1
        assert count < 100_000
    rate = (bench.total - begun) / count
    dut._log.info("%d queues, chains of %d: %.3f descriptors a cycle", len(queues), longest, rate)
    # A look takes 250 cycles, one each descriptor of all queues, and 40 beside. With chains every other look finds
    # all of a burst. Many queues have the block busy all the time.
    least = burst * len(queues) / (290 + burst * len(queues)) / longest
    if len(queues) >= 16:
        least = 0.6 if longest == 1 else 0.35
    assert rate >= least


@behaviour()
async def a_turn_takes_two_cycles(dut: Any) -> None:
    """Doorbells of queues that have nothing to fetch: that of each is a turn."""
    bench = Bench(dut)
    await bench.start()
    bench.bells.extend(range(bench.count))
    await until(dut.clk, lambda: not dut.idle.value, 10)
    count = 0
    while not dut.idle.value:
        await RisingEdge(dut.clk)
        count += 1
        assert count < 2 * bench.count + 10
    assert not bench.bells
