"""What a frame arbiter promises."""

import itertools
import random
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    PAIRS,
    Channel,
    Sink,
    Stalls,
    Word,
    behaviour,
    bursts,
    cycles,
    gaps,
    never,
    start,
    until,
    watch_no_path,
)

Frame = list[Word]


class Inputs:
    """Drives all inputs, each with its own frames and stalls, and notes who was served and who had to wait."""

    def __init__(self, dut: Any, frames: list[list[Frame]], stalls: list[Stalls]) -> None:
        self.dut = dut
        self.queues = [deque(word for frame in queue for word in frame) for queue in frames]
        self.stalls = stalls
        self.served: list[int] = []  # input of every frame, in the order of their first beats
        self.candidates: list[set[int]] = []  # inputs that had a beat when that frame was chosen
        self.passed_by = [0] * len(frames)  # frames that an input has let pass since it has a beat
        self.most_passed_by = 0

    async def run(self) -> None:
        """Send everything and return."""
        dut, count = self.dut, len(self.queues)
        widths = [
            len(signal) // count for signal in (dut.s_axis_tdata, dut.s_axis_tkeep, dut.s_axis_tlast, dut.s_axis_tuser)
        ]
        signals = (dut.s_axis_tdata, dut.s_axis_tkeep, dut.s_axis_tlast, dut.s_axis_tuser)
        offered = [False] * count
        inside = False
        while any(self.queues):
            for index in range(count):
                offered[index] = bool(self.queues[index]) and (offered[index] or not next(self.stalls[index]))
            for field, (signal, width) in enumerate(zip(signals, widths, strict=True)):
                value = 0
                for index in range(count):
                    # What lies beside an input without a beat must not matter.
                    word = self.queues[index][0][field] if offered[index] else random.getrandbits(width)
                    value |= word << index * width
                signal.value = value
            dut.s_axis_tvalid.value = sum(1 << index for index in range(count) if offered[index])
            await RisingEdge(dut.clk)
            ready = int(dut.s_axis_tready.value)
            taken = [index for index in range(count) if offered[index] and ready >> index & 1]
            assert len(taken) <= 1 and ready.bit_count() <= 1, "two inputs were served at once"
            for index in taken:
                if not inside:
                    self._note_choice(index, {other for other in range(count) if offered[other]})
                inside = not self.queues[index].popleft()[2]
                offered[index] = False
        dut.s_axis_tvalid.value = 0

    def _note_choice(self, chosen: int, candidates: set[int]) -> None:
        self.served.append(chosen)
        self.candidates.append(candidates)
        for index in range(len(self.passed_by)):
            self.passed_by[index] = self.passed_by[index] + 1 if index in candidates and index != chosen else 0
        self.most_passed_by = max(self.most_passed_by, *self.passed_by)


