"""What my_block promises, in the simulator."""

from typing import Any

import cocotb

from headrace.testing.streams import (
    PAIRS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    Stalls,
    behaviour,
    never,
    random_words,
    start,
    transfer,
)


def ends(dut: Any, count: int, source_stalls: Stalls, sink_stalls: Stalls) -> tuple[Source, Sink]:
    """A source of random words (data, last) and a sink, each with its stalls."""
    into, out = (Channel.generic(dut, side, payload=("data", "last")) for side in ("s", "m"))
    return Source(into, random_words(count, int(dut.WIDTH.value), 1), source_stalls), Sink(out, sink_stalls)


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def every_word_arrives_once_and_in_order(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await start(dut)
    source, sink = ends(dut, 200, source_stalls(), sink_stalls())
    await transfer(dut, source, sink, source.words)
    assert dut.idle.value


@behaviour()
async def a_word_a_cycle_with_one_cycle_of_latency(dut: Any) -> None:
    await start(dut)
    source, sink = ends(dut, 100, never(), never())
    await transfer(dut, source, sink, source.words)
    assert [out - in_ for in_, out in zip(source.times_ps, sink.times_ps, strict=True)] == [PERIOD_PS] * 100
