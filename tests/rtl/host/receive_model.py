"""What is around host_receive: senders of frames, drivers that give buffers, a host's memory, and the oracle.

The oracle knows each buffer that a driver gave and each frame that was sent, and nothing of the block. Frames carry
their number in their first bytes, so that it can tell which one a chain holds, whatever was dropped before.
"""

import itertools
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

from headrace.testing.streams import PERIOD_PS, Stalls, never

HEADER = 12
SLVERR = 2
ARENA = 1 << 20  # bytes that a queue's buffers lie in, each queue's apart from the others'
PASSED, SHORT, FULL, OFF = range(4)
INPUTS = (
    *("set_valid", "probe_queue", "s_axis_tvalid", "fresh_valid", "open_ready", "buffer_valid", "buffer_none", "room"),
    *("used_ready", "m_axi_awready", "m_axi_wready", "m_axi_bvalid", "event_ready"),
)


@dataclass
class Buffer:
    """A buffer of a chain, as fetch knows it; `chain` is its chain's place among those that the queue got."""

    addr: int
    size: int
    last: bool
    chain: int
    ident: int
    slots: int


@dataclass
class Chain:
    """A chain as a driver gave it: (address, bytes) of its buffers."""

    ident: int
    slots: int
    buffers: list[tuple[int, int]]


@dataclass
class Frame:
    """A frame that was sent to a queue."""

    queue: int
    data: bytes
    cut: bool = False
    valid_sum: bool = False


@dataclass
class Queue:
    """A queue as its driver and software see it."""

    number: int
    base: int
    enabled: bool = False
    mergeable: bool = True
    checksum: bool = False
    failed: bool = False
    known: deque[Buffer] = field(default_factory=deque)  # that fetch has
    late: deque[Buffer] = field(default_factory=deque)  # that fetch will have
    mid: bool = False  # the consumer has begun a chain, and not taken all of it
    begun: int = -1  # the chain that it began last
    chains: deque[Chain] = field(default_factory=deque)  # given, and not used
    given: int = 0
    memory: bytearray = field(default_factory=lambda: bytearray(ARENA))
    live: bytearray = field(default_factory=lambda: bytearray(ARENA))  # bytes in buffers that are the card's
    busy: list[tuple[int, int]] = field(default_factory=list)  # where bursts wrote that aren't answered
    place: int = 64
    sent: dict[int, Frame] = field(default_factory=dict)  # by number
    newest: int = -1  # number of the frame that came last
    group: list[Chain] = field(default_factory=list)  # chains of a packet of which the last is missing
    group_bytes: list[int] = field(default_factory=list)
    received: int = 0
    empty: int = 0  # packets of which nothing was written
    events: Counter[int] = field(default_factory=Counter)
    poison: int | None = None  # a fault that fetch is to tell of after the known buffers
    asked: int = 0  # frames sent that are to be counted


