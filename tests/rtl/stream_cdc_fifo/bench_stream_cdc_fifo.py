"""What a FIFO between two clocks promises."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

from headrace.testing.streams import (
    PAIRS,
    Channel,
    Sink,
    Source,
    Stalls,
    behaviour,
    cycles,
    never,
    random_words,
    until,
    watch_no_path,
)

# Periods of the two clocks in ps and how much later the second one starts: equal, opposite, incommensurable, far apart.
CLOCKS = [
    (2000, 2000, 0),
    (2000, 2000, 1000),
    (2000, 2002, 0),
    (3104, 2000, 300),
    (2000, 3104, 700),
    (2000, 14206, 0),
    (14206, 2000, 0),
]


async def start(dut: Any, clocks: tuple[int, int, int], first_out_of_reset: str = "s") -> None:
    """Start both clocks and reset both sides, which take and offer nothing; one of them leaves reset 20 slow cycles
    before the other."""
    s_period, m_period, delay = clocks
    slow = max(s_period, m_period)
    for signal in (dut.s_valid, dut.s_data, dut.m_ready):
        signal.value = 0
    dut.s_rst.value = dut.m_rst.value = 1
    Clock(dut.s_clk, s_period, "ps", impl="gpi").start()
    if delay:
        await Timer(delay, "ps")
    Clock(dut.m_clk, m_period, "ps", impl="gpi").start()
    await Timer(slow * (int(dut.SYNC_STAGES.value) + 2), "ps")
    assert not dut.s_ready.value and not dut.m_valid.value
    for side in (first_out_of_reset, "m" if first_out_of_reset == "s" else "s"):
        await cycles(getattr(dut, f"{side}_clk"), 1)
        getattr(dut, f"{side}_rst").value = 0
        await Timer(20 * slow, "ps")


def ends(dut: Any, count: int, source_stalls: Stalls, sink_stalls: Stalls) -> tuple[Source, Sink]:
    words = random_words(count, int(dut.WIDTH.value))
    source = Source(Channel.generic(dut, "s", dut.s_clk), words, source_stalls)
    return source, Sink(Channel.generic(dut, "m", dut.m_clk), sink_stalls)


async def transfer(dut: Any, source: Source, sink: Sink) -> None:
    cocotb.start_soon(sink.run())
    await source.run()
    await until(dut.m_clk, lambda: len(sink.taken) >= len(source.sent), 1000)
    await cycles(dut.m_clk, 20)
    assert sink.taken == source.words


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS), clocks=CLOCKS)
async def every_word_arrives_once_and_in_order(dut: Any, clocks: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await start(dut, clocks)
    source, sink = ends(dut, 120, source_stalls(), sink_stalls())
    await transfer(dut, source, sink)


@behaviour()
@cocotb.parametrize(clocks=CLOCKS)
async def it_holds_depth_words_and_no_more(dut: Any, clocks: Any) -> None:
    await start(dut, clocks)
    depth = int(dut.DEPTH.value)
    source, _ = ends(dut, depth + 20, never(), never())
    cocotb.start_soon(source.run())
    await Timer(max(clocks) * (depth + 20), "ps")
    # The word at the output has left the memory.
    assert len(source.sent) == depth + 1


@behaviour()
@cocotb.parametrize(clocks=CLOCKS)
async def from_depth_16_the_slower_clock_sets_the_rate(dut: Any, clocks: Any) -> None:
    await start(dut, clocks)
    count = 300
    source, sink = ends(dut, count, never(), never())
    await transfer(dut, source, sink)
    slow = max(clocks)
    # The first words go into an empty FIFO: look at the second half.
    took = sink.times_ps[-1] - sink.times_ps[count // 2]
    words = count - 1 - count // 2
    assert int(dut.DEPTH.value) < 16 or took <= (words + 1) * slow


@behaviour()
@cocotb.parametrize(clocks=CLOCKS, first=["s", "m"])
async def either_side_may_leave_reset_first(dut: Any, clocks: Any, first: str) -> None:
    await start(dut, clocks, first)
    source, sink = ends(dut, 50, never(), never())
    await transfer(dut, source, sink)


@behaviour()
@cocotb.parametrize(clocks=CLOCKS)
async def the_first_word_takes_the_stated_time(dut: Any, clocks: Any) -> None:
    await start(dut, clocks)
    m_period = clocks[1]
    source, sink = ends(dut, 1, never(), never())
    await transfer(dut, source, sink)
    took = sink.times_ps[0] - source.times_ps[0]
    stages = int(dut.SYNC_STAGES.value)
    assert (stages + 1) * m_period <= took <= (stages + 2) * m_period


@behaviour()
async def ready_does_not_pass_through(dut: Any) -> None:
    await start(dut, (2000, 2000, 0))
    cocotb.start_soon(watch_no_path(dut.m_clk, dut.m_ready, dut.s_ready))
    source, sink = ends(dut, 100, never(), never())
    await transfer(dut, source, sink)
