"""What an Ethernet block promises: frames become packets and packets frames, whole and in order, or are counted."""

import random
from collections import Counter
from dataclasses import dataclass
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
    frames,
    header_beats,
    look_up,
    packets_of,
    sizes,
    write_table,
)
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    Channel,
    Sink,
    Source,
    Word,
    behaviour,
    bursts,
    cycles,
    frame_words,
    mostly,
    never,
    seldom,
    start,
    until,
)

HERE = 1
ERROR = 1 << 33
KEYS = (0x11223344, 0x11220000, 0)
TABLE = [
    Entry(0x11223344, 0xFFFFFFFF, Header(1, 2, 3, 1, 1, 0xAAAA5555, 0x1111)),
    Entry(0x11220000, 0xFFFF0000, Header(0, 2, 0, 0, 0, 0x66, 0x2222)),
    Entry(0, 0xFFFFFFFF, Header(1, 0, 1, 1, 0, 0x77, 0x3333)),
]
DROPS = ("disabled", "bad", "too_long", "overflow")
EVENTS = ("frame", *DROPS, "unknown", "sent", "tx_malformed", "held")
# port_events_t and port_settings_t
LAYOUT = {
    "frame": 1,
    "frame_bytes": 16,
    "bad": 1,
    "disabled": 1,
    "too_long": 1,
    "overflow": 1,
    "unknown": 1,
    "sent": 1,
    "tx_malformed": 1,
    "held": 1,
}
SETTINGS = {"enable": 1, "flow_control": 1, "key_offset": 7}
CYCLES_PER_BYTE = 0.8 * 0.322265625  # at 10 Gb/s


@dataclass(frozen=True)
class Frame:
    """A frame as the MAC gives it."""

    data: bytes
    error: bool = False

    def words(self, width: int) -> list[Word]:
        words = frame_words(self.data, width, lambda: random.getrandbits(34))
        return [*words[:-1], (*words[-1][:3], random.getrandbits(33) | ERROR * self.error)]

    def key(self, offset: int) -> int:
        return int.from_bytes(self.data[offset : offset + 4].ljust(4, b"\0"), "big")


class Bench:
    """The block with its four streams."""

    def __init__(self, dut: Any, rx: Any = never, tx: Any = never, s: Any = never, m: Any = never) -> None:
        self.dut, self.width, self.longest = dut, len(dut.rx_tdata), int(dut.MAX_PACKET.value)
        self.offset, self.rx_stalls, self.s_stalls = 0, rx(), s()
        self.rx = Channel(
            dut.clk, dut.rx_tvalid, dut.rx_tready, (dut.rx_tdata, dut.rx_tkeep, dut.rx_tlast, dut.rx_tuser)
        )
        tx_payload = (dut.tx_tdata, dut.tx_tkeep, dut.tx_tlast, dut.tx_tuser)
        self.wire = Sink(Channel(dut.clk, dut.tx_tvalid, dut.tx_tready, tx_payload), tx())
        self.noc = Sink(channel(dut, "m"), m())
        self.settings = Driven(dut.settings, SETTINGS)
        self.events: Counter[str] = Counter()
        self.fates: list[str] = []
        self.lengths: list[int] = []
        self.off: list[bool] = []
        self.begun: list[int] = []  # times of frames' first beats at tx
        self.waited = self.ragged = 0

    async def start(self, offset: int = 12, flow_control: bool = False) -> None:
        dut = self.dut
        for name in ("rx_tvalid", "tx_tready", "table_write", "time_ns"):
            getattr(dut, name).value = 0
        dut.here.value = HERE
        self.offset = offset
        await start(dut)
        self.settings.set(enable=1, flow_control=int(flow_control), key_offset=offset)
        await write_table(dut, HERE, TABLE)
        for run in (self.watch(), self.wire.run(), self.noc.run()):
            cocotb.start_soon(run)

    async def watch(self) -> None:
        dut, now = self.dut, random.getrandbits(60)
        first, tx_first = True, True
        while True:
            dut.time_ns.value = now
            await RisingEdge(dut.clk)
            happened = fields(int(dut.events.value), LAYOUT)
            told = [name for name in EVENTS if happened[name]]
            self.events.update(told)
            if "frame" in told:
                self.fates.append(next((name for name in DROPS if name in told), "in"))
                self.lengths.append(happened["frame_bytes"])
                assert len({*told} & {*DROPS}) <= 1
            else:
                assert not {*told} & {*DROPS}, "a drop without a frame"
            valid, ready = bool(dut.rx_tvalid.value), bool(dut.rx_tready.value)
            assert ready or (first and self.settings.read("flow_control")), "the MAC was stalled"
            self.waited += valid and not ready
            if valid and ready:
                if first:
                    self.off.append(not self.settings.read("enable"))
                first = bool(dut.rx_tlast.value)
            if dut.tx_tvalid.value:
                if tx_first:
                    self.begun.append(now)
                tx_first = bool(dut.tx_tready.value and dut.tx_tlast.value)
            elif not tx_first:
                self.ragged += 1
            now += 3

    def frame(self, size: int, key: int | None = None, error: bool = False) -> Frame:
        """A frame with a key (default: any that there is) where it is looked for, if the frame is long enough."""
        data = bytearray(random.randbytes(size))
        value = random.choice(KEYS) if key is None else key
        data[self.offset : self.offset + 4] = value.to_bytes(4, "big")
        return Frame(bytes(data[:size]), error)

    def traffic(self, count: int) -> list[Frame]:
        """Frames of all kinds."""
        made = []
        for some_size, _ in zip(sizes(self.longest), range(count), strict=False):
            kind = random.random()
            size = random.choice((0, self.longest + 1, self.longest + 300)) if kind < 0.06 else some_size
            made.append(self.frame(size, 0x55 if 0.1 < kind < 0.2 else None, 0.2 < kind < 0.3))
        return made

    async def send(self, made: list[Frame]) -> None:
        await Source(self.rx, [word for frame in made for word in frame.words(self.width)], self.rx_stalls).run()

    async def settle(self, limit: int = 50000) -> None:
        await cycles(self.dut.clk, 3)
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), limit)
        await cycles(self.dut.clk, 10)
        assert self.dut.idle.value and not self.ragged, "a frame left with a gap"

    def check_rx(self, made: list[Frame]) -> None:
        """Every frame came out as a packet or is counted, for the reason that it has."""
        assert len(self.fates) == len(made) == self.events["frame"]
        assert self.lengths == [len(frame.data) for frame in made]
        assert self.events["held"] == self.waited
        expected, unknown = [], 0
        for frame, fate, off in zip(made, self.fates, self.off, strict=True):
            wrong = frame.error or not frame.data
            reason = "disabled" if off else "bad" if wrong else "too_long" if len(frame.data) > self.longest else "in"
            assert fate == reason or (reason == "in" and fate == "overflow")
            if fate == "in":
                header = look_up(TABLE, frame.key(self.offset))
                unknown += header is None
                expected += [Packet(header, frame.data)] if header else []
        assert packets_of(self.noc.taken, self.width) == expected
        assert self.events["unknown"] == unknown


