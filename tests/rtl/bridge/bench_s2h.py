"""What S2H promises: a buffer's packets once, in order, byte for byte, at the network's rate, and a true message.

The model reads the buffers as software wrote them; it knows nothing of rows, slots or bursts.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import cocotb
from bridge.noc_packets import MEMORY_WORDS, Header, Packet, channel, fields, header_beats, packets_of, sizes
from capture.host import DECERR, OKAY, PAGE, SLVERR, Host, start
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from headrace.testing.streams import PAIRS, Sink, Stalls, behaviour, bursts, cycles, mostly, never, seldom, until

MOST_WORDS = 0x7FFF
MICROSECOND = 322  # cycles
LATENCY = 19  # cycles from a buffer's last word to its first beat on the network
CYCLES_A_BUFFER = 20  # that a buffer may cost beside its packets
PAGES = itertools.count(0x1234_5678_9)
INPUTS = (
    "enable post_valid post message_take m_axis_tready m_axi_arready m_axi_rvalid m_axi_rid m_axi_rresp m_axi_rlast"
)
# s2h_events_t
EVENTS = {"packet": 1, "packet_bytes": 16, "malformed": 1, "read_error": 1, "post_lost": 1}


@dataclass
class Job:
    """A buffer as software wrote it: what S2H is told, and the bytes in memory."""

    data: bytes
    words: int
    tag: int = 0
    page: int = 0
    bad: frozenset[int] = frozenset()  # addresses that can't be read, from the page's begin on

    @property
    def post(self) -> int:
        """The value of buffer_t."""
        return self.tag << 67 | self.words << 52 | self.page

    def truth(self, longest: int) -> tuple[list[Packet], bool, list[int]]:
        """The packets to be sent, whether the rest is malformed, and the byte at which each packet ends."""
        packets: list[Packet] = []
        ends: list[int] = []
        if not self.words:
            return packets, True, ends
        end = 4 * self.words
        place = 4
        for _ in range(int.from_bytes(self.data[:4], "little")):
            if place + 4 * MEMORY_WORDS > end:
                return packets, True, ends
            header, length = Header.parse_memory(self.data[place:])
            place += 4 * MEMORY_WORDS
            if not 1 <= length <= longest or place + length > end:
                return packets, True, ends
            packets.append(Packet(header, self.data[place : place + length]))
            place += (length + 3) // 4 * 4
            ends.append(place)
        return packets, False, ends


def job(packets: list[Packet], count: int | None = None, cut: int = 0, behind: int = 0) -> Job:
    """A buffer of these packets.

    count   what it says of their number, default the truth
    cut     words that its end is too early
    behind  words after the last packet
    """
    body = b"".join(packet.memory() for packet in packets) + random.randbytes(4 * behind)
    data = (len(packets) if count is None else count).to_bytes(4, "little") + body
    words = len(data) // 4 - cut
    assert 0 <= words <= MOST_WORDS
    return Job(data, words)


def some_packets(count: int, longest: int) -> list[Packet]:
    """Packets of all sizes, short ones more often."""
    lengths = sizes(longest)
    return [Packet(Header.random(), random.randbytes(next(lengths))) for _ in range(count)]


def always() -> bool:
    """Messages are taken as they come."""
    return True


@dataclass
class Setup:
    """S2H between software with its memory and a network on chip."""

    dut: Any
    jobs: list[Job]
    stalls: Callable[[], Stalls] = never
    sink_stalls: Stalls = field(default_factory=never)
    takes: Callable[[], bool] = always
    latency: Callable[[], int] = lambda: random.randint(1, 30)
    messages: list[int] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lengths: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.width = len(self.dut.m_axis_tdata)
        self.longest = int(self.dut.MAX_PACKET.value)
        self.host = Host(dut=self.dut, stalls=self.stalls, latency=self.latency, bad_read=self.bad_read)
        self.sink = Sink(channel(self.dut, "m"), self.sink_stalls)
        self.bad: dict[int, int] = {}
        for number, item in enumerate(self.jobs):
            self.place(item, number)

    def place(self, item: Job, number: int) -> None:
        """Write a buffer into memory."""
        item.tag, item.page = number % 16, next(PAGES) * 64
        self.host.write(item.page * PAGE, item.data)
        for address in item.bad:
            self.bad[item.page * PAGE + address // 4 * 4] = random.choice((SLVERR, DECERR))

    def bad_read(self, address: int) -> int:
        """The response of a beat."""
        return max(self.bad.get(address + byte, OKAY) for byte in range(0, self.width // 8, 4)) if self.bad else OKAY

    async def watch(self) -> None:
        """Take messages, note events, and see that nothing is ever refused to the host."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        posted = 0
        while True:
            take = self.takes()
            dut.message_take.value = take
            await edge
            assert dut.m_axi_rready.value
            if take and dut.message_valid.value:
                self.messages.append(int(dut.message.value))
            if self.takes is always and dut.enable.value and posted > len(self.messages):
                assert not dut.idle.value, "idle with a buffer that has no message yet"
            posted += int(dut.post_valid.value) and int(dut.post_ready.value)
            events = fields(int(dut.events.value), EVENTS)
            self.counts.update({name: events[name] for name in ("malformed", "read_error", "packet")})
            assert events["post_lost"] == (int(dut.post_valid.value) and not int(dut.post_ready.value))
            if events["packet"]:
                self.lengths.append(events["packet_bytes"])

    async def begin(self) -> None:
        """Reset, and start everything but the posts."""
        await start(self.dut, *INPUTS.split())
        cocotb.start_soon(self.host.run())
        cocotb.start_soon(self.sink.run())
        cocotb.start_soon(self.watch())
        self.dut.enable.value = 1
        await cycles(self.dut.clk, 2)

    async def post(self, jobs: list[Job], pause: Stalls | None = None) -> None:
        """Give the buffers to S2H; a post is repeated as long as it is not ready for it."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        for item in jobs:
            while pause and next(pause):
                await edge
            dut.post.value = item.post
            dut.post_valid.value = 1
            await edge
            while not dut.post_ready.value:
                await edge
            dut.post_valid.value = 0

    async def finish(self, limit: int = 200_000) -> None:
        """Wait until all messages have come, and check that everything came to its end."""
        await until(self.dut.clk, lambda: len(self.messages) >= len(self.jobs), limit)
        await cycles(self.dut.clk, 60)
        assert self.dut.idle.value
        assert not self.dut.m_axis_tvalid.value and not self.dut.message_valid.value
        self.check()

    def check(self) -> None:
        """Every packet once, in order; each message true; the bursts as few as can be."""
        sent = packets_of(self.sink.taken, self.width)
        assert len(self.messages) == len(self.jobs)
        malformed = errors = 0
        expected: list[Packet] = []
        for item, message in zip(self.jobs, self.messages, strict=True):
            packets, lies, ends = item.truth(self.longest)
            told = message >> 15 & 0x1FFF
            assert message >> 28 == item.tag, "another buffer's message"
            assert message >> 14 & 1, "a message is never 0"
            assert not message >> 2 & 0xFFF
            unreadable = any(address < 4 * item.words for address in item.bad)
            assert message & 1 == int(unreadable)
            if unreadable:
                good = sum(end <= min(item.bad) for end in ends)
                assert told <= good, "a packet was sent that could not be read"
                assert not message >> 1 & 1 or lies
                packets = packets[:told]
            else:
                assert message >> 1 & 1 == int(lies)
            malformed += message >> 1 & 1
            errors += message & 1
            assert told == len(packets)
            expected += packets
        assert sent == expected
        assert self.lengths == [len(packet.payload) for packet in expected]
        assert self.counts == Counter(packet=len(expected), malformed=malformed, read_error=errors)
        assert [(burst.address, burst.beats) for burst in self.host.read_bursts] == self.bursts()

    def bursts(self) -> list[tuple[int, int]]:
        """The fewest bursts for all buffers."""
        size, longest = self.width // 8, int(self.dut.BURST.value)
        made = []
        for item in self.jobs:
            beats = -(-4 * item.words // size)
            for first in range(0, beats, longest):
                made.append((item.page * PAGE + first * size, min(longest, beats - first)))
        return made


async def bring(setup: Setup, pause: Stalls | None = None) -> Setup:
    """Post all buffers of a setup and see all of them through."""
    await setup.begin()
    await setup.post(setup.jobs, pause)
    await setup.finish()
    return setup


@behaviour()
@cocotb.parametrize((("stalls", "sink_stalls"), PAIRS))
async def packets_of_all_sizes_come_in_order_under_any_stalls(dut: Any, stalls: Any, sink_stalls: Any) -> None:
    longest = int(dut.MAX_PACKET.value)
    count = 4 if mostly in (stalls, sink_stalls) else 9
    jobs = [
        job(some_packets(random.randint(0, 14), longest), behind=random.choice((0, 0, 1, 40))) for _ in range(count)
    ]
    await bring(Setup(dut, jobs, stalls, sink_stalls(), takes=lambda: random.random() < 0.2), bursts())


@behaviour()
async def a_short_packet_of_each_length_comes(dut: Any) -> None:
    jobs = [
        job([Packet(Header.random(), random.randbytes(length)) for length in range(1, 150)]),
        job([Packet(Header.random(), random.randbytes(1)) for _ in range(200)]),
    ]
    await bring(Setup(dut, jobs))


@behaviour()
@cocotb.parametrize(stalls=[never, seldom])
async def what_a_buffer_says_is_not_believed(dut: Any, stalls: Any) -> None:
    longest = int(dut.MAX_PACKET.value)
    jobs: list[Job] = []
    for _ in range(3):
        packets = some_packets(5, longest)
        good = job(packets)
        words = good.words
        too_long = job([*packets[:3], Packet(Header.random(), bytes(longest + 1)), packets[4]])
        empty = job([*packets[:2], Packet(Header.random(), b""), packets[3]])
        jobs += [
            job(packets, count=6),
            job(packets, count=8192),
            job(packets, count=0xFFFF_FFFF),
            job(packets, count=0x8000_0005, behind=30),
            job(packets, count=3),
            job(packets, count=0),
            job(packets, cut=1),
            job(packets, cut=len(packets[-1].memory()) // 4 - 1),
            job(packets, cut=len(packets[-1].memory()) // 4 - 3),
            job(packets, cut=words),
            job(packets, cut=words - 1),
            job(packets, cut=words - 2),
            too_long,
            empty,
            Job(random.randbytes(4 * 300), 300),
            good,
        ]
    random.shuffle(jobs)
    setup = await bring(Setup(dut, jobs, stalls, stalls()))
    assert setup.counts["malformed"] > 20


@behaviour()
async def the_longest_buffer_and_a_lie_at_its_begin(dut: Any) -> None:
    if int(dut.BUFFER_KB.value) > 16 and len(dut.m_axis_tkeep) == 4:
        return  # takes long, and shows no more
    longest = int(dut.MAX_PACKET.value)
    big: list[Packet] = []
    words = 1
    while words + 3 + (longest + 3) // 4 <= MOST_WORDS:
        big.append(Packet(Header.random(), random.randbytes(longest)))
        words += 3 + (longest + 3) // 4
    whole = job(big, behind=MOST_WORDS - words)
    early = job([Packet(Header.random(), b""), *big[1:]])
    small = [job(some_packets(8, longest)) for _ in range(6)]
    await bring(Setup(dut, [small[0], early, *small[1:3], whole, *small[3:5], job(big, count=0), small[5]]))


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, bursts])
async def what_cannot_be_read_is_not_sent(dut: Any, stalls: Any) -> None:
    longest = int(dut.MAX_PACKET.value)
    jobs = []
    for _ in range(24):
        made = job(some_packets(random.randint(1, 12), longest), behind=random.choice((0, 20)))
        kind = random.random()
        if kind < 0.6:
            made.bad = frozenset({4 * random.randrange(made.words)})
        elif kind < 0.7:
            made.bad = frozenset({0, 4 * made.words - 4})
        elif kind < 0.85:
            made = Job(bytes(4), 0)  # the error of the next one is not its own
        jobs.append(made)
    jobs.append(job(some_packets(5, longest)))
    setup = await bring(Setup(dut, jobs, stalls, stalls()))
    assert setup.counts["read_error"] > 5


@behaviour()
async def a_post_that_finds_no_room_is_ignored(dut: Any) -> None:
    room = int(dut.HOST_BUFFERS.value)
    jobs = [job(some_packets(2, 64)) for _ in range(room + 3)]
    setup = Setup(dut, jobs[:room])
    for number, item in enumerate(jobs[room:]):
        setup.place(item, number)
    await setup.begin()
    dut.enable.value = 0
    for item in jobs:
        dut.post.value = item.post
        dut.post_valid.value = 1
        await RisingEdge(dut.clk)
    dut.post_valid.value = 0
    await cycles(dut.clk, 20)
    assert not dut.post_ready.value and not setup.host.read_bursts and dut.idle.value
    dut.enable.value = 1
    await setup.finish()


@behaviour()
async def while_it_is_not_enabled_no_packet_begins(dut: Any) -> None:
    longest = int(dut.MAX_PACKET.value)
    setup = Setup(dut, [job(some_packets(20, longest)) for _ in range(6)])
    await setup.begin()
    cocotb.start_soon(setup.post(setup.jobs))
    for _ in range(12):
        await cycles(dut.clk, random.randint(1, 200))
        dut.enable.value = 0
        await cycles(dut.clk, 2)
        begun = setup.counts["packet"]
        await cycles(dut.clk, 600)
        before = len(setup.sink.taken)
        await cycles(dut.clk, 100)
        assert (begun, before) == (setup.counts["packet"], len(setup.sink.taken))
        dut.enable.value = 1
    await setup.finish()


@behaviour()
async def messages_that_are_not_taken_are_not_lost(dut: Any) -> None:
    room = int(dut.HOST_BUFFERS.value)
    taking = [False]
    setup = Setup(dut, [job(some_packets(2, 64)) for _ in range(3 * room)], takes=lambda: taking[0])
    await setup.begin()
    posting = cocotb.start_soon(setup.post(setup.jobs))
    await cycles(dut.clk, 2000 + 200 * room)
    taking[0] = True
    await posting
    await setup.finish()


@behaviour()
async def a_long_buffer_that_is_dropped_while_no_message_is_taken_spoils_no_other(dut: Any) -> None:
    room, ring = int(dut.HOST_BUFFERS.value), 256 * int(dut.BUFFER_KB.value)
    if ring > 1024:
        return  # takes long, and shows no more
    longest = int(dut.MAX_PACKET.value)
    # Lengths that leave the ring's places as they are, or nearly so.
    for words in (ring, 2 * ring, 2 * ring - 8, 2 * ring - 16, 2 * ring - 40):
        dropped = Job((1).to_bytes(4, "little") + bytes(4 * words - 4), words)
        fill = [Packet(Header.random(), random.randbytes(longest)) for _ in range(4 * ring // longest)]
        taking = [False]
        jobs = [*(job([]) for _ in range(room)), dropped, job(fill), job(fill)]
        setup = Setup(dut, jobs, takes=partial(taking.__getitem__, 0), latency=lambda: 60)
        await setup.begin()
        posting = cocotb.start_soon(setup.post(setup.jobs))
        await cycles(dut.clk, 4 * ring + 100 * room)
        taking[0] = True
        await posting
        await setup.finish()


async def rate(dut: Any, length: int, buffers: int, words: int) -> None:
    """Buffers full of packets of one length, memory 1 us away: no cycles but for the beats, and few a buffer."""
    count = (words - 1) // (MEMORY_WORDS + (length + 3) // 4)
    jobs = [job([Packet(Header.random(), random.randbytes(length)) for _ in range(count)]) for _ in range(buffers)]
    setup = Setup(dut, jobs, latency=lambda: MICROSECOND)
    await bring(setup)
    width = setup.width
    payload = -(-8 * length // width)
    times = setup.sink.times_ps
    taken = (times[-1] - times[0]) // 2000 + 1
    packets = count * buffers
    assert taken <= packets * max(payload + header_beats(width), 7) + CYCLES_A_BUFFER * buffers
    assert taken <= packets * (payload + MEMORY_WORDS + 3) + CYCLES_A_BUFFER * buffers
    if width <= 64 and length == 60:
        # 10 Gb/s at 322.27 MHz: 64 bytes with FCS, preamble 8, gap 12.
        assert taken <= packets * 84 * 8 / 10 * 0.32227


@behaviour()
@cocotb.parametrize(length=[60, 61, 200, 1514])
async def it_keeps_the_rate_with_memory_far_away(dut: Any, length: int) -> None:
    words = 4096 if length < 1514 else 8192
    if int(dut.BUFFER_KB.value) * 1024 >= 2 * MICROSECOND * len(dut.m_axis_tkeep):
        await rate(dut, min(length, int(dut.MAX_PACKET.value)), 3, words)


@behaviour()
async def a_packet_leaves_soon_after_it_has_come(dut: Any) -> None:
    setup = Setup(dut, [job(some_packets(1, 4))])
    await setup.begin()
    await setup.post(setup.jobs)
    await until(dut.clk, lambda: bool(dut.m_axi_rvalid.value and dut.m_axi_rlast.value), 1000)
    come = int(get_sim_time("ps"))
    await setup.finish()
    assert (setup.sink.times_ps[0] - come) // 2000 <= LATENCY


@behaviour()
async def a_packet_waits_for_nothing_behind_it_in_its_buffer(dut: Any) -> None:
    setup = Setup(dut, [job([Packet(Header.random(), random.randbytes(256)) for _ in range(40)])])
    await setup.begin()
    await setup.post(setup.jobs)
    come = 0
    while not setup.sink.taken:
        come += int(dut.m_axi_rvalid.value)
        await RisingEdge(dut.clk)
    assert come < setup.jobs[0].words * 32 // setup.width
    await setup.finish()


@behaviour()
async def header_beats_cost_nothing_but_themselves_inside_a_buffer(dut: Any) -> None:
    setup = Setup(dut, [job([Packet(Header.random(), random.randbytes(150)) for _ in range(40)])])
    await bring(setup)
    width = setup.width
    beats = header_beats(width) + -(-8 * 150 // width)
    ends = [time for time, word in zip(setup.sink.times_ps, setup.sink.taken, strict=True) if word[2]]
    # Memory is as fast as the network, so the last packets find everything there.
    assert (ends[-1] - ends[-11]) // 2000 == 10 * max(beats, 7)
