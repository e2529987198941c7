"""What a port's store promises: frames come out whole with their length and time, or are counted with the reason."""

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from capture.host import start
from capture.packets import MAX_CAPTURED, Packet
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    PAIRS,
    Channel,
    Sink,
    Source,
    Stalls,
    Word,
    behaviour,
    bursts,
    cycles,
    frame_words,
    frames_of,
    mostly,
    never,
    seldom,
)

ERROR, CUT = 1 << 33, 1 << 32


@dataclass(frozen=True)
class Frame:
    """A frame as the MAC gives it."""

    data: bytes
    wire_len: int | None = None  # of a frame that a capture had cut
    error: bool = False

    def words(self, width: int) -> list[Word]:
        meta = (random.getrandbits(32) if self.wire_len is None else CUT | self.wire_len) | ERROR * self.error
        words = frame_words(self.data, width, lambda: random.getrandbits(34))
        return [*words[:-1], (*words[-1][:3], meta)]


@dataclass
class Fate:
    """What the store says of a frame."""

    length: int
    bad: bool
    oversize: bool
    disabled: bool
    overflow: bool = False

    @property
    def kept(self) -> bool:
        return not (self.bad or self.oversize or self.disabled or self.overflow)


@dataclass
class Bench:
    """A store between a MAC and a sink."""

    dut: Any
    frames: list[Frame]
    source_stalls: Stalls
    sink_stalls: Stalls
    flow_control: bool = False
    snaplen: int = MAX_CAPTURED
    fates: list[Fate] = field(default_factory=list)
    times: list[int] = field(default_factory=list)  # of first beats
    off: list[bool] = field(default_factory=list)  # disabled at its first beat or after its last one
    held: int = 0
    told_held: int = 0

    async def run(self) -> None:
        """Send everything, wait until the store is empty, and check."""
        dut = self.dut
        await start(dut, "rx_tvalid", "m_axis_tready", "time_ns")
        dut.enable.value = 1
        dut.flow_control.value = self.flow_control
        dut.snaplen.value = self.snaplen
        width = len(dut.rx_tdata)
        rx = Channel(dut.clk, dut.rx_tvalid, dut.rx_tready, (dut.rx_tdata, dut.rx_tkeep, dut.rx_tlast, dut.rx_tuser))
        words = [word for frame in self.frames for word in frame.words(width)]
        self.sink = Sink(Channel.axis(dut, "m"), self.sink_stalls)
        cocotb.start_soon(self.watch())
        cocotb.start_soon(self.sink.run())
        await Source(rx, words, self.source_stalls).run()
        for _ in range(20 * len(words) + 2000):
            await RisingEdge(dut.clk)
            if dut.idle.value and len(self.fates) == len(self.frames):
                break
        await cycles(dut.clk, 5)
        assert dut.idle.value and not dut.holds.value
        self.check()

    async def watch(self) -> None:
        """The events, and the time of each frame's first beat."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        now, first, ended = random.getrandbits(62), True, False
        while True:
            dut.time_ns.value = now
            await edge
            enabled = bool(dut.enable.value)
            if ended:
                self.off[-1] |= not enabled
            valid, ready = bool(dut.rx_tvalid.value), bool(dut.rx_tready.value)
            assert ready or self.flow_control, "the port was stalled"
            self.held += valid and not ready
            if valid and ready:
                if first:
                    self.times.append(now)
                    self.off.append(not enabled)
                first = bool(dut.rx_tlast.value)
            ended = valid and ready and first
            events = int(dut.events.value)
            self.told_held += events >> 20 & 1
            if events >> 21 & 1:
                self.fates[-1].overflow = True
            if events >> 25 & 1:
                bad, oversize, disabled = (bool(events >> bit & 1) for bit in (24, 23, 22))
                self.fates.append(Fate(events & 0xFFFFF, bad, oversize, disabled))
            now += 3

    def check(self) -> None:
        """Kept frames came out whole, in order, with what belongs to them; the others were counted once."""
        assert len(self.fates) == len(self.frames) == len(self.times)
        assert self.told_held == self.held
        assert [fate.disabled for fate in self.fates] == self.off
        expected = []
        for frame, fate, time in zip(self.frames, self.fates, self.times, strict=True):
            length = len(frame.data)
            assert fate.length == length
            assert fate.bad + fate.oversize + fate.disabled + fate.overflow <= 1
            assert fate.bad == (frame.error and not fate.disabled)
            assert fate.oversize == (length > MAX_CAPTURED and not frame.error and not fate.disabled)
            if fate.kept:
                expected.append(
                    (
                        frame.data,
                        Packet(
                            min(length, self.snaplen), length if frame.wire_len is None else frame.wire_len, time
                        ).pack(),
                    )
                )
        came = frames_of(self.sink.taken)
        assert [data for data, _ in came] == [data for data, _ in expected]
        assert [set(users) for _, users in came] == [{user} for _, user in expected]

    @property
    def lost(self) -> int:
        return sum(fate.overflow for fate in self.fates)


def frames(count: int, longest: int) -> list[Frame]:
    """Frames of random length, some bad, some cut on the wire's other side."""
    return [
        Frame(
            random.randbytes(random.choice((0, 1, 60, random.randint(0, 130), random.randint(0, longest)))),
            random.choice((0, random.getrandbits(32))),
            random.random() < 0.1,
        )
        for _ in range(count)
    ]


