"""What a FIFO promises."""

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


def latency(dut: Any) -> int:
    return 3 if int(dut.BLOCK_RAM.value) else 2


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def every_word_arrives_once_and_in_order(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await start(dut)
    source, sink = ends(dut, 600, source_stalls(), sink_stalls())
    await transfer(dut, source, sink, source.words)
    assert int(dut.count.value) == 0


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def count_is_words_in_minus_words_out(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await start(dut)
    source, sink = ends(dut, 300, source_stalls(), sink_stalls())
    cocotb.start_soon(source.run())
    cocotb.start_soon(sink.run())
    held = 0
    for _ in range(500):
        await RisingEdge(dut.clk)
        assert int(dut.count.value) == held
        held += int(dut.s_valid.value) * int(dut.s_ready.value) - int(dut.m_valid.value) * int(dut.m_ready.value)


@behaviour()
async def it_holds_exactly_depth_words(dut: Any) -> None:
    await start(dut)
    depth = int(dut.DEPTH.value)
    source, sink = ends(dut, depth + 20, never(), never())
    sending = cocotb.start_soon(source.run())
    await cycles(dut.clk, depth + 30)
    assert len(source.sent) == int(dut.count.value) == depth
    cocotb.start_soon(sink.run())
    await sending
    await cycles(dut.clk, depth + 30)
    assert sink.taken == source.words


@behaviour()
async def a_word_a_cycle_from_empty(dut: Any) -> None:
    await start(dut)
    source, sink = ends(dut, 400, never(), never())
    await transfer(dut, source, sink, source.words)
    assert gaps(source.times_ps) == gaps(sink.times_ps) == 0
    assert sink.times_ps[0] - source.times_ps[0] == latency(dut) * PERIOD_PS


@behaviour()
async def a_word_a_cycle_while_full(dut: Any) -> None:
    await start(dut)
    depth = int(dut.DEPTH.value)
    source, sink = ends(dut, depth + 400, never(), never())
    sending = cocotb.start_soon(source.run())
    await cycles(dut.clk, depth + 10)
    cocotb.start_soon(sink.run())
    await sending
    await cycles(dut.clk, depth + 10)
    assert sink.taken == source.words
    assert gaps(source.times_ps[depth:]) == gaps(sink.times_ps) == 0


@behaviour()
@cocotb.parametrize(sink_stalls=PATTERNS)
async def ready_does_not_pass_through(dut: Any, sink_stalls: Any) -> None:
    await start(dut)
    cocotb.start_soon(watch_no_path(dut.clk, dut.m_ready, dut.s_ready))
    source, sink = ends(dut, 300, never(), sink_stalls())
    await transfer(dut, source, sink, source.words)


@behaviour()
async def reset_empties_it_and_takes_nothing(dut: Any) -> None:
    await start(dut)
    source, _ = ends(dut, 3, never(), never())
    await source.run()
    await cycles(dut.clk, 5)
    dut.rst.value = 1
    dut.s_valid.value = 1
    await RisingEdge(dut.clk)
    for _ in range(3):
        await RisingEdge(dut.clk)
        assert not dut.m_valid.value and not dut.s_ready.value and int(dut.count.value) == 0
    dut.rst.value = 0
    dut.s_valid.value = 0
    source, sink = ends(dut, 20, never(), never())
    await transfer(dut, source, sink, source.words)
