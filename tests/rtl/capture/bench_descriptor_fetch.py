"""What the fetching of descriptors promises: each slot is used once, in order, as the host filled it."""

import itertools
import random
from collections import Counter, deque
from dataclasses import replace
from typing import Any

import cocotb
from capture.host import Memory, start
from capture.packets import MAX_CAPTURED, Packet
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PATTERNS, Stalls, behaviour, bursts, cycles, mostly, never, seldom, until

SLOT = 16


class Bench:
    """The block, its ring in a memory that is read a run of words at a time, and a taker of packets."""

    def __init__(
        self, dut: Any, log2: int, stalls: Any, latency: int, sink_stalls: Stalls, snaplen: int = MAX_CAPTURED
    ) -> None:
        self.dut = dut
        self.memory = Memory()
        self.size = len(dut.word) // 8
        self.slots = 1 << log2
        self.log2 = log2
        self.base = random.getrandbits(64 - 20) << 20
        self.stalls = stalls
        self.latency = latency
        self.snaplen = snaplen
        self.sink_stalls = sink_stalls
        self.taken: list[tuple[Packet, int, int]] = []  # with its address and the time at which it was taken
        self.head = self.noisy = 0
        self.bad: int | None = None  # a slot that can't be read, from its bad_from-th read on
        self.bad_from = 0
        self.times_read: Counter[int] = Counter()  # words, by their address
        self.now = 1 << 60
        self.reads: list[tuple[int, int]] = []  # slot, slots

    async def start(self) -> "Bench":
        dut = self.dut
        dut.ring_base.value, dut.ring_log2.value, dut.snaplen.value = self.base, self.log2, self.snaplen
        await start(dut, "enable", "head", "read_ready", "word_valid", "arrived", "arrived_error", "packet_ready")
        for part in (self.serve(), self.take()):
            cocotb.start_soon(part)
        await cycles(dut.clk, 3)
        assert dut.idle.value
        dut.enable.value = 1
        return self

    async def take(self) -> None:
        """The clock, and packets as they are taken: one that waits without a time of its own carries the clock."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            dut.time_ns.value = self.now
            dut.packet_ready.value = not next(self.sink_stalls)
            await edge
            if dut.packet_valid.value and dut.packet_ready.value:
                self.taken.append((Packet.unpack(dut.packet), int(dut.packet_addr.value), self.now))
            self.now += 1

    async def serve(self) -> None:
        """Answer reads: whole words, at a time of the memory's choice."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        stalls = self.stalls()
        while True:
            dut.read_ready.value = 0
            while next(stalls):
                await edge
            dut.read_ready.value = 1
            await edge
            while not dut.read_valid.value:
                await edge
            dut.read_ready.value = 0
            address, count = int(dut.read_addr.value), int(dut.read_bytes.value)
            offset = address - self.base
            assert 0 < count <= SLOT * int(dut.SLOTS.value) and count % SLOT == address % SLOT == 0
            assert offset >= 0 and offset + count <= SLOT * self.slots, "a read beyond the ring"
            self.reads.append((offset // SLOT, count // SLOT))
            await cycles(dut.clk, self.latency)
            words = range(address // self.size * self.size, address + count, self.size)
            failed = False
            for word in words:
                while next(stalls):
                    await edge
                slots = range((word - self.base) // SLOT, (word - self.base) // SLOT + max(self.size // SLOT, 1))
                bad = self.bad in slots and self.times_read[word] >= self.bad_from
                failed |= bad
                self.times_read[word] += 1
                data = random.randbytes(self.size) if bad else self.memory.read(word, self.size)
                dut.word_valid.value = 1
                dut.word.value = int.from_bytes(data, "little")
                dut.arrived.value = int(word == words[-1])
                dut.arrived_error.value = int(failed)
                await edge
                dut.word_valid.value = dut.arrived.value = 0

    async def post(self, slots: list[bytes], pauses: Stalls) -> None:
        """Fill slots as there is room; slots that are used up are filled with noise as soon as tail says so."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        queue = deque(slots)
        while queue:
            tail = int(dut.tail.value)
            for used in range(self.noisy, tail):
                self.memory.write(self.base + used % self.slots * SLOT, random.randbytes(SLOT))
            self.noisy = tail
            room = self.slots - (self.head - tail)
            assert 0 <= room <= self.slots, "tail ran past head"
            for _ in range(min(room, len(queue), random.randint(1, self.slots))):
                self.memory.write(self.base + self.head % self.slots * SLOT, queue.popleft())
                self.head += 1
            dut.head.value = self.head
            await edge
            while next(pauses):
                await edge

    async def finish(self) -> None:
        """Wait until all slots are used up."""
        dut = self.dut
        await until(dut.clk, lambda: int(dut.tail.value) == self.head and bool(dut.idle.value), 20_000)
        await cycles(dut.clk, 5)
        assert dut.idle.value and not dut.packet_valid.value


Named = tuple[Packet, int, bool]  # a packet, its address, and whether a slot told its time


def slots_for(count: int, snaplen: int = MAX_CAPTURED, timed: float = 0.4) -> tuple[list[bytes], list[Named]]:
    """Slots of packets, and the packets; with a share of `timed` their times are told."""
    share, slots, named = timed, [], []
    for _ in range(count):
        address, wire_len, time = random.getrandbits(64), random.getrandbits(32), random.getrandbits(64)
        length = random.choice((0, 1, 60, 65535, 65536, MAX_CAPTURED, random.getrandbits(17)))
        has_time = random.random() < share
        if has_time:
            slots.append(time.to_bytes(8, "little") + (1 << 31).to_bytes(8, "little"))
        slots.append(address.to_bytes(8, "little") + length.to_bytes(4, "little") + wire_len.to_bytes(4, "little"))
        captured = min(length, snaplen)
        named.append((Packet(captured, wire_len, time, int(captured == 0), 1), address, has_time))
    return slots, named


def check(bench: Bench, named: list[Named]) -> None:
    """These packets were taken, with the times of their slots or of the moment."""
    assert len(bench.taken) == len(named)
    for (packet, address, now), (expected, where, timed) in zip(bench.taken, named, strict=True):
        assert address == where
        if not timed:
            assert 0 <= now - packet.time_ns < 2000, "stamped in the future or long ago"
        assert packet == (expected if timed else replace(expected, time_ns=packet.time_ns))


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, bursts], pauses=PATTERNS)
async def every_slot_is_used_once_and_in_order(dut: Any, stalls: Any, pauses: Any) -> None:
    snaplen = random.choice((MAX_CAPTURED, 100, 0))
    bench = Bench(dut, random.randint(2, 7), stalls, random.randint(1, 12), pauses(), snaplen)
    await bench.start()
    slots, named = slots_for(80, snaplen)
    await bench.post(slots, pauses())
    await bench.finish()
    check(bench, named)


@behaviour()
async def one_slot_at_a_time_from_any_place_of_a_word(dut: Any) -> None:
    """A wide word holds slots that the host has not filled yet: they are fetched again once they are."""
    bench = await Bench(dut, 3, never, 3, never()).start()
    slots, named = slots_for(30)
    for slot in slots:
        await bench.post([slot], never())
        await cycles(dut.clk, random.choice((1, 2, 5, 30)))
    await bench.finish()
    check(bench, named)


@behaviour()
async def slots_are_fetched_ahead_but_no_more_than_it_holds(dut: Any) -> None:
    bench = await Bench(dut, 10, never, 3, iter([True] * 300 + [False] * 10**6)).start()
    slots, named = slots_for(200)
    await bench.post(slots, never())
    await cycles(dut.clk, 60)
    held = int(dut.SLOTS.value)
    fetched = sum(count for _, count in bench.reads)
    assert held // 2 <= fetched <= held + 1
    await bench.finish()
    check(bench, named)


@behaviour()
async def a_slot_that_cannot_be_read_stops_it_until_a_reset(dut: Any) -> None:
    bench = await Bench(dut, 5, seldom, 3, never()).start()
    slots, named = slots_for(12)
    bench.bad = 9
    await bench.post(slots, never())
    await until(dut.clk, lambda: bool(dut.error.value), 2000)
    await cycles(dut.clk, 100)
    reads = len(bench.reads)
    stopped = int(dut.tail.value)
    assert stopped <= 9 and dut.idle.value
    await bench.post(slots[:2], never())
    await cycles(dut.clk, 100)
    assert int(dut.tail.value) == stopped and len(bench.reads) == reads
    check(bench, named[: len(bench.taken)])
    dut.rst.value = 1
    dut.head.value = 0
    await cycles(dut.clk, 2)
    dut.rst.value = 0
    bench.head = bench.noisy = 0
    bench.bad = None
    bench.taken.clear()
    slots, named = slots_for(20)
    await bench.post(slots, never())
    await bench.finish()
    assert not dut.error.value
    check(bench, named)


@behaviour()
async def slots_that_are_held_outlive_a_failed_read_of_their_word(dut: Any) -> None:
    """A wide word is read again for the slots that were filled since; what came with the first read is good."""
    bench = await Bench(dut, 5, never, 3, itertools.repeat(True)).start()
    word_slots = max(bench.size // SLOT, 1)
    held = max(word_slots // 2, 1)
    slots, named = slots_for(held + word_slots, timed=0)
    await bench.post(slots[:held], never())
    await until(dut.clk, lambda: sum(count for _, count in bench.reads) == held, 100)
    await cycles(dut.clk, 20)
    bench.bad, bench.bad_from = held, int(word_slots > 1)
    if int(dut.SLOTS.value) == 2 * word_slots:  # it fetches nothing while it holds slots
        bench.sink_stalls = never()
    await bench.post(slots[held:], never())
    await until(dut.clk, lambda: bool(dut.error.value), 200)
    bench.sink_stalls = never()
    await cycles(dut.clk, 50)
    assert dut.idle.value and int(dut.tail.value) == held
    check(bench, named[:held])


@behaviour()
async def disabled_it_holds_the_slots_that_it_has_fetched(dut: Any) -> None:
    bench = await Bench(dut, 6, never, 3, itertools.repeat(True)).start()
    slots, named = slots_for(40)
    await bench.post(slots, never())
    await cycles(dut.clk, 60)
    assert sum(count for _, count in bench.reads) >= int(dut.SLOTS.value) // 2
    dut.enable.value = 0
    await cycles(dut.clk, 3)
    bench.sink_stalls = never()
    await cycles(dut.clk, 60)
    assert dut.idle.value and not dut.packet_valid.value
    assert len(bench.taken) <= 1, "only the packet that was on offer already may leave"
    dut.enable.value = 1
    await bench.finish()
    check(bench, named)


@behaviour()
async def disabled_it_fetches_nothing(dut: Any) -> None:
    bench = await Bench(dut, 4, never, 3, never()).start()
    dut.enable.value = 0
    slots, named = slots_for(6)
    await bench.post(slots, never())
    await cycles(dut.clk, 50)
    assert not bench.reads and dut.idle.value
    dut.enable.value = 1
    await bench.finish()
    check(bench, named)


@behaviour()
async def many_laps_of_a_small_ring(dut: Any) -> None:
    bench = await Bench(dut, 2, mostly, 1, seldom()).start()
    slots, named = slots_for(150)
    await bench.post(slots, never())
    await bench.finish()
    check(bench, named)