def frames(dut: Any, counts: list[int], lengths: Callable[[], int]) -> list[list[Frame]]:
    """`counts[i]` frames for input i; the beats carry random data, tkeep and tuser."""
    data_w, user_w = int(dut.DATA_W.value), int(dut.USER_W.value)
    queues: list[list[Frame]] = []
    for count in counts:
        queue: list[Frame] = []
        for _ in range(count):
            length = lengths()
            queue.append(
                [
                    (
                        random.getrandbits(data_w),
                        random.getrandbits(data_w // 8),
                        int(beat == length - 1),
                        random.getrandbits(user_w),
                    )
                    for beat in range(length)
                ]
            )
        queues.append(queue)
    return queues


async def merge(dut: Any, queues: list[list[Frame]], stalls: list[Stalls], sink_stalls: Stalls) -> tuple[Inputs, Sink]:
    """Send everything, wait for it and check that each frame came out whole, in the order in which it was served."""
    inputs = Inputs(dut, queues, stalls)
    sink = Sink(Channel.axis(dut, "m"), sink_stalls)
    cocotb.start_soon(sink.run())
    await inputs.run()
    total = sum(len(frame) for queue in queues for frame in queue)
    await until(dut.clk, lambda: len(sink.taken) >= total, 500)
    await cycles(dut.clk, 10)
    unread = [iter(queue) for queue in queues]
    assert sink.taken == [word for index in inputs.served for word in next(unread[index])]
    assert all(next(queue, None) is None for queue in unread)
    return inputs, sink


def cyclic_choices(inputs: Inputs, count: int) -> list[int]:
    """What a round robin serves, given who had a beat at each choice."""
    last, order = count - 1, []
    for candidates in inputs.candidates:
        last = next(index % count for index in range(last + 1, last + 1 + count) if index % count in candidates)
        order.append(last)
    return order


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def frames_come_out_whole_each_once_and_by_the_rule(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await start(dut)
    count = int(dut.INPUTS.value)
    queues = frames(dut, [random.randint(20, 40) for _ in range(count)], lambda: random.choice([1, 1, 2, 3, 8]))
    inputs, _ = await merge(dut, queues, [source_stalls() for _ in range(count)], sink_stalls())
    if dut.ROUND_ROBIN.value:
        assert inputs.served == cyclic_choices(inputs, count)
        assert inputs.most_passed_by <= count - 1
    else:
        assert inputs.served == [min(candidates) for candidates in inputs.candidates]


@behaviour()
@cocotb.parametrize(length=[1, 2, 5])
async def no_gap_between_frames(dut: Any, length: int) -> None:
    await start(dut)
    count = int(dut.INPUTS.value)
    _, sink = await merge(dut, frames(dut, [40] * count, lambda: length), [never() for _ in range(count)], never())
    assert gaps(sink.times_ps) == 0


@behaviour()
async def one_input_alone_gets_everything(dut: Any) -> None:
    await start(dut)
    count = int(dut.INPUTS.value)
    for index in range(count):
        counts = [0] * count
        counts[index] = 30
        sink = Sink(Channel.axis(dut, "m"), never())
        task = cocotb.start_soon(sink.run())
        await Inputs(dut, frames(dut, counts, lambda: random.randint(1, 3)), [never() for _ in range(count)]).run()
        await cycles(dut.clk, 3)
        task.cancel()
        assert gaps(sink.times_ps) == 0 and sum(word[2] for word in sink.taken) == 30


@behaviour()
async def under_load_the_shares_follow_the_rule(dut: Any) -> None:
    await start(dut)
    count = int(dut.INPUTS.value)
    queues = frames(dut, [30] * count, lambda: random.randint(1, 3))
    inputs, _ = await merge(dut, queues, [never() for _ in range(count)], bursts())
    if dut.ROUND_ROBIN.value:
        assert inputs.served == list(itertools.islice(itertools.cycle(range(count)), 30 * count))
        assert set(Counter(inputs.served[: 10 * count]).values()) == {10}
    else:
        assert inputs.served == sorted(inputs.served)


@behaviour()
async def ready_does_not_pass_through(dut: Any) -> None:
    await start(dut)
    count = int(dut.INPUTS.value)
    cocotb.start_soon(watch_no_path(dut.clk, dut.m_axis_tready, dut.s_axis_tready))
    await merge(dut, frames(dut, [40] * count, lambda: 2), [never() for _ in range(count)], bursts())


@behaviour()
async def reset_closes_an_open_frame_and_takes_nothing(dut: Any) -> None:
    await start(dut)
    count = int(dut.INPUTS.value)
    dut.s_axis_tvalid.value = 1
    await cycles(dut.clk, 4)
    dut.rst.value = 1
    await cycles(dut.clk, 2)
    assert not dut.m_axis_tvalid.value and not dut.s_axis_tready.value
    dut.s_axis_tvalid.value = 0
    dut.rst.value = 0
    # Were the frame of input 0 still open, the others would wait for its end.
    await merge(dut, frames(dut, [0] * (count - 1) + [5], lambda: 2), [never() for _ in range(count)], never())
