"""What the place of frames that leave soon promises: the earliest of those that are in whole goes out, whole and
unchanged, whatever comes meanwhile; all room is free again in the end."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, Channel, Sink, Source, behaviour, start, until

FRAMES = 300


def frames(dut: Any) -> list[tuple[int, int]]:
    """Beats and time of each: times go on slowly, with much jitter, and no two are the same."""
    most = int(dut.DEPTH.value) // 4
    jitter = random.choice((100, 3000))
    return [
        (
            random.choice((1, 1, 2, random.randint(1, most))),
            40 * FRAMES * number + FRAMES * random.randrange(jitter) + number,
        )
        for number in range(FRAMES)
    ]


@behaviour()
@cocotb.parametrize(stalls=PAIRS)
async def the_earliest_of_those_that_are_there_goes_out(dut: Any, stalls: Any) -> None:
    for name in ("promise", "chosen"):
        getattr(dut, name).value = 0
    await start(dut)
    room = int(dut.room.value)
    sent = frames(dut)
    landed: dict[int, int] = {}  # number of a frame: its time
    sink = Sink(
        Channel(dut.clk, dut.m_axis_tvalid, dut.m_axis_tready, (dut.m_axis_tdata, dut.m_axis_tlast)), stalls[1]()
    )
    cocotb.start_soon(sink.run())
    pattern = stalls[0]()
    least_room = room

    async def give() -> None:
        nonlocal least_room
        channel = Channel(
            dut.clk,
            dut.s_axis_tvalid,
            dut.s_axis_tready,
            (dut.s_axis_tdata, dut.s_axis_tkeep, dut.s_axis_tlast, dut.s_leave_ns),
        )
        for number, (beats, at) in enumerate(sent):
            while int(dut.room.value) < beats:
                await RisingEdge(dut.clk)
            dut.promise.value, dut.promise_beats.value = 1, beats
            await RisingEdge(dut.clk)
            dut.promise.value = 0
            words = [(number << 8 | beat % 256, 255, int(beat == beats - 1), at) for beat in range(beats)]
            await Source(channel, words, pattern).run()
            landed[number] = at
            least_room = min(least_room, int(dut.room.value))

    giving = cocotb.start_soon(give())
    gone: list[int] = []
    while len(gone) < FRAMES:
        if giving.done() or int(dut.room.value) < room // 4 or random.random() < 0.004:
            before = dict(landed)
            await RisingEdge(dut.clk)
            if dut.head_valid.value and dut.settled.value:
                head, taken = int(dut.head_ns.value), len(sink.taken)
                assert head == min(before.values(), default=head)
                dut.chosen.value = 1
                await until(dut.clk, lambda: bool(dut.m_axis_tvalid.value), 60)
                dut.chosen.value = 0
                await until(dut.clk, lambda taken=taken: len(sink.taken) > taken and sink.taken[-1][1] == 1, 2000)
                beats = [data for data, _ in sink.taken[taken:]]
                number = beats[0] >> 8
                assert beats == [number << 8 | beat % 256 for beat in range(sent[number][0])]
                assert landed.pop(number) <= head
                gone.append(number)
        else:
            await RisingEdge(dut.clk)
    assert sorted(gone) == list(range(FRAMES)) != gone
    await until(dut.clk, lambda: bool(dut.idle.value), 600)
    assert int(dut.room.value) == room
    assert least_room < room // 4
    assert not dut.head_valid.value
