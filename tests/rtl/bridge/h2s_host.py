"""What lies beyond H2S: the host's memory on AXI4, software with its buffers and messages, and an eye on each event.

`Setup` keeps the books, cycle by cycle: every packet sent has one fate, accepted packets form batches, closed batches
come to host memory in order, each with one message, byte for byte. Each of the two lanes has an input of its own.
"""

import itertools
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import cocotb
from bridge.noc_packets import Header, Packet, beats, channel, fields
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, Source, Stalls, cycles, never

PAGE = 4096
NEVER = (1 << 64) - 1
REFUSED_WORDS = 0x7FFF
STEP_NS = 3  # of time_ns each cycle
REASONS = ("full", "timeout", "critical", "single", "flush")
BULK, EXPRESS = 0, 1
INPUTS = (
    "time_ns enable wait_for_room wait_limit_ns flush batching post_valid post message_take s_axis_tvalid "
    "s_express_tvalid m_axi_awready m_axi_wready m_axi_bvalid m_axi_bid m_axi_bresp"
)
FATES = ("packet", "malformed", "too_long", "no_room", "disabled")
# h2s_events_t: names and widths, the highest bits first
EVENTS = {
    "packet": 1,
    "packet_bytes": 16,
    "malformed": 1,
    "too_long": 1,
    "no_room": 1,
    "disabled": 1,
    "closed": 1,
    "closed_reason": 3,
    "write_error": 1,
    "write_error_packets": 13,
    "buffer_refused": 1,
    "post_lost": 1,
}
EVENT_BITS = sum(EVENTS.values())


@dataclass(frozen=True)
class Settings:
    """What software sets at run time; `express`: critical packets take the express lane, if there is one."""

    enable: bool = True
    wait_for_room: bool = False
    wait_limit_ns: int = 0
    express: bool = True
    single: bool = False
    bytes: int = 1 << 16
    timeout_ns: int = 0

    def drive(self, dut: Any) -> None:
        """Put them on the inputs of H2S."""
        dut.enable.value = self.enable
        dut.wait_for_room.value = self.wait_for_room
        dut.wait_limit_ns.value = self.wait_limit_ns
        dut.batching.value = self.single << 49 | self.bytes << 32 | self.timeout_ns


@dataclass(frozen=True)
class Buffer:
    """A buffer in host memory: room for `words` words of 32 bits."""

    tag: int
    page: int
    words: int

    @property
    def bits(self) -> int:
        """The value of buffer_t."""
        return self.tag << 67 | self.words << 52 | self.page


@dataclass
class Burst:
    """A burst of writes; its data reach memory with its response."""

    lane: int
    address: int
    count: int
    data: bytes = b""
    due: int = 0
    error: bool = False


@dataclass
class Batch:
    """Packets that H2S has closed together."""

    packets: list[Packet]
    words: int


@dataclass
class Lane:
    """One lane's packets and buffers, in the order in which they must come back."""

    packets: list[Packet] = field(default_factory=list)  # sent to it
    fates: list[str] = field(default_factory=list)  # of these
    end_cycles: list[int] = field(default_factory=list)  # of their last beats
    ended_ns: int = 0
    inside: bool = False  # a packet has begun to come in
    offered: bool = False  # a beat is offered
    held: int = 0  # cycles for which it hasn't been taken
    lost_posts: int = 0
    accepted: list[Packet] = field(default_factory=list)  # in the open batch
    closed: deque[Batch] = field(default_factory=deque)
    closed_count: int = 0
    posted: deque[Buffer] = field(default_factory=deque)  # whose message has not come yet
    tags: Iterator[int] = field(default_factory=itertools.count)
    memory: dict[int, bytes | None] = field(default_factory=dict)  # by a burst's address; None: failed
    arrived: list[Packet] = field(default_factory=list)
    lost: int = 0
    refused: int = 0
    messages: int = 0
    message_cycles: list[int] = field(default_factory=list)


def words_of(packet: Packet) -> int:
    """Words of 32 bits that a packet takes in memory."""
    return 3 + (len(packet.payload) + 3) // 4


