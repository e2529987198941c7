"""What is around host_transmit: the memory of each function, virtq_fetch as its consumer sees it, and the outputs.

The oracle (`Chain.outcome`) is written from VIRTIO 1.2, 5.1.6.2 and the checksum from RFC 1071.
"""

import random
import struct
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from host.segments import ECN, segments, some_request

from headrace.testing.streams import PERIOD_PS, Stalls, cycles, never

HEADER = struct.Struct("<BBHHHHH")  # flags, gso_type, hdr_len, gso_size, csum_start, csum_offset, num_buffers
NEEDS_CSUM = 1
PAGE = 4096
BLOCK = 64  # bytes that no two buffers share
FAULT_MEMORY = 1
LONGEST_CUT = 65600  # frame that is to be cut
OPEN_LATENCY = 5  # of virtq_fetch, at most


def checksum(data: bytes) -> int:
    """The Internet checksum of RFC 1071."""
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@dataclass
class Chain:
    """A packet as its driver hands it over: bytes, and how they are cut into buffers.

    fault   0, or what the last buffer fails with
    broken  host memory answers reads of one of its bytes with an error
    """

    data: bytes
    pieces: list[tuple[int, int]]  # address, bytes
    id: int
    slots: int
    fault: int = 0
    broken: bool = False
    begun: bool = False

    def outcome(self, checksums: bool, most: int, segment: bool = False) -> list[bytes] | None:
        """What is to go out, a frame or its segments; None if it is dropped."""
        frame = bytearray(self.data[HEADER.size :])
        if not 14 <= len(frame) <= (LONGEST_CUT if segment else most):
            return None
        flags, gso, _, size, start, offset, _ = HEADER.unpack_from(self.data)
        if gso:
            return segments(bytes(frame), gso, size, most) if segment and checksums else None
        if len(frame) > most:
            return None
        if checksums and flags & NEEDS_CSUM:
            if start >= len(frame) or start + offset + 2 > len(frame):
                return None
            frame[start + offset : start + offset + 2] = struct.pack(">H", checksum(frame[start:]) or 0xFFFF)
        return [bytes(frame)]


