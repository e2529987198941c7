"""What a register slice promises."""

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    PAIRS,
    PATTERNS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    Stalls,
    behaviour,
    cycles,
    gaps,
    never,
    random_words,
    start,
    transfer,
    watch_no_path,
)


def ends(dut: Any, count: int, source_stalls: Stalls, sink_stalls: Stalls) -> tuple[Source, Sink]:
    words = random_words(count, int(dut.WIDTH.value))
    return Source(Channel.generic(dut, "s"), words, source_stalls), Sink(Channel.generic(dut, "m"), sink_stalls)


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def every_word_arrives_once_and_in_order(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await start(dut)
    source, sink = ends(dut, 500, source_stalls(), sink_stalls())
    await transfer(dut, source, sink, source.words)


@behaviour()
async def a_word_a_cycle_with_one_cycle_of_latency(dut: Any) -> None:
    await start(dut)
    source, sink = ends(dut, 200, never(), never())
    await transfer(dut, source, sink, source.words)
    assert gaps(source.times_ps) == gaps(sink.times_ps) == 0
    assert sink.times_ps[0] - source.times_ps[0] == PERIOD_PS


@behaviour()
@cocotb.parametrize(sink_stalls=PATTERNS)
async def the_output_is_never_idle_while_words_wait(dut: Any, sink_stalls: Any) -> None:
    await start(dut)
    source, sink = ends(dut, 500, never(), sink_stalls())
    cocotb.start_soon(sink.run())
    cocotb.start_soon(source.run())
    await cycles(dut.clk, 3)
    for _ in range(400):
        await RisingEdge(dut.clk)
        assert dut.m_valid.value


@behaviour()
async def it_holds_two_words(dut: Any) -> None:
    await start(dut)
    source, _ = ends(dut, 10, never(), never())
    cocotb.start_soon(source.run())
    await cycles(dut.clk, 10)
    assert source.sent == source.words[:2]


@behaviour()
@cocotb.parametrize(sink_stalls=PATTERNS)
async def ready_does_not_pass_through(dut: Any, sink_stalls: Any) -> None:
    await start(dut)
    cocotb.start_soon(watch_no_path(dut.clk, dut.m_ready, dut.s_ready))
    source, sink = ends(dut, 200, never(), sink_stalls())
    await transfer(dut, source, sink, source.words)


@behaviour()
async def reset_empties_it_and_takes_nothing(dut: Any) -> None:
    await start(dut)
    source, _ = ends(dut, 2, never(), never())
    await source.run()
    dut.rst.value = 1
    dut.s_valid.value = 1
    await RisingEdge(dut.clk)
    for _ in range(3):
        await RisingEdge(dut.clk)
        assert not dut.m_valid.value and not dut.s_ready.value
    dut.rst.value = 0
    dut.s_valid.value = 0
    source, sink = ends(dut, 20, never(), never())
    await transfer(dut, source, sink, source.words)