def rows(dut: Any) -> int:
    return int(dut.STORE_KB.value) * 1024 // len(dut.rx_tkeep)


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def frames_come_out_whole_or_are_counted(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    snaplen = random.choice((0, 64, 200, MAX_CAPTURED))
    bench = Bench(dut, frames(50, 600), source_stalls(), sink_stalls(), snaplen=snaplen)
    await bench.run()


@behaviour()
@cocotb.parametrize(length=[1, 64, 400])
async def without_room_frames_are_dropped_whole_and_the_port_never_waits(dut: Any, length: int) -> None:
    beats = -(-length // len(dut.rx_tkeep))
    count = 2 * rows(dut) // beats + 20
    stopped = iter([True] * (count * beats + 100) + [False] * 10**6)
    bench = Bench(dut, [Frame(random.randbytes(length)) for _ in range(count)], never(), stopped)
    await bench.run()
    kept = [fate.kept for fate in bench.fates].index(False)
    assert not any(fate.kept for fate in bench.fates[kept:])
    assert min(rows(dut) // beats, 512) - 6 <= kept <= rows(dut) // beats + 3


@behaviour()
@cocotb.parametrize(share=[0.0, 0.1, 1.0], sink_stalls=[mostly, bursts])
async def with_flow_control_no_frame_of_up_to_half_the_store_is_lost(dut: Any, share: float, sink_stalls: Any) -> None:
    """`share` of the frames are as long as that, the others short."""
    half, size = rows(dut) // 2, len(dut.rx_tkeep)
    made = []
    for _ in range(12 if share else 300):
        made += [Frame(random.randbytes(half * size))] if random.random() < share else []
        made += [Frame(random.randbytes(random.randint(1, 2 * size))) for _ in range(random.randrange(4))]
    bench = Bench(dut, made, never(), sink_stalls(), flow_control=True)
    await bench.run()
    assert not bench.lost


@behaviour()
@cocotb.parametrize(more=range(-4, 4))
async def a_frame_of_half_the_store_fits_if_it_is_let_in(dut: Any, more: int) -> None:
    half, size = rows(dut) // 2, len(dut.rx_tkeep)
    short = [Frame(random.randbytes(2 * size))] * (half // 2 - 4) + [Frame(random.randbytes(size))] * (8 + more)
    stopped = iter([True] * (2 * half + 100) + [False] * 10**6)
    bench = Bench(dut, [*short, Frame(random.randbytes(half * size))], never(), stopped, flow_control=True)
    await bench.run()
    assert not bench.lost


@behaviour()
async def with_flow_control_no_short_frame_is_lost_while_nothing_is_taken(dut: Any) -> None:
    count = rows(dut) + 50
    bench = Bench(
        dut,
        [Frame(random.randbytes(1)) for _ in range(count)],
        never(),
        iter([True] * (count + 100) + [False] * 10**6),
        flow_control=True,
    )
    await bench.run()
    assert not bench.lost and bench.held


@behaviour()
async def a_frame_longer_than_a_record_can_be_is_dropped_as_such(dut: Any) -> None:
    if rows(dut) * len(dut.rx_tkeep) < 1 << 17:
        return
    lengths = [65_535, 65_536, 65_549, MAX_CAPTURED, MAX_CAPTURED + 1, 60, 0x1FFFF, 61]
    bench = Bench(dut, [Frame(random.randbytes(n)) for n in lengths], never(), never())
    await bench.run()
    assert [fate.kept for fate in bench.fates] == [n <= MAX_CAPTURED for n in lengths]


@behaviour()
async def a_frame_that_begins_or_ends_while_it_is_disabled_is_dropped(dut: Any) -> None:
    size = len(dut.rx_tkeep)
    made = [Frame(random.randbytes(random.randint(1, 5 * size)), error=n % 7 == 0) for n in range(150)]
    bench = Bench(dut, made, seldom(), never())
    run = cocotb.start_soon(bench.run())
    await cycles(dut.clk, 20)
    while not run.done():
        await cycles(dut.clk, random.randint(1, 20))
        dut.enable.value = not dut.enable.value
    await run
    assert 10 < sum(bench.off) < 140