@dataclass
class Functions:
    """Host memory: an address space for each function, in which the driver of each finds places for buffers."""

    pages: dict[tuple[int, int], bytearray] = field(default_factory=dict)
    blocks: set[tuple[int, int]] = field(default_factory=set)  # that may be read
    broken: set[tuple[int, int]] = field(default_factory=set)
    top: dict[int, int] = field(default_factory=dict)

    def place(self, function: int, data: bytes, aligned: bool = False) -> int:
        """Put `data` at an address of its own."""
        top = self.top.setdefault(function, random.getrandbits(51) << 12)
        start = (top // BLOCK + 1 + (0 if aligned else random.choice((0, 0, 1, 5)))) * BLOCK
        start += 0 if aligned else random.choice((0, random.randrange(BLOCK), BLOCK - 12))
        if not aligned and random.random() < 0.1:
            start += PAGE - start % PAGE - random.choice((0, 1, 12))
        self.top[function] = start + len(data)
        for at in range(start // BLOCK, (start + len(data) + BLOCK - 1) // BLOCK):
            self.blocks.add((function, at))
        address = start
        while data:
            page = self.pages.setdefault((function, address // PAGE), bytearray(random.randbytes(PAGE)))
            part = data[: PAGE - address % PAGE]
            page[address % PAGE : address % PAGE + len(part)] = part
            address, data = address + len(part), data[len(part) :]
        return start

    def read(self, function: int, address: int, count: int) -> tuple[bytes, bool]:
        """`count` aligned bytes, and whether the answer is an error, and the bytes noise."""
        at = range(address // BLOCK, (address + count - 1) // BLOCK + 1)
        assert all((function, block) in self.blocks for block in at), "bytes are read that are in no buffer"
        if any((function, block) in self.broken for block in at):
            return random.randbytes(count), True
        page = self.pages[function, address // PAGE]
        return bytes(page[address % PAGE : address % PAGE + count]), False


@dataclass
class Outside:
    """The ports of `dut`, all served by one coroutine.

    latency      of a read of a function, in cycles
    in_order     data come as they were asked for, burst by burst
    delay        of virtq_fetch to its first buffer
    hesitates    the share of cycles in which virtq_fetch can't say whether there will be more buffers
    room         whether a queue may begin chains that has begun so many, of all so many
    """

    dut: Any
    ar_stalls: Stalls = field(default_factory=never)
    r_stalls: Stalls = field(default_factory=never)
    out_stalls: Stalls = field(default_factory=never)
    used_stalls: Stalls = field(default_factory=never)
    latency: Callable[[int], int] = lambda _: 1
    in_order: bool = False
    delay: Callable[[], int] = lambda: OPEN_LATENCY
    hesitates: float = 0.0
    room: Callable[[int, int, int], bool] = lambda *_: True
    memory: Functions = field(default_factory=Functions)

    def __post_init__(self) -> None:
        dut = self.dut
        self.queues, self.pairs, self.first = (int(getattr(dut, name).value) for name in ("QUEUES", "PAIRS", "FIRST"))
        self.most = int(dut.MAX_FRAME.value)
        self.segment = bool(dut.SEGMENT.value)
        self.size = len(dut.m_axis_tdata) // 8
        self.cycle = 0
        self.fetched: list[deque[tuple[Chain, int]]] = [deque() for _ in range(self.queues)]  # chain, piece
        self.fresh: deque[int] = deque()
        self.sets: deque[tuple[int, int, int]] = deque()
        self.frames: list[list[bytes]] = [[] for _ in range(self.queues)]
        self.frame_cycles: list[list[int]] = [[] for _ in range(self.queues)]
        self.used: list[list[tuple[int, int]]] = [[] for _ in range(self.queues)]
        self.sent_bytes: list[list[int]] = [[] for _ in range(self.queues)]
        self.dropped: Counter[int] = Counter()
        self.fails: list[tuple[int, int]] = []
        self.beats = self.bursts = self.most_reads = 0
        self.quiet: bool = False

    def function(self, queue: int) -> int:
        """The number that is to be beside accesses of the queue."""
        return self.first + queue // self.pairs

    async def start(self) -> None:
        """Clock and reset; returns when queues may be set."""
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in ("set_valid", "fresh_valid", "open_ready", "buffer_valid", "buffer_none", "m_axi_arready"):
            getattr(dut, name).value = 0
        for name in ("m_axi_rvalid", "m_axis_tready", "used_ready", "probe_queue", "time_step", "pace_valid"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        await cycles(dut.clk, max(self.queues, int(dut.JOBS.value)) + 4)

    def give(self, queue: int, chain: Chain) -> None:
        """Let virtq_fetch have a chain's buffers."""
        self.fetched[queue].extend((chain, piece) for piece in range(len(chain.pieces)))
        self.fresh.append(queue)

    def set(self, queue: int, enabled: int, checksums: int = 1) -> None:
        """Set the queue."""
        self.sets.append((queue, enabled, checksums))

    async def pace(self, function: int, byte_time: int) -> None:
        """Set a function's rate: the time of a byte in 2**-19 ns."""
        dut = self.dut
        dut.pace_valid.value, dut.pace_function.value, dut.pace_time.value = 1, function, byte_time
        await RisingEdge(dut.clk)
        dut.pace_valid.value = 0
        await cycles(dut.clk, 32)

    async def run(self) -> None:
        """Serve for ever."""
        edge = RisingEdge(self.dut.clk)
        parts = [self._control(), self._fetch(), self._reads(), self._output(), self._ends()]
        for part in parts:
            next(part)
        while True:
            await edge
            self.cycle += 1
            for part in parts:
                next(part)

    def _control(self) -> Iterator[None]:
        dut = self.dut
        while True:
            dut.set_valid.value = int(bool(self.sets))
            if self.sets:
                dut.set_queue.value, dut.set_enabled.value, checksums = self.sets.popleft()
                dut.set_checksum.value = dut.set_segment.value = checksums
            dut.fresh_valid.value = int(bool(self.fresh))
            if self.fresh:
                dut.fresh_queue.value = self.fresh.popleft()
            yield
            self.quiet = bool(dut.probe_quiet.value)
            if dut.fail_valid.value:
                self.fails.append((int(dut.fail_queue.value), int(dut.fail_fault.value)))
            assert not (dut.packet.value and dut.dropped.value)
            if dut.packet.value:
                self.sent_bytes[int(dut.event_queue.value)].append(int(dut.event_bytes.value))
            if dut.dropped.value:
                self.dropped[int(dut.event_queue.value)] += 1
            assert not dut.m_axi_writes.value

    def _fetch(self) -> Iterator[None]:
        dut = self.dut
        queue, wait = -1, 0
        offered = False
        asked, begun = deque([0] * 4, 4), (0, 0)
        while True:
            dut.room.value = int(self.room(asked[0], *begun))
            ready = int(queue < 0 and (wait == 0 or random.random() < 0.5))
            dut.open_ready.value = ready
            there = self.fetched[queue] if queue >= 0 and wait == 0 else None
            silent = not offered and random.random() < self.hesitates
            offered = bool(there) and not silent
            if there and offered:
                chain, number = there[0]
                last = number == len(chain.pieces) - 1
                failed = bool(last and chain.fault)
                dut.buffer_failed.value = int(failed)
                dut.buffer_last.value = int(last and not failed)
                address, count = chain.pieces[number]
                dut.buffer_addr.value = address
                dut.buffer_bytes.value = chain.fault if failed else min(count, 131071)
                dut.buffer_id.value = chain.id if last else random.getrandbits(16)
                dut.buffer_slots.value = chain.slots if last else random.getrandbits(16)
            dut.buffer_valid.value = int(offered)
            dut.buffer_none.value = int(there is not None and not there and not silent)
            yield
            asked.append(int(dut.room_queue.value))
            begun = int(dut.room_begun.value), int(dut.room_begun_all.value)
            if queue >= 0:
                wait = max(0, wait - 1)
                if offered and dut.buffer_ready.value:
                    assert there
                    chain, _ = there.popleft()
                    chain.begun = True
                    offered = False
                if dut.close.value:
                    queue, offered = -1, False
            elif ready and dut.open_valid.value:
                queue, wait = int(dut.open_queue.value), self.delay()
                assert queue < self.queues

    def _reads(self) -> Iterator[None]:
        dut = self.dut
        waiting: dict[int, deque[tuple[int, int, bool, bool]]] = {}  # by ID: cycle, data, error, last
        order: deque[int] = deque()  # IDs of bursts
        offered, number = False, 0
        asked = None
        while True:
            ready = int(not next(self.ar_stalls))
            dut.m_axi_arready.value = ready
            if not offered:
                ids: list[int] = []
                if not next(self.r_stalls):
                    if self.in_order:
                        ids = [order[0]] if order and waiting[order[0]][0][0] <= self.cycle else []
                    else:
                        ids = [key for key, beats in waiting.items() if beats[0][0] <= self.cycle]
                if ids:
                    number = random.choice(ids)
                    _, data, error, last = waiting[number][0]
                    dut.m_axi_rid.value = number
                    dut.m_axi_rdata.value = data
                    dut.m_axi_rresp.value = random.choice((2, 3)) if error else 0
                    dut.m_axi_rlast.value = int(last)
                    offered = True
                dut.m_axi_rvalid.value = int(offered)
            yield
            if dut.m_axi_arvalid.value:
                names = ("arid", "araddr", "arlen", "aruser")
                word = tuple(int(getattr(dut, f"m_axi_{name}").value) for name in names)
                assert asked in (None, word), "an address changed before it was taken"
                asked = None if ready else word
                if ready:
                    key, address, length, user = word
                    beats = length + 1
                    assert int(dut.m_axi_arsize.value) == self.size.bit_length() - 1
                    assert int(dut.m_axi_arburst.value) == 1
                    assert address % self.size == 0 and beats * self.size <= 512
                    assert address // PAGE == (address + beats * self.size - 1) // PAGE
                    due = self.cycle + self.latency(user)
                    line = waiting.setdefault(key, deque())
                    for beat in range(beats):
                        data, error = self.memory.read(user, address + beat * self.size, self.size)
                        line.append((due, int.from_bytes(data, "little"), error, beat == beats - 1))
                    order.append(key)
                    self.bursts += 1
                    self.most_reads = max(self.most_reads, len(waiting))
            else:
                assert asked is None
            if offered and dut.m_axi_rready.value:
                self.beats += 1
                if waiting[number].popleft()[3] and self.in_order:
                    order.popleft()
                if not waiting[number]:
                    del waiting[number]
                offered = False

    def _output(self) -> Iterator[None]:
        dut = self.dut
        full = (1 << self.size) - 1
        frame, owner, held = b"", -1, None
        while True:
            ready = int(not next(self.out_stalls))
            dut.m_axis_tready.value = ready
            yield
            if not dut.m_axis_tvalid.value:
                assert held is None
                continue
            names = ("tdata", "tkeep", "tlast", "queue")
            word = tuple(int(getattr(dut, f"m_axis_{name}").value) for name in names)
            assert held in (None, word), "a beat changed before it was taken"
            held = None if ready else word
            if ready:
                data, keep, last, queue = word
                assert owner in (-1, queue), "frames are mixed"
                count = keep.bit_count()
                assert keep == (1 << count) - 1 and (last or keep == full)
                frame += data.to_bytes(self.size, "little")[:count]
                owner = queue
                if last:
                    self.frames[queue].append(frame)
                    self.frame_cycles[queue].append(self.cycle)
                    frame, owner = b"", -1

    def _ends(self) -> Iterator[None]:
        dut = self.dut
        held = None
        while True:
            ready = int(not next(self.used_stalls))
            dut.used_ready.value = ready
            yield
            if not dut.used_valid.value:
                assert held is None
                continue
            word = tuple(int(getattr(dut, f"used_{name}").value) for name in ("queue", "id", "slots", "bytes", "more"))
            assert held in (None, word)
            held = None if ready else word
            if ready:
                assert word[3:] == (0, 0)
                self.used[word[0]].append(word[1:3])


def cut(data: bytes, count: int) -> list[bytes]:
    """`data` in `count` pieces, some perhaps empty."""
    places = sorted(random.randrange(len(data) + 1) for _ in range(count - 1))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def header(frame: bytes) -> bytes:
    """A virtio-net header as it may come with `frame`: most of them as a driver writes it."""
    flags, gso, start, offset = random.choice((0, 0, 2, 6)), 0, random.getrandbits(16), random.getrandbits(16)
    if random.random() < 0.6 and len(frame) >= 4:
        flags |= NEEDS_CSUM
        start = random.randrange(min(len(frame) - 2, 65536))
        offset = random.randrange(min(len(frame) - 1 - start, 65536))
        wrong = random.random()
        if wrong < 0.05:
            start = min(random.choice((len(frame), len(frame) + 1, 65535)), 65535)
        elif wrong < 0.1:
            offset = min(random.choice((len(frame) - 1 - start, 65535)), 65535)
    if random.random() < 0.03:
        gso = random.choice((1, 4, 0x80))
    return HEADER.pack(
        flags, gso, random.getrandbits(16), random.getrandbits(16), start, offset, random.getrandbits(16)
    )


def some_frame(most: int) -> bytes:
    """A frame of any length from nothing to a little more than is allowed, with bytes that make sums overflow."""
    count = random.choice((random.randrange(20), 60, 64, 65, random.randrange(14, 300), random.randrange(14, 2000)))
    if random.random() < 0.05:
        count = random.choice((most - 1, most, most + 1, most + 500))
    return random.choice((random.randbytes(count), random.randbytes(count), b"\xff" * count, bytes(count)))


def some_chain(world: Outside, queue: int, data: bytes | None = None, pieces: int | None = None) -> Chain:
    """A packet in some buffers of the queue's function."""
    if data is None:
        if world.segment and random.random() < 0.3:
            longest = random.choice((6000, 6000, 6000, 6000, 6000, 65_557, LONGEST_CUT + 30))
            frame, kind, size = some_request(random, longest, world.most)
            if random.random() < 0.05:
                kind = random.choice((3, 5, ECN))  # of UDP, or of nothing
            data = HEADER.pack(1, kind, random.getrandbits(16), size, 34, 16, 0) + frame
        else:
            frame = some_frame(world.most)
            data = header(frame) + frame
        if random.random() < 0.03:
            data = data[: random.randrange(27)]
    if pieces is None:
        pieces = random.choice((1, 1, 1, 2, 2, 3, random.randrange(1, 20), random.randrange(1, 257)))
    function = world.function(queue)
    parts = [data[:12], data[12:]] if pieces == 2 and random.random() < 0.5 else cut(data, pieces)
    places = [(world.memory.place(function, part), len(part)) for part in parts]
    return Chain(data, places, random.getrandbits(16), random.randrange(1, 32769))
