"""The capture engine between a host and the wire, and the pcap records that should be in its ring."""

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import cocotb
from capture.host import OKAY, PAGE, Host, start
from capture.packets import HEADER_BYTES, MAX_CAPTURED, SECOND, Packet, record
from cocotb.triggers import RisingEdge

from headrace.testing.streams import Stalls, cycles, never, until

INPUTS = ("enable", "wait_for_room", "consumer", "descriptor_head", "s_axis_tvalid", "m_axis_tready")
NS_A_CYCLE = 7
SLOT = 16


@dataclass
class Expected:
    """A packet that was handed to the engine. `time_ns` None: the engine stamps it; it was posted at `since_ns`."""

    data: bytes
    wire_len: int
    time_ns: int | None
    since_ns: int
    source: str  # memory or wire
    number: int


@dataclass
class Counts:
    """Events of the engine, summed up."""

    packet: int = 0
    read_error: int = 0
    record: int = 0
    record_bytes: int = 0
    ring_full: int = 0
    too_long: int = 0
    after_error: int = 0

    def add(self, events: int) -> None:
        """Add what events_t says of a cycle."""
        self.packet += events >> 38 & 1
        self.read_error += events >> 37 & 1
        self.record += events >> 36 & 1
        self.record_bytes += events >> 4 & 0xFFFFFFFF
        self.ring_full += events >> 3 & 1
        self.too_long += events >> 2 & 1
        self.after_error += events & 3

    @property
    def dropped(self) -> int:
        return self.read_error + self.ring_full + self.too_long + self.after_error


