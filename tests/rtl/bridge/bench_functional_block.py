"""What a functional block's slot promises: packets leave in order with the header of the table, or are counted."""

import random
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import cocotb
from bridge.noc_packets import (
    Driven,
    Entry,
    Header,
    Packet,
    beats,
    channel,
    fields,
    header_beats,
    look_up,
    packets_of,
    sizes,
    write_table,
)
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    PERIOD_PS,
    Sink,
    Source,
    Word,
    behaviour,
    bursts,
    cycles,
    mostly,
    never,
    seldom,
    start,
    until,
)

HERE = 5
NEVER = (1 << 64) - 1
EVENTS = ("received", "overflow", "malformed", "unknown", "refused", "sent")  # slot_events_t
SETTINGS = {"enable": 1, "hold": 1, "packet_ns": 32, "byte_ns_256": 32}  # slot_settings_t
KNOWN = (0x10, 0x21, 0x7777)
TABLE = [
    Entry(0x10, 0xFFFFFFFF, Header(1, 2, 3, 1, 1, 0x55, 0x1111)),
    Entry(0x20, 0xFFFFFFF0, Header(0, 2, 0, 0, 1, 0x66, 0x2222)),
    Entry(0x21, 0xFFFFFFFF, Header(0, 1)),  # never reached
    Entry(0x7777, 0x0000FFFF, Header(0, 0, 1, 1, 0, 0, 0x3333)),
]


@dataclass
class Offer:
    """Something that comes in: a packet, or beats that are none."""

    words: list[Word]
    packet: Packet | None
    checked: bool  # the CRC is good, or nobody looks


def crc(data: bytes) -> bytes:
    return data + zlib.crc32(data).to_bytes(4, "little")


def answer(packet: Packet, table: list[Entry]) -> Packet | None:
    """The packet that leaves for one that came."""
    header = look_up(table, packet.header.destination)
    if header is None:
        return None
    kept = {"level": packet.header.level, "critical": packet.header.critical, "source": packet.header.destination}
    return Packet(replace(header, **kept), packet.payload)


class Bench:
    """The block between a source and a sink."""

    def __init__(self, dut: Any, source_stalls: Any = None, sink_stalls: Any = None) -> None:
        self.dut, self.width = dut, len(dut.s_axis_tdata)
        self.longest, self.checks = int(dut.MAX_PACKET.value), int(dut.KIND.value) == 1
        self.source_stalls = source_stalls or never()
        self.sink = Sink(channel(dut, "m"), sink_stalls or never())
        self.settings = Driven(dut.settings, SETTINGS)
        self.events: Counter[str] = Counter()
        self.fates: list[str] = []  # of what came in, at its entrance
        self.now, self.step_ns = random.getrandbits(50), 3

    async def start(self, table: list[Entry]) -> None:
        dut = self.dut
        for name in ("table_write", "time_ns"):
            getattr(dut, name).value = 0
        dut.here.value = HERE
        await start(dut)
        self.settings.set(enable=1)
        await write_table(dut, HERE, table)
        cocotb.start_soon(self.watch())
        cocotb.start_soon(self.sink.run())

    async def watch(self) -> None:
        dut = self.dut
        while True:
            dut.time_ns.value = self.now
            await RisingEdge(dut.clk)
            assert dut.s_axis_tready.value, "a functional block holds the network up"
            happened = fields(int(dut.events.value), dict.fromkeys(EVENTS, 1))
            told = [name for name in EVENTS if happened[name]]
            self.events.update(told)
            if "received" in told:
                self.fates.append(next((name for name in ("overflow", "malformed") if name in told), "in"))
            else:
                assert not {"overflow", "malformed"} & {*told}
            self.now += self.step_ns

    def offer(self, size: int, destination: int, *, bad_crc: bool = False) -> Offer:
        """A packet, with a CRC if the kernel looks at it."""
        payload = random.randbytes(size)
        if self.checks and size > 4:
            payload = crc(payload[:-4])
            payload = payload[:-1] + bytes([payload[-1] ^ bad_crc])
        checked = not self.checks or (size >= 4 and payload == crc(payload[:-4]))
        packet = Packet(Header.random(destination=destination), payload)
        return Offer(beats(packet, self.width), packet if 0 < size <= self.longest else None, checked)

    def traffic(self, count: int) -> list[Offer]:
        """Packets of all kinds, malformed ones, unknown destinations."""
        offers = []
        for some_size, _ in zip(sizes(self.longest), range(count), strict=False):
            destination = random.choice((*KNOWN, 0x99)) if random.random() < 0.9 else random.getrandbits(32)
            kind = random.random()
            wrong_size = random.choice((0, self.longest + 1, self.longest + 2 * self.width))
            size = wrong_size if kind < 0.05 else some_size
            made = self.offer(size, destination, bad_crc=0.1 < kind < 0.2)
            if kind > 0.97:
                head = made.words[: random.randint(1, header_beats(self.width))]
                made = Offer([*head[:-1], (head[-1][0], head[-1][1], 1)], None, False)
            offers.append(made)
        return offers

    async def send(self, offers: list[Offer]) -> None:
        words = [word for offer in offers for word in offer.words]
        await Source(channel(self.dut, "s"), words, self.source_stalls).run()

    async def settle(self, limit: int = 30000) -> None:
        """Wait until nothing is inside, and check that what came is all counted."""
        dut = self.dut
        await cycles(dut.clk, 2)
        await until(dut.clk, lambda: bool(dut.idle.value), limit)
        await cycles(dut.clk, 5)
        assert dut.idle.value and not dut.waiting.value and int(dut.wake_ns.value) == NEVER
        drops = sum(self.events[name] for name in EVENTS[1:])
        assert self.events["received"] == drops

    def check(self, offers: list[Offer], table: list[Entry]) -> None:
        """What came out is what went in and was not dropped at the entrance; each cause counted."""
        assert len(self.fates) == len(offers)
        expected, causes = [], Counter(self.fates)
        for offer, fate in zip(offers, self.fates, strict=True):
            assert (fate == "malformed") == (offer.packet is None and fate != "overflow")
            if fate != "in" or offer.packet is None:
                continue
            result = answer(offer.packet, table)
            causes["refused"] += not offer.checked
            causes["unknown"] += offer.checked and result is None
            if result and offer.checked:
                expected.append(result)
        assert packets_of(self.sink.taken, self.width) == expected
        for name in ("overflow", "malformed", "refused", "unknown"):
            assert self.events[name] == causes[name], name
        assert self.events["sent"] == len(expected)


