"""What a store-and-forward frame FIFO promises."""

import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    PAIRS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    Stalls,
    Word,
    behaviour,
    bursts,
    cycles,
    frame_words,
    gaps,
    mostly,
    never,
    seldom,
    start,
    watch_no_path,
)


@dataclass
class Frames:
    """Frames to send, as beats, with the drop flag of each."""

    beats: list[list[Word]]
    drop: list[bool]

    @property
    def words(self) -> list[Word]:
        """All beats in one list."""
        return [word for frame in self.beats for word in frame]

    @cached_property
    def flags(self) -> list[bool]:
        """What to drive on s_drop beside each of the words."""
        return [
            drop if last else random.random() < 0.5
            for frame, drop in zip(self.beats, self.drop, strict=True)
            for _, _, last, _ in frame
        ]


class Bench:
    """Both ends of the FIFO and a record of the fate of every frame."""

    def __init__(self, dut: Any, frames: Frames, source_stalls: Stalls, sink_stalls: Stalls) -> None:
        self.dut = dut
        self.frames = frames
        self.source = Source(Channel.axis(dut, "s"), frames.words, source_stalls, self._flag)
        self.sink = Sink(Channel.axis(dut, "m"), sink_stalls)
        self.dropped: list[bool] = []  # of each frame that was sent
        self.peak: list[int] = []  # most beats that were inside when one of the frame came
        self.inside = 0  # beats taken, of frames that were kept or are coming in, less those that went out

    def _flag(self, number: int) -> None:
        """Drive s_drop beside a beat; away from the last beat of a frame it means nothing."""
        self.dut.s_drop.value = int(self.frames.flags[number])

    async def watch(self) -> None:
        """Follow every cycle: fates of frames, beats inside, `idle`, and tready where it must not fall."""
        dut = self.dut
        ended, length, peak = False, 0, 0
        while True:
            await RisingEdge(dut.clk)
            if ended:
                self.dropped.append(bool(dut.dropped.value))
                self.peak.append(peak)
                if self.dropped[-1]:
                    self.inside -= length
                length = peak = 0
            else:
                assert not dut.dropped.value, "a frame was dropped when none had ended"
            assert bool(dut.idle.value) == (self.inside == 0), "idle is wrong"
            assert dut.s_axis_tready.value or not dut.DROP_WHEN_FULL.value, "tready fell"
            taken = bool(dut.s_axis_tvalid.value and dut.s_axis_tready.value)
            peak = max(peak, self.inside * taken)
            length += taken
            self.inside += taken - bool(dut.m_axis_tvalid.value and dut.m_axis_tready.value)
            ended = taken and bool(dut.s_axis_tlast.value)

    async def run(self) -> None:
        """Send everything and wait until the FIFO is empty."""
        cocotb.start_soon(self.watch())
        cocotb.start_soon(self.sink.run())
        await self.source.run()
        await cycles(self.dut.clk, 3)
        for _ in range(200 + 20 * int(self.dut.DEPTH.value)):
            if self.dut.idle.value:
                break
            await RisingEdge(self.dut.clk)
        assert self.dut.idle.value
        await cycles(self.dut.clk, 5)

    def check(self) -> None:
        """Kept frames came out whole and in order; none was dropped without a reason; in = out + dropped."""
        depth, waits = int(self.dut.DEPTH.value), not self.dut.DROP_WHEN_FULL.value
        assert len(self.dropped) == len(self.frames.beats)
        fates = list(zip(self.frames.beats, self.frames.drop, self.dropped, self.peak, strict=True))
        assert self.sink.taken == [word for beats, _, dropped, _ in fates if not dropped for word in beats]
        for beats, flag, dropped, peak in fates:
            if flag or len(beats) > depth:
                assert dropped, "a frame with s_drop or of more than DEPTH beats came through"
            elif dropped:
                assert not waits, "a frame that fits was dropped instead of held off"
                assert peak >= depth, "a frame was dropped while there was room"