@dataclass
class Engine:
    """The engine with its rings in a host's memory.

    What comes into the ring is compared at once, and again when it is consumed.

    consumer_lag  bytes that the host leaves in the ring at most, asked for anew each cycle; None: it does not look
    """

    dut: Any
    ring_log2: int = 12
    descriptor_log2: int = 4
    stalls: Callable[[], Stalls] = never
    latency: Callable[[], int] = lambda: 5
    snaplen: int = MAX_CAPTURED
    wait_for_room: bool = True
    consumer_lag: Callable[[], int | None] = lambda: 0
    expected: dict[int, Expected] = field(default_factory=dict)  # by wire_len, which no two packets share
    came: list[Expected] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    frames: int = 0
    bad_words: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        dut = self.dut
        self.size = len(dut.m_axi_wstrb)
        self.read_snaplen = MAX_CAPTURED if dut.FILTERED.value else self.snaplen  # packets reach the filters whole
        self.ring_size = 1 << self.ring_log2
        self.ring_base = random.getrandbits(64 - self.ring_log2) << self.ring_log2
        self.slots = 1 << self.descriptor_log2
        self.descriptor_base = random.getrandbits(63) // PAGE * PAGE // (SLOT * self.slots) * (SLOT * self.slots)
        self.place = random.getrandbits(40) << 12  # where the next packet lies
        self.host = Host(dut=dut, stalls=self.stalls, latency=self.latency)
        self.host.bad_read = lambda word: self.bad_words.get(word, OKAY)
        self.host.bad_write = self.write_answer
        self.now = random.randrange(1 << 30) * SECOND
        self.producer = self.consumer = self.head = self.noisy = 0
        self.to_come: deque[Expected] = deque()  # in the ring, not yet consumed
        self.seen = bytearray()
        self.numbers = {"memory": 0, "wire": 0}
        self.unread: deque[tuple[int, int]] = deque()  # where packets of memory lie that the engine has not read
        self.returned = 0  # packets of memory that came out as frames and were dealt with

    def write_answer(self, word: int) -> int:
        """The response to a write of this word; it must be in the ring."""
        assert 0 <= word - self.ring_base < self.ring_size, "a write outside of the ring"
        return self.bad_words.get(word, OKAY)

    async def start(self) -> "Engine":
        """Reset the engine, set it up and enable it."""
        dut = self.dut
        dut.ring_base.value = self.ring_base
        dut.ring_log2.value = self.ring_log2
        dut.descriptor_base.value = self.descriptor_base
        dut.descriptor_log2.value = self.descriptor_log2
        dut.snaplen.value = self.snaplen
        dut.time_ns.value = self.now
        await start(dut, *INPUTS)
        dut.wait_for_room.value = self.wait_for_room
        cocotb.start_soon(self.host.run())
        cocotb.start_soon(self._watch())
        await cycles(dut.clk, 3)
        assert dut.idle.value
        dut.enable.value = 1
        return self

    async def restart(self) -> None:
        """Back to the start, as the driver does it: while the engine is idle. All that was before is forgotten."""
        dut = self.dut
        assert dut.idle.value
        dut.rst.value = 1
        dut.consumer.value = dut.descriptor_head.value = 0
        await cycles(dut.clk, 2)
        dut.rst.value = 0
        self.producer = self.consumer = self.head = self.noisy = 0
        self.seen.clear()
        self.to_come.clear()
        self.bad_words.clear()
        self.host.write_bursts.clear()
        self.expected.clear()
        self.unread.clear()
        self.came.clear()
        self.numbers = {"memory": 0, "wire": 0}
        self.frames = 0
        self.counts = Counts()
        await cycles(dut.clk, 4)

    # ------------------------------------------------------------------------------------------------------ packets
    def expect(self, data: bytes, time_ns: int | None, source: str) -> Expected:
        """Note a packet; its wire_len tells it from all others."""
        wire_len = random.getrandbits(32)
        while wire_len in self.expected:
            wire_len = random.getrandbits(32)
        made = Expected(data, wire_len, time_ns, self.now, source, self.numbers[source])
        self.numbers[source] += 1
        self.expected[wire_len] = made
        return made

    def put(self, length: int, bad: int = OKAY, stamped: bool | None = None) -> list[bytes]:
        """Put a packet into memory; the slots that name it. With `bad`, some word of it can't be read."""
        self.place += random.choice((0, 1, random.randrange(80), PAGE - self.place % PAGE))
        if bad:
            self.place += -self.place % 64
        address, data = self.place, random.randbytes(length)
        self.host.write(address, data)
        self.unread.append((address, length))
        self.place += length
        if bad:
            words = range(address // self.size * self.size, address + min(length, self.read_snaplen), self.size)
            self.bad_words[random.choice(words)] = bad
            self.place += -self.place % 64
        if stamped is None:
            stamped = random.random() < 0.6
        time_ns = random.randrange(1 << 32) * SECOND // 50 * 50 + random.randrange(50) if stamped else None
        if time_ns is not None and random.random() < 0.7:
            time_ns = self.now // SECOND * SECOND + random.randrange(SECOND)
        made = self.expect(data[: self.read_snaplen], time_ns, "memory")
        slots = []
        if time_ns is not None:
            slots.append(time_ns.to_bytes(8, "little") + (1 << 31).to_bytes(4, "little") + bytes(4))
        slots.append(address.to_bytes(8, "little") + length.to_bytes(4, "little") + made.wire_len.to_bytes(4, "little"))
        return slots

    async def post(self, slots: list[bytes], pauses: Stalls | None = None) -> None:
        """Hand slots over as there is room, several or one by one; what is used up is overwritten with noise first."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        queue = deque(slots)
        while queue:
            tail = int(dut.descriptor_tail.value)
            for used in range(self.noisy, tail):
                self.host.write(self.slot(used), random.randbytes(SLOT))
            self.noisy = tail
            room = self.slots - (self.head - tail)
            assert 0 <= room <= self.slots
            for _ in range(min(room, len(queue), random.randint(1, self.slots))):
                self.host.write(self.slot(self.head), queue.popleft())
                self.head += 1
            dut.descriptor_head.value = self.head
            await edge
            while pauses and next(pauses):
                await edge

    def slot(self, number: int) -> int:
        """Address of a descriptor slot."""
        return self.descriptor_base + number % self.slots * SLOT

    def frame(self, length: int, captured: int, time_ns: int | None = None) -> tuple[bytes, Packet]:
        """A frame of the wire, of which `captured` bytes go into its record."""
        data = random.randbytes(length)
        time_ns = self.now if time_ns is None else time_ns
        made = self.expect(data[:captured], time_ns, "wire")
        return data, Packet(captured, made.wire_len, time_ns)

    async def send(self, frames: list[tuple[bytes, Packet]], stalls: Stalls) -> None:
        """Send frames; what is beside them counts with their first beat only."""
        for data, packet in frames:
            await self.send_frame(data, packet.pack(), stalls)

    async def send_frame(self, data: bytes, user: int, stalls: Stalls) -> None:
        """Send one frame."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        self.frames += 1
        for offset in range(0, max(len(data), 1), self.size):
            while next(stalls):
                dut.s_axis_tvalid.value = 0
                await edge
            part = data[offset : offset + self.size]
            part += random.randbytes(self.size - len(part))
            dut.s_axis_tdata.value = int.from_bytes(part, "little")
            dut.s_axis_tlast.value = int(offset + self.size >= len(data))
            dut.s_axis_tuser.value = random.getrandbits(115) if offset else user
            dut.s_axis_tvalid.value = 1
            await edge
            while not dut.s_axis_tready.value:
                await edge
        dut.s_axis_tvalid.value = 0

    async def filter(self, keeps: Callable[[Expected], bool], stalls: Stalls, sending: Stalls) -> None:
        """With FILTERED: take the packets of memory, check them, and send back those that were read and are wanted."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        data = b""
        while True:
            ready = not next(stalls)
            dut.m_axis_tready.value = ready
            await edge
            if not (ready and dut.m_axis_tvalid.value):
                continue
            lanes = int(dut.m_axis_tkeep.value)
            count = lanes.bit_count()
            assert lanes == (1 << count) - 1
            data += int(dut.m_axis_tdata.value).to_bytes(self.size, "little")[:count]
            if not dut.m_axis_tlast.value:
                assert count == self.size
                continue
            packet = Packet.unpack(dut.m_axis_tuser)
            found = self.expected[packet.wire_len]
            assert packet.memory and bool(packet.empty) == (not found.data)
            assert packet.len == len(data) == len(found.data)
            if not dut.m_axis_error.value:
                assert data == found.data
                if keeps(found):
                    dut.m_axis_tready.value = 0
                    length = min(packet.len, self.snaplen)
                    found.data = data[:length]
                    await self.send_frame(data, Packet(length, packet.wire_len, packet.time_ns).pack(), sending)
                else:
                    del self.expected[packet.wire_len]
            data = b""
            self.returned += 1

    # --------------------------------------------------------------------------------------------------------- ring
    async def _watch(self) -> None:
        """The card's clock, the events, and the host's look into the ring."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            await edge
            self.now += NS_A_CYCLE
            dut.time_ns.value = self.now
            if dut.rst.value:
                continue
            self.counts.add(int(dut.events.value))
            assert self.in_flight >= 0, "more records and drops than packets"
            self._reuse(int(dut.packets_read.value))
            producer = int(dut.producer.value)
            new = producer - self.producer
            assert new >= 0 and producer - self.consumer <= self.ring_size, "more in the ring than it holds"
            if new:
                self._take(self.read(self.producer, new))
                self.producer = producer
            lag = self.consumer_lag()
            while lag is not None and self.to_come and self.producer - self.consumer > lag:
                self._consume(self.to_come.popleft())
            dut.consumer.value = self.consumer

    @property
    def in_flight(self) -> int:
        """Packets that have come in and are neither records nor dropped, nor filtered out."""
        counts = self.counts
        memory = counts.read_error if self.dut.FILTERED.value else counts.packet
        return memory + self.frames - counts.record - counts.dropped

    def _reuse(self, packets_read: int) -> None:
        """The host uses the memory of packets again as soon as it may."""
        while len(self.unread) > self.numbers["memory"] - packets_read:
            address, length = self.unread.popleft()
            self.host.write(address, random.randbytes(length))

    def read(self, position: int, count: int) -> bytes:
        """Bytes of the ring from a byte count on."""
        start = position % self.ring_size
        first = min(count, self.ring_size - start)
        return self.host.read(self.ring_base + start, first) + self.host.read(self.ring_base, count - first)

    def _take(self, data: bytes) -> None:
        """Compare records that have come into the ring."""
        while data:
            wire_len = int.from_bytes(data[12:16], "little")
            found = self.expected.get(wire_len)
            assert found, "a record of no packet"
            assert found not in self.came, "a record came twice"
            if found.time_ns is None:
                seconds, nanoseconds = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4))
                assert nanoseconds < SECOND
                found.time_ns = seconds * SECOND + nanoseconds
                assert found.since_ns <= found.time_ns <= self.now, "stamped before it was posted or in the future"
            earlier = [other.number for other in self.came[-40:] if other.source == found.source]
            assert not earlier or earlier[-1] < found.number, "packets overtook each other"
            whole = record(found.time_ns, found.data, found.wire_len)
            assert data[: len(whole)] == whole
            data = data[len(whole) :]
            self.came.append(found)
            self.to_come.append(found)

    def _consume(self, oldest: Expected) -> None:
        """Take the oldest record out of the ring; nobody has touched it."""
        whole = record(oldest.time_ns or 0, oldest.data, oldest.wire_len)
        assert self.read(self.consumer, len(whole)) == whole, "a record changed in the ring"
        self.consumer += len(whole)

    async def finish(self, limit: int = 60_000) -> None:
        """Wait until the engine has nothing to do, then check that every packet became a record or was counted."""
        dut = self.dut
        quiet = 0

        def idle() -> bool:
            nonlocal quiet
            quiet = quiet + 1 if dut.idle.value and int(dut.descriptor_tail.value) == self.head else 0
            return quiet > 3

        await until(dut.clk, idle, limit)
        await cycles(dut.clk, 3)
        counts = self.counts
        assert counts.record == len(self.came)
        assert counts.record_bytes == sum(HEADER_BYTES + len(packet.data) for packet in self.came)
        assert counts.packet == self.numbers["memory"] == int(dut.packets_read.value)
        assert self.in_flight == 0

    def all_came(self) -> None:
        """Every packet is in the ring's stream."""
        missing = [packet for packet in self.expected.values() if packet not in self.came]
        assert not missing


def lengths(count: int, longest: int = 300) -> Iterator[int]:
    """Packet lengths: many short ones, some of none, some long."""
    for _ in range(count):
        yield random.choice((0, 1, random.randint(1, 70), random.randint(60, 70), random.randint(1, longest)))