@behaviour()
@cocotb.parametrize(pair=[(never, never), (seldom, bursts), (mostly, seldom), (bursts, mostly), (never, mostly)])
async def packets_leave_in_order_as_the_table_says(dut: Any, pair: Any) -> None:
    bench = Bench(dut, pair[0](), pair[1]())
    await bench.start(TABLE)
    packet_ns, byte_ns_256 = random.choice(((0, 0), (90, 0), (5, 200)))
    bench.settings.set(packet_ns=packet_ns, byte_ns_256=byte_ns_256)
    offers = bench.traffic(70)
    await bench.send(offers)
    await bench.settle()
    bench.check(offers, TABLE)
    assert bench.events["sent"] > 10


@behaviour()
async def without_room_packets_are_dropped_whole(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(TABLE)
    bench.settings.set(hold=1)
    size = min(200, bench.longest)
    store = int(dut.STORE_KB.value) * 1024
    offers = [bench.offer(size, random.choice(KNOWN)) for _ in range(2 * store // size)]
    await bench.send(offers)
    await cycles(dut.clk, 10)
    assert bench.events["overflow"] and not bench.events["sent"]
    assert bench.fates.count("in") * (size + 12 + bench.width // 8 * 2) >= store - 2 * size
    bench.settings.set(hold=0)
    await bench.settle()
    bench.check(offers, TABLE)


@behaviour()
async def hold_keeps_packets_in_the_store_and_they_take_the_table_of_their_release(dut: Any) -> None:
    bench = Bench(dut, seldom(), seldom())
    await bench.start(TABLE)
    before = [bench.offer(bench.longest, KNOWN[0]) for _ in range(2)]
    held = [bench.offer(50, random.choice(KNOWN)) for _ in range(10)]
    await bench.send(before[:1])
    bench.settings.set(hold=1)
    await bench.send(before[1:] + held)
    await until(dut.clk, lambda: bool(dut.waiting.value), 5000)
    assert not dut.idle.value and bench.events["sent"] <= 1
    sent = bench.events["sent"]
    await cycles(dut.clk, 200)
    assert dut.waiting.value and bench.events["sent"] == sent
    came = packets_of(bench.sink.taken, bench.width)
    other = [replace(entry, header=Header.random()) for entry in TABLE]
    await write_table(dut, HERE, other)
    bench.settings.set(hold=0)
    await cycles(dut.clk, 1)
    assert not dut.idle.value and not dut.waiting.value
    await bench.settle()
    expected = [answer(offer.packet, TABLE if n < sent else other) for n, offer in enumerate(before + held)]
    assert packets_of(bench.sink.taken, bench.width) == expected and came == expected[:sent]


@behaviour()
async def hold_never_stops_a_packet_half_way(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(TABLE)
    bench.settings.set(hold=1)
    offers = [bench.offer(bench.longest, KNOWN[0]) for _ in range(6)]
    await bench.send(offers)
    while len(bench.sink.taken) < sum(len(offer.words) for offer in offers):
        await until(dut.clk, lambda: bool(dut.waiting.value or dut.idle.value), 2000)
        bench.settings.set(hold=0)
        await cycles(dut.clk, random.randint(1, 20))
        bench.settings.set(hold=1)
        await cycles(dut.clk, 2)
    await bench.settle()
    bench.check(offers, TABLE)


@behaviour()
async def hold_falls_and_rises_between_packets_without_harm(dut: Any) -> None:
    bench = Bench(dut, seldom(), seldom())
    await bench.start(TABLE)
    offers = bench.traffic(60)
    run = cocotb.start_soon(bench.send(offers))
    while not run.done():
        await cycles(dut.clk, random.randint(1, 40))
        bench.settings.set(hold=random.getrandbits(1))
    bench.settings.set(hold=0)
    await bench.settle()
    bench.check(offers, TABLE)


@behaviour()
async def disabled_packets_count_as_overflow(dut: Any) -> None:
    bench = Bench(dut, seldom())
    await bench.start(TABLE)
    offers = bench.traffic(80)
    expected = []

    async def toggle() -> None:
        """A packet is in or out by `enable` at its first beat."""
        first = True
        while True:
            bench.settings.set(enable=int(random.random() < 0.6))
            await RisingEdge(dut.clk)
            if dut.s_axis_tvalid.value:
                if first:
                    expected.append(bool(bench.settings.read("enable")))
                first = bool(dut.s_axis_tlast.value)

    cocotb.start_soon(toggle())
    await bench.send(offers)
    await bench.settle()
    bench.check(offers, TABLE)
    assert all(fate == "overflow" for fate, enabled in zip(bench.fates, expected, strict=True) if not enabled)
    assert False in expected and True in expected


@behaviour()
async def while_only_time_passes_it_says_so_and_when_it_wakes(dut: Any) -> None:
    if int(dut.KIND.value) != 0:
        return
    bench = Bench(dut)
    await bench.start(TABLE)
    bench.settings.set(packet_ns=10_000_000)
    offers = [bench.offer(size, KNOWN[0]) for size in (1, 60, bench.longest)]
    began = bench.now
    await bench.send(offers)
    for packet in range(3):
        await until(dut.clk, lambda: int(dut.wake_ns.value) != NEVER, 500)
        await until(dut.clk, lambda: bool(dut.waiting.value), 500)
        assert not dut.idle.value and bench.events["sent"] == packet
        wake = int(dut.wake_ns.value)
        assert 10_000_000 <= wake - began < 10_004_000
        began = bench.now = wake
        await until(dut.clk, lambda wanted=packet + 1: bench.events["sent"] == wanted, 800)
    await bench.settle()
    bench.check(offers, TABLE)


@behaviour()
@cocotb.parametrize(size=[60, 61, 64, 300])
async def it_keeps_up_with_an_ethernet_of_10_gbit(dut: Any, size: int) -> None:
    """Frame, FCS, preamble and gap take so many cycles of 322.27 MHz: no packet may take more."""
    bench = Bench(dut)
    await bench.start(TABLE)
    made = bench.offer(size, KNOWN[0])
    store = int(dut.STORE_KB.value) * 1024 * 8 // bench.width
    count = min(60, store // len(made.words))
    await bench.send([made] * count)
    await until(dut.clk, lambda: bench.events["sent"] == count, 5000)
    await cycles(dut.clk, 1)
    first, last = (bench.sink.times_ps[n] for n in (len(made.words) - 1, -1))
    assert (last - first) / PERIOD_PS / (count - 1) <= (size + 24) * 8 / 10 * 0.32227