def frames(dut: Any, lengths: list[int], drop_share: float = 0.0) -> Frames:
    """Frames of `lengths` beats, with a random number of bytes in the last one."""
    width, user_w = int(dut.DATA_W.value), int(dut.USER_W.value)
    beats = []
    for length in lengths:
        count = (length - 1) * width // 8 + random.randint(1, width // 8)
        if length == 1 and random.random() < 0.1:
            count = 0
        beats.append(frame_words(random.randbytes(count), width, lambda: random.getrandbits(user_w)))
    return Frames(beats, [random.random() < drop_share for _ in lengths])


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def frames_come_out_whole_or_not_at_all(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    depth = int(dut.DEPTH.value)
    await start(dut)
    lengths = [
        random.choice([1, 1, 2, 3, random.randint(1, depth), random.randint(1, depth + 3)])
        for _ in range(120 if depth <= 32 else 30)
    ]
    bench = Bench(dut, frames(dut, lengths, 0.1), source_stalls(), sink_stalls())
    await bench.run()
    bench.check()
    assert any(bench.dropped) and not all(bench.dropped)


@behaviour()
async def frames_of_one_beat_pass_at_full_rate(dut: Any) -> None:
    await start(dut)
    bench = Bench(dut, frames(dut, [1] * 300), never(), never())
    await bench.run()
    bench.check()
    assert not any(bench.dropped)
    assert gaps(bench.source.times_ps) == gaps(bench.sink.times_ps) == 0
    latency = 3 if dut.BLOCK_RAM.value else 2
    assert bench.sink.times_ps[0] - bench.source.times_ps[0] == latency * PERIOD_PS


@behaviour()
@cocotb.parametrize(source_stalls=[never, mostly], sink_stalls=[never, mostly])
async def a_frame_of_depth_beats_passes(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await start(dut)
    bench = Bench(dut, frames(dut, [int(dut.DEPTH.value)]), source_stalls(), sink_stalls())
    await bench.run()
    bench.check()
    assert bench.dropped == [False]


@behaviour()
async def a_longer_frame_is_dropped_without_deadlock(dut: Any) -> None:
    await start(dut)
    depth = int(dut.DEPTH.value)
    bench = Bench(dut, frames(dut, [depth, depth + 1, 2, 5 * depth, depth, 1]), seldom(), bursts())
    await bench.run()
    bench.check()
    assert bench.dropped[1] and bench.dropped[3]
    assert dut.DROP_WHEN_FULL.value or bench.dropped == [False, True, False, True, False, False]


@behaviour()
async def nothing_comes_out_before_the_last_beat_is_in(dut: Any) -> None:
    await start(dut)
    length = min(int(dut.DEPTH.value), 20)
    bench = Bench(dut, frames(dut, [length]), mostly(), never())
    await bench.run()
    assert bench.sink.times_ps[0] > bench.source.times_ps[-1]
    assert gaps(bench.sink.times_ps) == 0


@behaviour()
async def a_dropped_frame_leaves_no_trace(dut: Any) -> None:
    await start(dut)
    lengths = [random.randint(1, int(dut.DEPTH.value)) for _ in range(60)]
    every_other = Frames(frames(dut, lengths).beats, [index % 2 == 0 for index in range(len(lengths))])
    bench = Bench(dut, every_other, never(), never())
    await bench.run()
    bench.check()
    assert bench.dropped[::2] == [True] * 30


@behaviour()
async def with_room_nothing_is_dropped_at_full_rate(dut: Any) -> None:
    await start(dut)
    depth = int(dut.DEPTH.value)
    bench = Bench(dut, frames(dut, [random.randint(1, max(depth // 2 - 4, 1)) for _ in range(100)]), never(), never())
    await bench.run()
    bench.check()
    assert not any(bench.dropped)
    assert gaps(bench.source.times_ps) == 0


@behaviour()
async def ready_does_not_pass_through(dut: Any) -> None:
    await start(dut)
    cocotb.start_soon(watch_no_path(dut.clk, dut.m_axis_tready, dut.s_axis_tready))
    bench = Bench(dut, frames(dut, [random.randint(1, 4) for _ in range(200)]), never(), bursts())
    await bench.run()
    bench.check()


@behaviour()
async def reset_empties_it_and_takes_nothing(dut: Any) -> None:
    await start(dut)
    source = Source(Channel.axis(dut, "s"), frames(dut, [2, 1]).words, never())
    await source.run()
    await cycles(dut.clk, 6)
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    assert not dut.m_axis_tvalid.value and dut.idle.value
    assert int(dut.s_axis_tready.value) == int(dut.DROP_WHEN_FULL.value)
    dut.rst.value = 0
    bench = Bench(dut, frames(dut, [1, 2, 3, 4]), seldom(), never())
    await bench.run()
    bench.check()