class Bench:
    """Everything around the block, a step a cycle."""

    def __init__(self, dut: Any, stalls: Callable[[], Stalls] = never, latency: Callable[[int], int] = lambda _: 20):
        self.dut, self.stalls, self.latency = dut, stalls, latency
        self.count = int(dut.QUEUES.value)
        self.pairs = int(dut.PAIRS.value)
        self.first = int(dut.FIRST.value)
        self.size = len(dut.m_axi_wdata) // 8
        # An arena ends short of a 4 KB page's end here and there; the upper half of the addresses is used too.
        self.queues = [
            Queue(number, (random.getrandbits(31) << 33) + (number << 24) + 4096 * random.randrange(16))
            for number in range(self.count)
        ]
        self.to_send: deque[Frame] = deque()
        self.fresh: deque[int] = deque()
        self.sets: deque[tuple[int, bool, bool, bool]] = deque()
        self.bad_write: Callable[[int, int], bool] = lambda _queue, _address: False
        self.used_wait: Callable[[], Stalls] = stalls
        self.buffer_wait: Callable[[], Stalls] = stalls
        self.input_wait: Callable[[], Stalls] = stalls
        self.fails: list[tuple[int, int]] = []
        self.cycle = 0
        self.write_beats = 0
        self.bursts = 0
        self.used_times: list[tuple[int, int]] = []  # cycle, queue
        self.not_ready = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.probe_off = 0

    # ---------------------------------------------------------------------------------------------- what tests ask for
    async def start(self) -> None:
        """Reset, and wait until the block takes frames."""
        dut = self.dut
        for name in INPUTS:
            getattr(dut, name).value = 0
        dut.rst.value = 1
        await Timer(1, "ns")  # no edge before the reset
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        for _ in range(10 + max(64, self.count)):
            await RisingEdge(dut.clk)
        assert dut.idle.value
        self.parts = [
            part()
            for part in (self._frames, self._sets, self._fetch, self._addresses_and_data, self._used, self._events)
        ]
        for part in self.parts:
            next(part)

    async def step(self, cycles: int = 1) -> None:
        """Let cycles go by."""
        edge = RisingEdge(self.dut.clk)
        for _ in range(cycles):
            await edge
            self.cycle += 1
            for part in self.parts:
                next(part)

    async def until(self, condition: Callable[[], bool], limit: int) -> None:
        """Let cycles go by until `condition` holds."""
        for _ in range(limit):
            if condition():
                return
            await self.step()
        raise AssertionError(f"did not come about in {limit} cycles: {self.state()}")

    def state(self) -> str:
        """Where each queue stands."""
        return "; ".join(
            f"{q.number}: asked {q.asked} got {q.received} events {dict(q.events)} known {len(q.known)} "
            f"chains {len(q.chains)}"
            for q in self.queues[:20]
        )

    def set(self, number: int, enabled: bool, mergeable: bool = True, checksum: bool = False) -> None:
        """Software sets a queue."""
        self.sets.append((number, enabled, mergeable, checksum))

    def send(self, number: int, size: int, cut: bool = False, valid_sum: bool | None = None) -> None:
        """Queue a frame of `size` bytes for sending: 4 at least."""
        queue = self.queues[number]
        serial = len(queue.sent)
        data = serial.to_bytes(4, "little") + random.randbytes(size - 4)
        frame = Frame(number, data, cut, random.random() < 0.5 if valid_sum is None else valid_sum)
        queue.sent[serial] = frame
        queue.asked += not cut
        self.to_send.append(frame)

    def give(self, number: int, sizes: list[int], align: int | None = None, hold: int = 0) -> None:
        """The driver makes a chain of buffers available; fetch has it at once, but for the last `hold` buffers."""
        queue = self.queues[number]
        buffers = []
        for size in sizes:
            gap = random.randrange(1, 70)
            start = queue.place + gap
            if align is not None:
                start = -(-start // 64) * 64 + align
            if start + size + 64 > ARENA:
                start = 64 + gap
            assert not any(queue.live[start : start + size]), "the arena is full"
            queue.live[start : start + size] = b"\1" * size
            queue.memory[start : start + size] = bytes([0xA5]) * size
            queue.place = start + size
            buffers.append((queue.base + start, size))
        chain = Chain(random.getrandbits(16), random.randint(1, 300), buffers)
        queue.chains.append(chain)
        queue.late.extend(
            Buffer(addr, size, n == len(buffers) - 1, queue.given, chain.ident, chain.slots)
            for n, (addr, size) in enumerate(buffers)
        )
        queue.given += 1
        self.fetched(number, len(queue.late) - hold)

    def fetched(self, number: int, count: int) -> None:
        """Fetch gets `count` more of the buffers that it lacks. Of a queue that is off it keeps a chain's rest."""
        queue = self.queues[number]
        count = min(count, len(queue.late))
        got = [queue.late.popleft() for _ in range(count)]
        queue.known.extend(b for b in got if queue.enabled or (queue.mid and b.chain == queue.begun))
        if count:
            self.fresh.append(number)

    def restart(self, number: int, mergeable: bool = True, checksum: bool = False) -> None:
        """Software enables a queue that is quiet, of which the driver has taken all buffers back."""
        queue = self.queues[number]
        assert not queue.mid
        queue.live = bytearray(ARENA)
        for row in (queue.known, queue.late, queue.chains, queue.group, queue.group_bytes):
            row.clear()
        queue.poison = None
        self.set(number, True, mergeable, checksum)

    def settled(self) -> bool:
        """All frames sent are in chains or dropped, and told of."""
        return not self.to_send and all(sum(q.events.values()) == q.asked for q in self.queues)

    def check_end(self) -> None:
        """Nothing got lost: frames sent were written or dropped, and what was written is used."""
        for queue in self.queues:
            assert queue.received == queue.events[PASSED], self.state()
            assert queue.empty == queue.events[SHORT], self.state()
            assert not queue.group
            assert not queue.busy

    # ----------------------------------------------------------------------------------------------------- the streams
    def _frames(self) -> Iterator[None]:
        dut, size = self.dut, self.size
        stalls = self.input_wait()
        yield
        while True:
            if not self.to_send:
                yield
                continue
            frame = self.to_send.popleft()
            dut.s_axis_queue.value = frame.queue
            for start in range(0, len(frame.data), size):
                while next(stalls):
                    yield
                part = frame.data[start : start + size]
                last = start + size >= len(frame.data)
                lanes = part + random.randbytes(size - len(part))
                dut.s_axis_tvalid.value = 1
                dut.s_axis_tdata.value = int.from_bytes(lanes, "little")
                dut.s_axis_tkeep.value = (1 << len(part)) - 1
                dut.s_axis_tlast.value = int(last)
                dut.s_axis_cut.value = int(frame.cut) if last else random.getrandbits(1)
                dut.s_axis_valid_sum.value = int(frame.valid_sum) if last else random.getrandbits(1)
                yield
                while not dut.s_axis_tready.value:
                    self.not_ready += 1
                    yield
                dut.s_axis_tvalid.value = 0

    def _sets(self) -> Iterator[None]:
        dut = self.dut
        while True:
            if self.sets:
                number, enabled, mergeable, checksum = self.sets.popleft()
                queue = self.queues[number]
                if enabled:
                    queue.failed = False
                    assert not queue.group
                else:
                    queue.known = deque(b for b in queue.known if queue.mid and b.chain == queue.begun)
                queue.enabled = enabled
                if enabled:
                    queue.mergeable, queue.checksum = mergeable, checksum
                dut.set_valid.value = 1
                dut.set_queue.value = number
                dut.set_enabled.value = int(enabled)
                dut.set_mergeable.value = int(queue.mergeable)
                dut.set_checksum.value = int(queue.checksum)
                yield
                dut.set_valid.value = 0
                yield
                yield
                yield
            else:
                yield

    def _fetch(self) -> Iterator[None]:
        """The consumer's side of virtq_fetch."""
        dut = self.dut
        stalls = self.buffer_wait()
        visit: Queue | None = None
        wait = 0
        shown: Buffer | None = None
        failing = told = False
        room = deque([0] * 5, 5)
        while True:
            # What is offered in the cycle that begins
            dut.fresh_valid.value = 0
            told = not told and bool(self.fresh) and not next(stalls)  # at most every other cycle
            if told:
                dut.fresh_valid.value = 1
                dut.fresh_queue.value = self.fresh.popleft()
            if visit is None:
                wait = max(wait - 1, 0)
                dut.open_ready.value = int(wait == 0)
                dut.buffer_valid.value = dut.buffer_none.value = 0
            else:
                dut.open_ready.value = 0
                wait = max(wait - 1, 0)
                if shown is None and not failing and wait == 0 and visit.known and not next(stalls):
                    shown = visit.known[0]
                if shown is not None and (not visit.known or visit.known[0] is not shown):
                    shown = None  # the queue was switched off
                failing = shown is None and wait == 0 and not visit.known and visit.poison is not None
                dut.buffer_valid.value = int(shown is not None or failing)
                dut.buffer_none.value = int(wait == 0 and not visit.known and not failing)
                dut.buffer_failed.value = int(failing)
                if failing:
                    dut.buffer_bytes.value = visit.poison
                    dut.buffer_last.value = random.getrandbits(1)
                elif shown:
                    dut.buffer_last.value = int(shown.last)
                    dut.buffer_addr.value = shown.addr
                    dut.buffer_bytes.value = min(shown.size, 131071)
                    dut.buffer_id.value = shown.ident if shown.last else random.getrandbits(16)
                    dut.buffer_slots.value = shown.slots if shown.last else random.getrandbits(16)
            dut.room.value = int(self.room(int(room[0]))) if visit is not None else random.getrandbits(1)
            yield
            room.append(int(dut.room_queue.value))
            if visit is None and dut.open_valid.value and dut.open_ready.value:
                visit = self.queues[int(dut.open_queue.value)]
                wait = 4
                shown = None
            elif visit is not None:
                if dut.buffer_valid.value and dut.buffer_ready.value:
                    if failing:
                        visit.poison = None
                        visit.mid = False
                        visit.known.clear()
                    else:
                        assert shown is visit.known.popleft()
                        visit.mid, visit.begun = not shown.last, shown.chain
                    shown = None
                if dut.close.value:
                    visit = None
                    shown = None
                    wait = random.randint(2, 3)

    def room(self, _queue: int) -> bool:
        """Whether chains of it may begin."""
        return True

    # ------------------------------------------------------------------------------------------------------ the memory
    def _addresses_and_data(self) -> Iterator[None]:
        dut, size = self.dut, self.size
        address_stalls, data_stalls, answer_stalls = self.stalls(), self.stalls(), self.stalls()
        bursts: deque[tuple[int, int, int, int]] = deque()  # id, address, beats, function
        beats: deque[tuple[int, int, int]] = deque()
        waiting: dict[int, deque[tuple[int, bool, Queue, tuple[int, int]]]] = {}
        before_a: Any = None
        before_w: Any = None
        done = begin = waited = 0  # waited: cycles for which an address has been without data
        bad = False
        while True:
            address_ready, data_ready = int(not next(address_stalls)), int(not next(data_stalls))
            dut.m_axi_awready.value, dut.m_axi_wready.value = address_ready, data_ready
            dut.m_axi_bvalid.value = 0
            dut.m_axi_bresp.value = random.getrandbits(2)
            ready = [ident for ident, row in waiting.items() if row and row[0][0] <= self.cycle]
            if ready and not next(answer_stalls):
                ident = random.choice(ready)
                _, error, queue, span = waiting[ident].popleft()
                queue.busy.remove(span)
                self.in_flight -= 1
                dut.m_axi_bvalid.value = 1
                dut.m_axi_bid.value = ident
                dut.m_axi_bresp.value = random.choice((2, 3)) if error else random.choice((0, 1))
            yield
            if dut.m_axi_awvalid.value:
                names = ("id", "addr", "len", "size", "burst", "user")
                word = tuple(int(getattr(dut, f"m_axi_aw{name}").value) for name in names)
                assert before_a in (None, word), "an address changed"
                before_a = None if address_ready else word
                if address_ready:
                    ident, address, length, width, kind, user = word
                    assert (1 << width, kind) == (size, 1)
                    assert address % size == 0
                    assert (length + 1) * size <= 512, "a burst is too long"
                    assert address // 4096 == (address + length * size) // 4096, "a burst crosses 4 KB"
                    bursts.append((ident, address, length + 1, user))
                    self.bursts += 1
                    self.in_flight += 1
                    self.most_in_flight = max(self.most_in_flight, self.in_flight)
            else:
                assert before_a is None
            if dut.m_axi_wvalid.value:
                word = tuple(int(getattr(dut, f"m_axi_w{name}").value) for name in ("data", "strb", "last"))
                assert before_w in (None, word), "data changed"
                before_w = None if data_ready else word
                if data_ready:
                    beats.append(word)
                    self.write_beats += 1
            else:
                assert before_w is None
            waits = bursts and not done and not dut.m_axi_wvalid.value and not dut.rst.value
            waited = waited + 1 if waits else 0
            assert waited < 6, "an address goes long before its data"
            while bursts and beats:
                ident, address, number, user = bursts[0]
                data, lanes, last = beats.popleft()
                assert lanes, "a beat without a byte"
                at = address + done * size
                queue = self._owner(at + (lanes & -lanes).bit_length() - 1)
                assert user == self.first + queue.number // self.pairs, "not the queue's function"
                if done == 0:
                    bad, begin = False, at + (lanes & -lanes).bit_length() - 1
                bad |= self._write(queue, at, data, lanes)
                done += 1
                assert bool(last) == (done == number), "wlast in a wrong place"
                if last:
                    span = (begin, at + lanes.bit_length())
                    queue.busy.append(span)
                    row = waiting.setdefault(ident, deque())
                    row.append((self.cycle + self.latency(queue.number), bad, queue, span))
                    bursts.popleft()
                    done = 0

    def _owner(self, address: int) -> Queue:
        for queue in self.queues:
            if queue.base <= address < queue.base + ARENA:
                return queue
        raise AssertionError(f"a write beyond all buffers: {address:#x}")

    def _write(self, queue: Queue, address: int, data: int, lanes: int) -> bool:
        first, end = (lanes & -lanes).bit_length() - 1, lanes.bit_length()
        assert lanes == (1 << end) - (1 << first), "strobes have holes"
        place = address + first - queue.base
        count = end - first
        assert queue.live[place : place + count] == b"\1" * count, f"a write beyond the buffers: {address + first:#x}"
        if self.bad_write(queue.number, address):
            return True
        queue.memory[place : place + count] = data.to_bytes(self.size, "little")[first:end]
        return False

    # -------------------------------------------------------------------------------------------------------- the used
    def _used(self) -> Iterator[None]:
        dut = self.dut
        stalls = self.used_wait()
        while True:
            dut.used_ready.value = ready = int(not next(stalls))
            yield
            if dut.fail_valid.value:
                queue = self.queues[int(dut.fail_queue.value)]
                assert not queue.failed, "told of twice"
                queue.failed = True
                self.fails.append((queue.number, int(dut.fail_fault.value)))
                queue.group, queue.group_bytes = [], []
            if dut.used_valid.value and ready:
                more, ident, slots, count = (
                    int(getattr(dut, f"used_{name}").value) for name in ("more", "id", "slots", "bytes")
                )
                self._take(self.queues[int(dut.used_queue.value)], bool(more), ident, slots, count)

    def _take(self, queue: Queue, more: bool, ident: int, slots: int, count: int) -> None:
        self.used_times.append((self.cycle, queue.number))
        assert queue.chains, "a chain that nobody gave"
        chain = queue.chains.popleft()
        assert (ident, slots) == (chain.ident, chain.slots), "not in the order of the ring"
        assert count <= sum(size for _, size in chain.buffers)
        queue.group.append(chain)
        queue.group_bytes.append(count)
        if more:
            assert queue.mergeable
            return
        for addr, size in (buffer for part in queue.group for buffer in part.buffers):
            assert not any(begin < addr + size and addr < end for begin, end in queue.busy), "used before the answer"
        data = b""
        for part, size in zip(queue.group, queue.group_bytes, strict=True):
            left = size
            for addr, length in part.buffers:
                step = min(left, length)
                place = addr - queue.base
                data += bytes(queue.memory[place : place + step])
                left -= step
            for addr, length in part.buffers:
                place = addr - queue.base
                queue.live[place : place + length] = bytes(length)
        chains = len(queue.group)
        queue.group, queue.group_bytes = [], []
        if count == 0:
            queue.empty += 1
        else:
            self._check_packet(queue, data, chains)

    def _check_packet(self, queue: Queue, data: bytes, chains: int) -> None:
        serial = int.from_bytes(data[HEADER : HEADER + 4], "little")
        assert serial in queue.sent, "a frame that nobody sent"
        assert serial > queue.newest, "frames in a wrong order"
        queue.newest = serial
        frame = queue.sent[serial]
        assert not frame.cut
        assert data[HEADER:] == frame.data, f"frame of {len(frame.data)} bytes is not what was sent"
        flags = 2 if frame.valid_sum and queue.checksum else 0
        assert data[:HEADER] == bytes([flags]) + bytes(9) + chains.to_bytes(2, "little"), data[:HEADER].hex()
        queue.received += 1

    def _events(self) -> Iterator[None]:
        dut = self.dut
        stalls = self.stalls()
        while True:
            dut.event_ready.value = ready = int(not next(stalls))
            yield
            if dut.event_valid.value and ready:
                self.queues[int(dut.event_queue.value)].events[int(dut.event_kind.value)] += 1


def chain_of(total: int, kind: str) -> list[int]:
    """Sizes of the buffers of a chain for `total` bytes or more (but for `short`: fewer)."""
    if kind == "one":
        return [total + random.choice((0, 1, random.randrange(2000)))]
    if kind == "many":
        return _split(total, random.randint(2, 256)) + [random.randrange(100) for _ in range(random.randrange(3))]
    if kind == "header":
        return [HEADER, total - HEADER + random.randrange(64)]
    if kind == "tiny":
        return [random.randrange(4) for _ in range(random.randrange(20))] + [total]
    return [random.randrange(1, max(total // 2, 2))]


def _split(total: int, pieces: int) -> list[int]:
    cuts = sorted(random.randrange(total + 1) for _ in range(pieces - 1))
    return [end - start for start, end in itertools.pairwise((0, *cuts, total))]


__all__ = ["FULL", "OFF", "PASSED", "SHORT", "Bench", "chain_of"]
