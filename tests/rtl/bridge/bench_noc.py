"""What the network on chip promises: every packet where it belongs, in order; its accounts are true in each cycle."""

import itertools
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import cocotb
from bridge.noc_packets import Header, Packet, beats, packet_of
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    PAIRS,
    Stalls,
    Word,
    behaviour,
    bursts,
    cycles,
    mostly,
    never,
    seldom,
    start,
    until,
    watch_no_path,
)

Traffic = list[list[Packet]]  # of each port
EPOCH_DELAY = 4


class Port:
    """What one block sends and takes."""

    def __init__(self, packets: list[Packet], width: int, source: Stalls, sink: Stalls) -> None:
        self.words = deque(word for packet in packets for word in beats(packet, width))
        self.order = deque(packets)
        self.source, self.sink, self.width = source, sink, width
        self.offered: Word | None = None
        self.first = True  # the next beat offered is a packet's first one
        self.waiting: Word | None = None  # at the output
        self.data = b""
        self.came: list[Packet] = []
        self.sent_at: list[int] = []  # cycles of beats
        self.came_at: list[int] = []

    def offer(self) -> None:
        if self.offered is None and self.words and not next(self.source):
            self.offered = self.words.popleft()

    def send(self, ready: bool, cycle: int) -> Packet | None:
        """After an edge: the packet that began to be offered, if one did."""
        if self.offered is None:
            return None
        begun = self.order.popleft() if self.first else None
        self.first = False
        if ready:
            self.sent_at.append(cycle)
            self.first = bool(self.offered[2])
            self.offered = None
        return begun

    def take(self, word: Word | None, ready: bool, cycle: int) -> Packet | None:
        """After an edge: the packet that has come in whole, if one has."""
        assert self.waiting in (None, word), "an offered word changed or went before it was taken"
        self.waiting = None if ready else word
        if not ready or word is None:
            return None
        self.came_at.append(cycle)
        self.data += word[0].to_bytes(self.width // 8, "little")[: word[1].bit_count()]
        if not word[2]:
            return None
        self.came.append(packet_of(self.data, self.width))
        self.data = b""
        return self.came[-1]


class Bench:
    """The network between its blocks; its accounts are compared in every cycle."""

    def __init__(
        self,
        dut: Any,
        traffic: Traffic,
        source_stalls: Callable[[], Stalls] = never,
        sink_stalls: Callable[[], Stalls] = never,
    ) -> None:
        self.dut, self.count = dut, len(dut.s_axis_tvalid)
        self.width = len(dut.s_axis_tdata) // self.count
        self.traffic = traffic
        self.ports = [Port(packets, self.width, source_stalls(), sink_stalls()) for packets in traffic]
        self.software = int(dut.SOFTWARE.value)
        self.express = Port([], self.width, never(), sink_stalls())  # only takes
        self.urgent = random.random() < 0.7  # express is high
        self.epochs: Iterator[int] = itertools.repeat(0)
        self.total: Counter[str] = Counter()

    def drive(self) -> None:
        valid = data = keep = last = ready = 0
        for n, port in enumerate(self.ports):
            port.offer()
            if port.offered:
                valid |= 1 << n
                data |= port.offered[0] << n * self.width
                keep |= port.offered[1] << n * self.width // 8
                last |= port.offered[2] << n
            ready |= (not next(port.sink)) << n
        dut = self.dut
        dut.s_axis_tvalid.value, dut.s_axis_tdata.value, dut.s_axis_tkeep.value = valid, data, keep
        dut.s_axis_tlast.value, dut.m_axis_tready.value = last, ready
        dut.express.value = self.urgent
        dut.m_express_tready.value = not next(self.express.sink)

    def express_output(self) -> Word | None:
        dut = self.dut
        if not dut.m_express_tvalid.value:
            return None
        return (int(dut.m_express_tdata.value), int(dut.m_express_tkeep.value), int(dut.m_express_tlast.value))

    def outputs(self) -> list[Word | None]:
        dut, width = self.dut, self.width
        valid = int(dut.m_axis_tvalid.value)
        if not valid:
            return [None] * self.count
        data, keep, last = (int(getattr(dut, f"m_axis_t{name}").value) for name in ("data", "keep", "last"))
        masks = ((1 << width) - 1, (1 << width // 8) - 1)
        return [
            (data >> n * width & masks[0], keep >> n * width // 8 & masks[1], last >> n & 1) if valid >> n & 1 else None
            for n in range(self.count)
        ]

    async def run(self) -> None:
        """Serve for ever."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        tags = deque([0] * EPOCH_DELAY)
        epoch_of: dict[tuple[int, int], int] = {}
        flight, lagging = [0, 0], deque([(0, 0), (0, 0)])
        told_before, expected, flying = (0, 0, 0), (0, 0), 0
        for cycle in itertools.count():
            self.drive()
            tags.append(next(self.epochs))
            dut.epoch.value = tags[-1]
            await edge
            tag = tags.popleft()
            told = (int(dut.entered.value), int(dut.delivered.value), int(dut.dropped.value))
            self.total.update(entered=told[0], delivered=told[1], dropped=told[2])
            assert told[:2] == expected, "entered and delivered"
            in_flight = int(dut.in_flight.value)
            flying += told_before[0] - told_before[1] - told_before[2]
            assert (in_flight & 0xFFFF) + (in_flight >> 16) == flying, "in_flight isn't what entered and hasn't left"
            told_before = told
            lagged = lagging.popleft()
            assert self.total["dropped"] or (in_flight & 0xFFFF, in_flight >> 16) == lagged, "in_flight of the epochs"
            s_ready, m_ready, words = int(dut.s_axis_tready.value), int(dut.m_axis_tready.value), self.outputs()
            entered = arrived = 0
            for n, port in enumerate(self.ports):
                begun = port.send(bool(s_ready >> n & 1), cycle)
                if begun:
                    entered += 1
                    flight[tag] += 1
                    epoch_of[begun.header.source, begun.header.destination] = tag
            takers = [(port, words[n], bool(m_ready >> n & 1)) for n, port in enumerate(self.ports)]
            takers.append((self.express, self.express_output(), bool(dut.m_express_tready.value)))
            for port, word, ready in takers:
                came = port.take(word, ready, cycle)
                if came:
                    arrived += 1
                    flight[epoch_of[came.header.source, came.header.destination]] -= 1
            expected = (entered, arrived)
            lagging.append((flight[0], flight[1]))

    async def start(self) -> None:
        await start(self.dut)
        cocotb.start_soon(self.run())

    async def finish(self, limit: int = 20000) -> None:
        """Wait until everything is where it goes, and compare."""
        packets = sum(map(len, self.traffic))
        await until(self.dut.clk, lambda: self.total["delivered"] + self.total["dropped"] == packets, limit)
        await cycles(self.dut.clk, 5)
        assert self.dut.idle.value and int(self.dut.in_flight.value) == 0
        sinks, dropped = int(self.dut.SINKS.value), 0
        for source, sent in enumerate(self.traffic):
            for place in range(64):
                wanted = [packet for packet in sent if packet.header.address == place]
                if place >= self.count or not sinks >> place & 1:
                    dropped += len(wanted)
                    continue
                takers = [(self.ports[place], wanted)]
                if place == self.software and self.urgent:
                    takers = [
                        (self.ports[place], [packet for packet in wanted if not packet.header.critical]),
                        (self.express, [packet for packet in wanted if packet.header.critical]),
                    ]
                for taker, expected in takers:
                    came = [packet for packet in taker.came if packet.header.source == source]
                    assert came == expected, f"from {source} to {place}"
        assert self.total["dropped"] == dropped
        came_in_all = sum(len(port.came) for port in (*self.ports, self.express))
        assert self.total["entered"] == packets and came_in_all == packets - dropped


def places(dut: Any) -> list[int]:
    """Blocks that take packets."""
    return [n for n in range(len(dut.s_axis_tvalid)) if int(dut.SINKS.value) >> n & 1]


def hardware(dut: Any) -> int:
    """A block that takes packets, and is not software."""
    return next(place for place in places(dut) if place != int(dut.SOFTWARE.value))


def packet(source: int, place: int, serial: int, size: int, level: int | None = None) -> Packet:
    """A packet that tells where it comes from, and its number there."""
    header = Header.random(switch=place >> 2, block=place & 3, source=source, destination=serial)
    return Packet(header if level is None else replace(header, level=level), random.randbytes(size))


def traffic(dut: Any, count: int, to: list[int], longest: int = 100) -> Traffic:
    """`count` packets from every port to any of `to`."""
    ports = range(len(dut.s_axis_tvalid))
    return [[packet(n, random.choice(to), i, random.randint(1, longest)) for i in range(count)] for n in ports]


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def all_to_all(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    """The epoch flips now and then."""
    bench = Bench(dut, traffic(dut, 20, places(dut)), source_stalls, sink_stalls)
    bench.epochs = (epoch for _ in itertools.count() for epoch in [random.getrandbits(1)] * random.randint(1, 60))
    await bench.start()
    await bench.finish()


@behaviour()
@cocotb.parametrize(sink_stalls=[never, bursts])
async def packets_to_no_block_are_dropped_whole_and_counted(dut: Any, sink_stalls: Any) -> None:
    bench = Bench(dut, traffic(dut, 40, list(range(64)) + places(dut) * 6), never, sink_stalls)
    bench.epochs = (epoch for _ in itertools.count() for epoch in [random.getrandbits(1)] * random.randint(1, 60))
    await bench.start()
    await bench.finish()
    assert bench.total["dropped"] > 20


@behaviour()
async def packets_of_one_beat_go_where_they_belong_too(dut: Any) -> None:
    """They are malformed, but the network needs only their first byte."""
    count = len(dut.s_axis_tvalid)
    width = len(dut.s_axis_tdata) // count
    ones, to = (1 << width // 8) - 1, places(dut)
    made = [[random.choice(to) for _ in range(30)] for _ in range(count)]
    ports = [Port([], width, never(), never()) for _ in range(count)]
    for number, port in enumerate(ports):
        serials = range(len(made[number]))
        port.words.extend(
            (n << 16 | number << 8 | place, ones, 1) for n, place in zip(serials, made[number], strict=True)
        )
    bench = Bench(dut, [])
    bench.ports, bench.urgent = ports, False
    await start(dut)
    came: list[list[Word]] = [[] for _ in range(count)]
    for cycle in range(600):
        bench.drive()
        await RisingEdge(dut.clk)
        ready, words = int(dut.s_axis_tready.value), bench.outputs()
        for n, port in enumerate(ports):
            port.first = False
            port.send(bool(ready >> n & 1), cycle)
            came[n] += [word for word in [words[n]] if word]
    assert dut.idle.value
    for place, source in itertools.product(range(count), range(count)):
        serials = [word[0] >> 16 for word in came[place] if word[0] >> 8 & 255 == source]
        assert serials == [n for n, wanted in enumerate(made[source]) if wanted == place]


@behaviour()
async def a_packet_goes_through_each_switch_in_2_cycles_one_beat_a_cycle(dut: Any) -> None:
    """From the last switch to the first one, alone."""
    ports, place = len(dut.s_axis_tvalid), hardware(dut)
    made: Traffic = [[] for _ in range(ports)]
    made[ports - 1] = [packet(ports - 1, place, 0, 300)]
    bench = Bench(dut, made)
    await bench.start()
    await bench.finish()
    sent, came = bench.ports[ports - 1].sent_at, bench.ports[place].came_at
    first = sent[0] + 2 * ports // 4
    assert came == list(range(first, first + len(sent)))


@behaviour()
async def a_stalled_block_stops_only_what_goes_there_and_no_deadlock_remains(dut: Any) -> None:
    """All sinks but one stop, one after the other, until nothing moves any more; then all go on."""
    ports = len(dut.s_axis_tvalid)
    stopped = [False] * ports
    sinks = iter(range(ports))

    def stalls() -> Stalls:
        number = next(sinks, int(dut.SOFTWARE.value))  # the last one is that of express packets
        return iter(lambda: stopped[number], None)

    bench = Bench(dut, traffic(dut, 60, places(dut), 60), never, stalls)
    await bench.start()
    for _ in range(4):
        for n in range(ports):
            stopped[n] = random.random() < 0.8
            await cycles(dut.clk, 20)
        await cycles(dut.clk, 300)
        before = bench.total["delivered"]
        stopped[:] = [False] * ports
        await cycles(dut.clk, 60)
        assert bench.total["delivered"] > before or dut.idle.value
    await bench.finish()


def stopping(dut: Any, stops: dict[str, bool], others: Callable[[], Stalls] = never) -> Callable[[], Stalls]:
    """Sinks of a Bench, which stop while `stops` says so of "hardware", or of software's "bulk" and "express"."""
    numbers = iter(range(len(dut.s_axis_tvalid) + 1))

    def stalls() -> Stalls:
        number = next(numbers)
        kind = {int(dut.SOFTWARE.value): "bulk", len(dut.s_axis_tvalid): "express"}.get(number, "hardware")
        beside = others()
        return iter(lambda: stops.get(kind) or next(beside), None)

    return stalls


def to_software(source: int, place: int, count: int, critical: int) -> list[Packet]:
    """Packets for software, critical ones or not."""
    made = [packet(source, place, serial, random.randint(1, 200)) for serial in range(count)]
    return [replace(each, header=replace(each.header, critical=critical)) for each in made]


@behaviour()
@cocotb.parametrize(stopped=[("bulk",), ("bulk", "express"), ("express",), ("hardware",)])
async def what_stops_stops_only_what_goes_there(dut: Any, stopped: tuple[str, ...]) -> None:
    """Block 0 of each switch sends to software, the last one bulk and express packets; block 1 to block 1 of the switch
    to the left, over each link. What doesn't stop has full rate: that flow, and packets to each part of software."""
    stops = dict.fromkeys(("bulk", "express", "hardware"), False)
    ports, software, size, count = len(dut.s_axis_tvalid), int(dut.SOFTWARE.value), 200, 60
    made: Traffic = [[] for _ in range(ports)]
    for n in range(0, ports, 4):
        made[n] = to_software(n, software, count, critical=0)
        made[n + 1] = [packet(n + 1, max(n - 3, 1), serial, size) for serial in range(count)]
    made[ports - 1] = to_software(ports - 1, software, count, critical=1)
    bench = Bench(dut, made, sink_stalls=stopping(dut, stops))
    bench.urgent = True
    await bench.start()
    await cycles(dut.clk, 50)
    stops.update(dict.fromkeys(stopped, True))
    beats_of_all = -(-(size * 8) // bench.width) + -(-80 // bench.width) + 1
    await cycles(dut.clk, count * beats_of_all * (ports // 4 + 1) + 100)
    first_switch = 1 if ports == 4 else 2  # flows into block 1 of switch 0
    assert (len(bench.ports[1].came) < count * first_switch) == ("hardware" in stopped)
    if (
        ports == 4 and "hardware" not in stopped
    ):  # without another flow at its output: a cycle between packets of one input
        came = bench.ports[1].came_at
        assert came[-1] - came[0] + 1 - len(came) <= count - 1
    for name, taker, sources in (("bulk", bench.ports[software], ports // 4), ("express", bench.express, 1)):
        assert (len(taker.came) < count * sources) == (name in stopped), name
    stops.update(dict.fromkeys(stopped, False))
    await bench.finish()


@behaviour()
@cocotb.parametrize(source_stalls=[never, seldom], sink_stalls=[seldom, mostly])
async def no_packet_but_those_behind_one_for_software_waits_for_it(
    dut: Any, source_stalls: Any, sink_stalls: Any
) -> None:
    """All to all, with stalls everywhere, while software never takes anything."""
    stops = {"bulk": True, "express": True}
    made = traffic(dut, 25, places(dut), 60)
    bench = Bench(dut, made, source_stalls, stopping(dut, stops, sink_stalls))
    await bench.start()

    free = itertools.chain.from_iterable(
        itertools.takewhile(lambda each: each.header.address != bench.software, packets) for packets in made
    )
    wanted = {(each.header.source, each.header.destination) for each in free}

    def done() -> bool:
        """More may have come: packets of a beat or two for software wait in the registers on their way."""
        return wanted <= {(each.header.source, each.header.destination) for port in bench.ports for each in port.came}

    await until(dut.clk, done, 20000)
    await cycles(dut.clk, 100)
    assert done() and not bench.express.came and not bench.ports[bench.software].came
    stops.update(bulk=False, express=False)
    await bench.finish()


@behaviour()
async def flows_that_share_nothing_do_not_slow_each_other(dut: Any) -> None:
    """Each block to itself: every port moves a beat in each cycle, but for one between packets."""
    ports, size = len(dut.s_axis_tvalid), 200
    made: Traffic = [[] for _ in range(ports)]
    for n in places(dut):
        made[n] = [packet(n, n, i, size) for i in range(10)]
    bench = Bench(dut, made)
    bench.urgent = False
    await bench.start()
    await bench.finish()
    for n in places(dut):
        came = bench.ports[n].came_at
        assert came[-1] - came[0] + 1 - len(came) <= 9, "more than a cycle between packets"


@behaviour()
async def packets_from_different_inputs_follow_without_a_gap(dut: Any) -> None:
    """Two or more inputs to one output: a beat in every cycle."""
    ports, place = len(dut.s_axis_tvalid), hardware(dut)
    made: Traffic = [[] for _ in range(ports)]
    for n in (0, 1):
        made[n] = [packet(n, place, i, 100, level=1) for i in range(20)]
    bench = Bench(dut, made)
    await bench.start()
    await bench.finish()
    came = bench.ports[place].came_at
    assert came[-1] - came[0] + 1 == len(came)
    sources = [found.header.source for found in bench.ports[place].came]
    assert all(a != b for a, b in itertools.pairwise(sources)), "not round robin"


@behaviour()
async def a_higher_level_goes_first(dut: Any) -> None:
    """Three blocks of a switch saturate one output; the block with the highest level is never kept waiting."""
    ports, place = len(dut.s_axis_tvalid), hardware(dut)
    made: Traffic = [[] for _ in range(ports)]
    levels = {0: 1, 1: 3, 2: 0}
    for n, level in levels.items():
        made[n] = [packet(n, place, i, 80, level) for i in range(12)]
    bench = Bench(dut, made)
    await bench.start()
    await bench.finish()
    sources = [found.header.source for found in bench.ports[place].came]
    # After each packet the next one from the same input comes a cycle too late: the next best gets its turn.
    urgent = [number for number, source in enumerate(sources) if source == 1]
    assert urgent[-1] <= 2 * 12 and all(b - a <= 2 for a, b in itertools.pairwise(urgent))
    assert max(n for n, source in enumerate(sources) if source == 0) < max(n for n, s in enumerate(sources) if s == 2)


@behaviour()
async def round_robin_shares_an_output(dut: Any) -> None:
    """Packets of all lengths from everywhere, all of one level: each input of the switch gets its share of packets."""
    ports, place = len(dut.s_axis_tvalid), hardware(dut)
    bench = Bench(dut, [[packet(n, place, i, 40, level=2) for i in range(24)] for n in range(ports)], never, mostly)
    await bench.start()
    await bench.finish(60000)
    sources = Counter(found.header.source for found in bench.ports[place].came[: 4 * 5])
    assert all(sources[n] >= 3 for n in range(4))


@behaviour()
async def ready_is_a_register(dut: Any) -> None:
    bench = Bench(dut, traffic(dut, 15, places(dut)), never, bursts)
    await bench.start()
    cocotb.start_soon(watch_no_path(dut.clk, dut.m_axis_tready, dut.s_axis_tready))
    await cycles(dut.clk, 300)


@behaviour()
async def a_packet_belongs_to_the_epoch_in_which_it_was_offered_however_long_it_waits(dut: Any) -> None:
    place = hardware(dut)
    stopped = [True]
    made: Traffic = [[] for _ in range(len(dut.s_axis_tvalid))]
    made[1] = [packet(1, place, i, 300) for i in range(2)]
    bench = Bench(dut, made, never, lambda: iter(lambda: stopped[0], None))
    flipped = [0]
    bench.epochs = iter(lambda: flipped[0], None)
    await bench.start()
    await cycles(dut.clk, 50)  # the first packet fills the way, its last beats wait outside
    assert int(dut.in_flight.value) == 1
    flipped[0] = 1
    await cycles(dut.clk, 50)
    assert int(dut.in_flight.value) == 1
    stopped[0] = False
    await until(dut.clk, lambda: int(dut.in_flight.value) == 1 << 16, 200)
    await bench.finish()