@behaviour()
@cocotb.parametrize(
    pair=[(never, never), (seldom, bursts), (mostly, seldom), (bursts, mostly)], offset=[12, 0, 37, 124]
)
async def frames_become_packets(dut: Any, pair: Any, offset: int) -> None:
    bench = Bench(dut, rx=pair[0], m=pair[1])
    await bench.start(offset)
    made = bench.traffic(25)
    await bench.send(made)
    await bench.settle()
    bench.check_rx(made)


@behaviour()
async def the_key_lies_anywhere_and_bytes_beyond_the_end_are_0(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    made: list[Frame] = []
    checked = 0
    for offset in random.sample(range(125), 30):
        bench.offset = offset
        bench.settings.set(key_offset=offset)
        some = [bench.frame(size) for size in (offset + 4, max(offset + random.randint(-2, 3), 1), 60, 130)]
        await bench.send(some)
        await bench.settle()
        made += some
        headers = [look_up(TABLE, frame.key(offset)) for frame in some]
        expected = [Packet(header, frame.data) for frame, header in zip(some, headers, strict=True) if header]
        assert packets_of(bench.noc.taken, bench.width)[checked:] == expected
        checked += len(expected)
    assert bench.events["unknown"] == len(made) - checked


@behaviour()
async def a_frame_that_begins_while_it_is_disabled_is_dropped(dut: Any) -> None:
    bench = Bench(dut, rx=seldom)
    await bench.start()
    made = bench.traffic(40)
    run = cocotb.start_soon(bench.send(made))
    while not run.done():
        await cycles(dut.clk, random.randint(1, 60))
        bench.settings.set(enable=random.getrandbits(1))
    await bench.settle()
    bench.check_rx(made)
    assert 5 < sum(bench.off) < 35


def fill(bench: Bench, size: int) -> list[Frame]:
    """Twice as many frames of one size as the store takes, 400 at most."""
    step = bench.width // 8
    rows = int(bench.dut.STORE_KB.value) * 1024 // step
    return [bench.frame(size) for _ in range(min(2 * rows // -(-size // step), 400))]


@behaviour()
@cocotb.parametrize(size=[1, 60, 200])
async def without_room_frames_are_dropped_whole(dut: Any, size: int) -> None:
    if int(dut.STORE_KB.value) > 4:
        return
    stop = [True]
    bench = Bench(dut, m=lambda: iter(lambda: stop[0], None))
    await bench.start()
    made = fill(bench, size)
    await bench.send(made)
    await cycles(dut.clk, 10)
    assert bench.events["overflow"] and not bench.noc.taken
    stop[0] = False
    await bench.settle()
    bench.check_rx(made)
    assert "overflow" not in bench.fates[: bench.fates.count("in") - 3]


@behaviour()
@cocotb.parametrize(size=[1, 60, 200, 0])
async def with_flow_control_nothing_is_lost(dut: Any, size: int) -> None:
    """`size` 0: the longest ones."""
    if int(dut.STORE_KB.value) > 4:
        return
    bench = Bench(dut, m=mostly)
    await bench.start(flow_control=True)
    made = fill(bench, size or bench.longest) * 2
    await bench.send(made)
    await bench.settle()
    bench.check_rx(made)
    assert bench.waited and not bench.events["overflow"]


@behaviour()
@cocotb.parametrize(size=[60, 61, 64, 65, 68, 199, 1])
async def it_takes_10_gbit_without_loss(dut: Any, size: int) -> None:
    """Wire times at 322.27 MHz; the network takes every beat. A frame takes the time of 64 bytes at least."""
    bench = Bench(dut)
    await bench.start()
    step = bench.width // 8
    rows = int(dut.STORE_KB.value) * 1024 // step
    made = [bench.frame(size) for _ in range(min(3 * rows // (-(-size // step)), 250))]
    cycle, due = 0, 0.0
    edge = RisingEdge(dut.clk)
    for frame in made:
        words = frame.words(bench.width)
        for number, word in enumerate(words, 1):
            arrives = due + CYCLES_PER_BYTE * (8 + min(number * step, size) + 4 * (number == len(words)))
            while cycle < arrives:
                dut.rx_tvalid.value = 0
                await edge
                cycle += 1
            bench.rx.write(word)
            dut.rx_tvalid.value = 1
            await edge
            cycle += 1
        due += CYCLES_PER_BYTE * (max(size + 4, 64) + 20)
    dut.rx_tvalid.value = 0
    left = len(packets_of(bench.noc.taken, bench.width))
    assert len(made) - left <= 4, "the way out is slower than the wire"
    await bench.settle()
    bench.check_rx(made)
    assert not bench.events["overflow"]


def tx_traffic(bench: Bench, count: int) -> tuple[list[Word], list[bytes], int]:
    """Beats from the network, the frames that they should become, and how many packets are none."""
    words, good, malformed = [], [], 0
    for some_size, _ in zip(sizes(bench.longest), range(count), strict=False):
        kind = random.random()
        size = random.choice((0, bench.longest + 1, bench.longest + 300)) if kind < 0.2 else some_size
        packet = Packet(Header.random(), random.randbytes(size))
        made = beats(packet, bench.width)
        if kind > 0.9:
            head = made[: random.randint(1, header_beats(bench.width))]
            made = [*head[:-1], (head[-1][0], head[-1][1], 1)]
        is_good = 0 < size <= bench.longest and kind <= 0.9
        good += [packet.payload] if is_good else []
        malformed += not is_good
        words += made
    return words, good, malformed


@behaviour()
@cocotb.parametrize(pair=[(never, never), (seldom, bursts), (mostly, seldom), (bursts, mostly), (never, mostly)])
async def packets_become_frames_without_gaps(dut: Any, pair: Any) -> None:
    bench = Bench(dut, s=pair[0], tx=pair[1])
    await bench.start()
    words, good, malformed = tx_traffic(bench, 40)
    await Source(channel(dut, "s"), words, bench.s_stalls).run()
    await bench.settle()
    assert frames(word[:3] for word in bench.wire.taken) == good
    assert (bench.events["tx_malformed"], bench.events["sent"]) == (malformed, len(good))
    stamps, metas = [], set()
    for word in bench.wire.taken:
        metas.add(word[3])
        if word[2]:
            (meta,) = metas
            stamps.append(meta)
            metas = set()
    assert stamps == [begun - 3 for begun in bench.begun]


@behaviour()
async def both_ways_at_once(dut: Any) -> None:
    bench = Bench(dut, rx=seldom, tx=seldom, s=seldom, m=seldom)
    await bench.start()
    words, good, malformed = tx_traffic(bench, 30)
    made = bench.traffic(30)
    receive = cocotb.start_soon(bench.send(made))
    await Source(channel(dut, "s"), words, bench.s_stalls).run()
    await receive
    await bench.settle()
    bench.check_rx(made)
    assert frames(word[:3] for word in bench.wire.taken) == good
    assert (bench.events["tx_malformed"], bench.events["sent"]) == (malformed, len(good))