@dataclass
class Setup:
    """H2S between a network on chip and a host.

    stalls    makes a pattern for each channel of AXI
    latency   cycles from a burst's last beat to its response
    errors    whether a burst fails
    room      words of the next buffer that is posted
    posts     whether software has a buffer to post in this cycle; takes: whether it takes a message
    """

    dut: Any
    packets: list[Packet]
    settings: Settings = field(default_factory=Settings)
    source_stalls: Stalls = field(default_factory=never)
    stalls: Callable[[], Stalls] = never
    latency: Callable[[], int] = lambda: 10
    errors: Callable[[], bool] = lambda: False
    room: Callable[[], int] = lambda: 0x7FFF
    posts: Callable[[], bool] = lambda: True
    takes: Callable[[], bool] = lambda: True
    tag_limit: int = 16

    def __post_init__(self) -> None:
        dut = self.dut
        self.width = len(dut.s_axis_tdata)
        self.size = self.width // 8
        self.max_packet = int(dut.MAX_PACKET.value)
        self.half = int(dut.BUFFER_KB.value) * 128  # words of half the local buffer
        self.burst = int(dut.BURST.value)
        self.has_express = int(dut.EXPRESS_KB.value) > 0
        self.lanes = [Lane(), Lane()]
        self.inputs = [
            tuple(getattr(dut, f"{side}_t{name}") for name in ("valid", "ready", "last"))
            for side in ("s_axis", "s_express")
        ]
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.now = random.getrandbits(62)
        self.number = 0  # of the cycle
        self.changes = 0  # of settings
        self.opened_ns = 0
        self.flushed = -100
        self.recent: deque[Settings] = deque([self.settings], maxlen=6)
        self.due_cycles = 0
        self.most_held = 0
        self.stopped: set[int] = set()  # lanes whose software does nothing
        self.driven: Counter[str] = Counter()  # values of inputs with a bit for each lane
        self.addresses: deque[Burst] = deque()
        self.beats: deque[tuple[int, int]] = deque()
        self.answers: list[deque[Burst]] = [deque(), deque()]
        self.offered: dict[str, tuple[int, ...]] = {}
        self.write_cycles: list[int] = []
        self.most_outstanding = 0
        self.quiet = 0

    # ------------------------------------------------------------------------------------------------------- running

    async def begin(self) -> None:
        """Reset, and start everything but the packets."""
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in INPUTS.split():
            getattr(dut, name).value = 0
        dut.rst.value = 1
        self.settings.drive(dut)
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        cocotb.start_soon(self._run())

    async def send(self) -> None:
        """Send the packets."""
        await self._send(self.packets)

    async def send_more(self, packets: list[Packet]) -> None:
        """Send others."""
        self.packets = [*self.packets, *packets]
        await self._send(packets)

    async def _send(self, packets: list[Packet]) -> None:
        """One after the other, each to the lane that the settings say when it begins."""
        clk = self.dut.clk
        bulk, express = (channel(self.dut, side, clk) for side in ("s_axis", "s_express"))
        for packet in packets:
            number = int(packet.header.critical and self.settings.express and self.has_express)
            self.lanes[number].packets.append(packet)
            await Source((bulk, express)[number], beats(packet, self.width), self.source_stalls).run()

    async def finish(self, limit: int = 50_000) -> None:
        """Wait until all is quiet, flush what is left, and check that every packet has come or has been counted."""
        await self.settle(limit)
        await self.flush()
        await self.settle(limit)
        assert not self.dut.m_axi_awvalid.value and not self.dut.m_axi_wvalid.value
        assert self.dut.wake_ns.value == NEVER
        self.check()

    async def settle(self, limit: int = 50_000) -> None:
        """Wait until H2S has been idle and no message has been left for some cycles."""
        self.quiet = 0
        for _ in range(limit):
            await RisingEdge(self.dut.clk)
            if self.quiet > 12:
                return
        raise AssertionError(f"not idle in {limit} cycles: {self.counts} of {len(self.packets)}")

    @property
    def bulk(self) -> Lane:
        """The lane of batches."""
        return self.lanes[BULK]

    @property
    def fates(self) -> list[str]:
        """Of all packets, in order in each lane."""
        return [fate for lane in self.lanes for fate in lane.fates]

    def closed_batches(self, lane: int) -> int:
        """What H2S says."""
        return int(self.dut.batches_closed.value) >> 32 * lane & 0xFFFFFFFF

    async def flush(self) -> bool:
        """One pulse; if no packet is coming in, the messages to come are known 4 cycles later. Tells whether one is."""
        dut, lane = self.dut, self.lanes[BULK]
        before = lane.closed_count + bool(lane.accepted)
        dut.flush.value = 1
        coming = lane.inside
        for _ in range(5):
            await RisingEdge(dut.clk)
            dut.flush.value = 0
            coming |= bool(dut.s_axis_tvalid.value)
        assert coming or self.closed_batches(BULK) >= before
        return coming

    def set(self, **changes: int) -> None:
        """Change settings."""
        self.settings = replace(self.settings, **changes)  # type: ignore[arg-type]
        self.changes += 1
        self.settings.drive(self.dut)

    def check(self) -> None:
        """The sum of everything: packets in = packets in messages + those lost with a write error + drops by cause."""
        assert len(self.fates) == len(self.packets)
        for number, lane in enumerate(self.lanes):
            assert not lane.accepted and not lane.closed, "packets are left"
            assert len(lane.fates) == len(lane.packets)
            assert self.closed_batches(number) == lane.closed_count
        arrived = sum(len(lane.arrived) + lane.lost for lane in self.lanes)
        assert arrived == self.counts["packet"]
        assert sum(self.counts[fate] for fate in FATES) == len(self.packets)
        assert self.counts["write_error_packets"] == sum(lane.lost for lane in self.lanes)
        assert self.counts["buffer_refused"] == sum(lane.refused for lane in self.lanes)
        assert self.counts["post_lost"] == sum(lane.lost_posts for lane in self.lanes)

    # ------------------------------------------------------------------------------------------------------ a cycle

    async def _run(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        software = [self._software(BULK)]
        if self.has_express:
            software.append(self._software(EXPRESS))
        parts = [self._addresses(), self._data(), self._responses(), *software]
        while True:
            dut.time_ns.value = self.now
            for part in parts:
                next(part)
            await edge
            for part in parts:
                next(part)
            self._events()
            self._input()
            self._idle()
            self.now += STEP_NS
            self.number += 1

    def _input(self) -> None:
        """When packets end, and that H2S doesn't hold the network up."""
        for lane, signals in zip(self.lanes, self.inputs, strict=True):
            valid, ready, last = signals
            lane.offered = bool(valid.value)
            if not lane.offered:
                lane.held = 0
            elif not ready.value:
                lane.held += 1
                self.most_held = max(self.most_held, lane.held)
                assert lane.held < 12 or self._waits(lane), "the network is held up"
            else:
                lane.held = 0
                lane.inside = not last.value
                if not lane.inside:
                    lane.ended_ns = self.now
                    lane.end_cycles.append(self.number)

    def _waits(self, lane: Lane) -> bool:
        """Whether the packet at a lane's input may wait for room."""
        if any(settings.wait_for_room and not settings.wait_limit_ns for settings in self.recent):
            return True
        limit = (max(settings.wait_limit_ns for settings in self.recent) + 1024) // STEP_NS + 12
        return lane.held < limit and any(settings.wait_for_room for settings in self.recent)

    @property
    def _steady(self) -> bool:
        """Whether the settings have been the same for some cycles."""
        return self.recent.count(self.settings) == len(self.recent)

    @property
    def end_cycles(self) -> list[int]:
        """Of the last beats of packets in the bulk lane."""
        return self.bulk.end_cycles

    def _fate(self, lane: Lane, name: str) -> Packet:
        packet = lane.packets[len(lane.fates)]
        lane.fates.append(name)
        return packet

    def _events(self) -> None:
        """One fate for each packet, in order; batches close for a reason and when there is one."""
        dut, bulk = self.dut, self.lanes[BULK]
        self.recent.append(self.settings)
        bits = int(dut.events.value)
        for number, lane in enumerate(self.lanes):
            own = bits >> number * EVENT_BITS & (1 << EVENT_BITS) - 1
            if not own:
                continue
            if own == 1:  # which is most of what is told
                self.counts["post_lost"] += 1
                continue
            events = fields(own, EVENTS)
            self.counts.update({name: events[name] for name in (*FATES, "buffer_refused", "write_error", "post_lost")})
            if events["write_error"]:
                self.counts["write_error_packets"] += events["write_error_packets"]
            if events["closed"] and lane is bulk:
                self._closed(REASONS[events["closed_reason"]])
            if events["packet"]:
                packet = self._fate(lane, "packet")
                assert 0 < len(packet.payload) <= self.max_packet
                assert events["packet_bytes"] == len(packet.payload)
                if lane is bulk and not bulk.accepted:
                    self.opened_ns = bulk.ended_ns
                lane.accepted.append(packet)
                if lane is not bulk:
                    self._close(lane)
            if events["too_long"]:
                assert len(self._fate(lane, "too_long").payload) > self.max_packet
            if events["malformed"]:
                assert not self._fate(lane, "malformed").payload
            if events["no_room"]:
                assert self._fate(lane, "no_room").payload
                assert not all(settings.wait_for_room and not settings.wait_limit_ns for settings in self.recent)
            if events["disabled"]:
                assert self._fate(lane, "disabled").payload
                assert not all(settings.enable for settings in self.recent)
        if dut.flush.value:
            self.flushed = self.number
        # A batch that is due closes soon, if no packet is coming in.
        waiting = bulk.accepted and not bulk.inside and not dut.s_axis_tvalid.value and self._steady
        if waiting and self._due(bulk.accepted):
            self.due_cycles += 1
            assert self.due_cycles < 6, "a batch isn't closed though it should be"
        else:
            self.due_cycles = 0

    def _due(self, packets: list[Packet]) -> bool:
        """Whether an open batch of these should close."""
        timeout = 0 < self.settings.timeout_ns <= self.now - self.opened_ns
        critical = any(packet.header.critical for packet in packets)
        return bool(self.settings.single or timeout or critical or self.full(packets))

    def full(self, packets: list[Packet], settings: Settings | None = None) -> bool:
        """Whether a batch of these can't take a packet of maximum size."""
        limit = min((settings or self.settings).bytes // 4, self.half)
        return sum(map(words_of, packets)) + 3 + (self.max_packet + 3) // 4 > limit

    def _closed(self, reason: str) -> None:
        lane = self.lanes[BULK]
        self.reasons[reason] += 1
        assert lane.accepted, "an empty batch is closed"
        recent = self.recent
        waited = self.now - self.opened_ns
        critical = any(packet.header.critical for packet in lane.accepted)
        assert {
            "full": any(self.full(lane.accepted, settings) for settings in recent),
            "timeout": any(0 < settings.timeout_ns <= waited for settings in recent),
            "critical": critical,
            "single": any(settings.single for settings in recent),
            "flush": self.flushed >= 0,
        }[reason], reason
        assert reason in ("critical", "single") or not critical, "a critical packet's reason goes before others"
        if not self.changes and len(lane.accepted) > 1:
            assert sum(map(words_of, lane.accepted)) <= self.settings.bytes // 4 and not self.settings.single
        self._close(lane)

    def _close(self, lane: Lane) -> None:
        words = sum(map(words_of, lane.accepted))
        assert len(lane.accepted) == 1 or words <= self.half
        lane.closed.append(Batch(lane.accepted, words))
        lane.closed_count += 1
        lane.accepted = []

    def _idle(self) -> None:
        dut = self.dut
        waiting = any(lane.closed for lane in self.lanes) or int(dut.message_valid.value)
        self.quiet = self.quiet + 1 if dut.idle.value and not waiting else 0
        if dut.idle.value:
            lane = self.lanes[BULK]
            assert not lane.closed or not lane.posted or int(dut.message_valid.value) & 1, "idle with work to do"
            if self.quiet > 3 and self._steady:
                armed = bool(lane.accepted) and self.settings.timeout_ns
                assert dut.wake_ns.value == (self.opened_ns + self.settings.timeout_ns if armed else NEVER)

    # -------------------------------------------------------------------------------------------------------- memory

    def _taken(self, name: str, ready: bool, signals: tuple[Any, ...]) -> tuple[int, ...] | None:
        """What is taken of a channel at this edge; an offer stays until it is."""
        before = self.offered.pop(name, None)
        if not getattr(self.dut, f"m_axi_{name}valid").value:
            assert before is None, f"{name}valid fell before it was taken"
            return None
        word = tuple(int(signal.value) for signal in signals)
        assert before in (None, word), f"an offer on {name} changed before it was taken"
        if ready:
            return word
        self.offered[name] = word
        return None

    def _addresses(self) -> Iterator[None]:
        dut, stalls = self.dut, self.stalls()
        signals = tuple(getattr(dut, f"m_axi_aw{name}") for name in ("id", "addr", "len", "size", "burst"))
        while True:
            ready = not next(stalls)
            dut.m_axi_awready.value = ready
            yield
            word = self._taken("aw", ready, signals)
            if word:
                identity, address, length, size, kind = word
                assert identity <= self.has_express
                assert (1 << size, kind) == (self.size, 1), "not INCR, or not as wide as the bus"
                assert address % self.size == 0 and length < self.burst
                end = address + (length + 1) * self.size
                assert address // PAGE == (end - 1) // PAGE, "a burst crosses 4 KB"
                assert any(
                    buffer.page * PAGE <= address and end <= buffer.page * PAGE + 4 * buffer.words
                    for buffer in self.lanes[identity].posted
                ), "not in a buffer that software has given"
                self.addresses.append(Burst(identity, address, length + 1))
            yield

    def _data(self) -> Iterator[None]:
        dut, stalls = self.dut, self.stalls()
        signals = (dut.m_axi_wdata, dut.m_axi_wstrb, dut.m_axi_wlast)
        while True:
            ready = not next(stalls)
            dut.m_axi_wready.value = ready
            yield
            word = self._taken("w", ready, signals)
            if word:
                data, lanes, last = word
                assert lanes == (1 << self.size) - 1
                self.beats.append((data, last))
                self.write_cycles.append(self.number)
            while self.addresses and self.beats:
                data, last = self.beats.popleft()
                burst = self.addresses[0]
                burst.data += data.to_bytes(self.size, "little")
                assert bool(last) == (len(burst.data) == burst.count * self.size), "wlast in a wrong place"
                if last:
                    burst.due = self.number + self.latency()
                    burst.error = self.errors()
                    self.answers[burst.lane].append(self.addresses.popleft())
            yield

    def _responses(self) -> Iterator[None]:
        """In order for each ID, in any order between them."""
        dut, stalls = self.dut, self.stalls()
        burst: Burst | None = None
        while True:
            ready = burst is None and [queue for queue in self.answers if queue and queue[0].due <= self.number]
            if ready and not next(stalls):
                burst = random.choice(ready)[0]
                self.lanes[burst.lane].memory[burst.address] = None if burst.error else burst.data
                dut.m_axi_bid.value = burst.lane
                dut.m_axi_bresp.value = random.choice((2, 3)) if burst.error else random.randrange(2)
            dut.m_axi_bvalid.value = burst is not None
            yield
            if burst and dut.m_axi_bready.value:
                self.answers[burst.lane].popleft()
                burst = None
                dut.m_axi_bid.value = random.randrange(2)  # which says nothing until there is a response again
                dut.m_axi_bresp.value = random.randrange(4)
            self.most_outstanding = max(self.most_outstanding, sum(map(len, self.answers)))
            yield

    # ------------------------------------------------------------------------------------------------------ software

    def _drive(self, name: str, lane: int, value: bool) -> None:
        """A lane's bit of an input."""
        if self.driven[name] >> lane & 1 != value:
            self.driven[name] ^= 1 << lane
            getattr(self.dut, name).value = self.driven[name]

    def _software(self, number: int) -> Iterator[None]:
        """Posts buffers and takes messages; `tag_limit` buffers at most are with the card. Both lanes share `post`, so
        each has its turn at it."""
        lane, dut = self.lanes[number], self.dut
        while True:
            goes_on = number not in self.stopped
            posting = goes_on and self.number % 2 == number and len(lane.posted) < self.tag_limit and self.posts()
            if posting:
                tag = next(lane.tags)
                # Far apart, at any page
                page = (number << 50) + (tag << 20) + random.getrandbits(18)
                buffer = Buffer(tag % 16, page, self.room())
                dut.post.value = buffer.bits
            self._drive("post_valid", number, posting)
            taking = goes_on and self.takes()
            self._drive("message_take", number, taking)
            yield
            if posting and int(dut.post_ready.value) >> number & 1:
                lane.posted.append(buffer)
            elif posting:
                lane.lost_posts += 1
            if taking and int(dut.message_valid.value) >> number & 1:
                bits = int(dut.message.value) >> 32 * number
                lane.message_cycles.append(self.number)
                self._message(lane, bits >> 28 & 15, bits >> 15 & 0x1FFF, bits & 0x7FFF)
            yield

    def _message(self, lane: Lane, tag: int, packets: int, words: int) -> None:
        lane.messages += 1
        buffer = lane.posted.popleft()
        assert buffer.tag == tag
        if words == REFUSED_WORDS:
            assert packets == 0
            assert -(-lane.closed[0].words * 4 // self.size) * self.size // 4 > buffer.words, "refused though it fits"
            lane.refused += 1
            return
        batch = lane.closed.popleft()
        assert words == batch.words
        size = -(-words * 4 // self.size) * self.size
        written = self._collect(lane, buffer.page * PAGE, size)
        if packets == 0:
            assert written is None, "the card speaks of a write error that there was not"
            lane.lost += len(batch.packets)
            return
        assert written is not None, "there was a write error"
        assert packets == len(batch.packets)
        place = 0
        for packet in batch.packets:
            header, length = Header.parse_memory(written[place : place + 12])
            assert (header, length) == (packet.header, len(packet.payload))
            assert written[place + 12 : place + 12 + length] == packet.payload
            place += 4 * words_of(packet)
        lane.arrived += batch.packets

    def _collect(self, lane: Lane, address: int, size: int) -> bytes | None:
        """What has been written to a buffer, without a hole; None if a burst of it failed."""
        step = self.burst * self.size
        places = range(address, address + size, step)
        assert all(place in lane.memory for place in places), "the message came before the data"
        parts = [(place, lane.memory.pop(place)) for place in places]
        if any(part is None for _, part in parts):
            return None
        assert all(len(part or b"") == min(step, address + size - place) for place, part in parts)
        return b"".join(part for _, part in parts if part)
