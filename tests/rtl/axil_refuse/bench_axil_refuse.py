"""What stands for a block that was left out promises: an error for each access, and nothing else."""

from typing import Any

import cocotb

from headrace.testing.streams import PAIRS, Channel, Sink, Source, behaviour, cycles, start, until

SLVERR = 2


def channel(dut: Any, name: str, *payload: str) -> Channel:
    valid, ready, *signals = (getattr(dut, f"s_axil_{name}{part}") for part in ("valid", "ready", *payload))
    return Channel(dut.clk, valid, ready, tuple(signals))


@behaviour()
@cocotb.parametrize((("stalls", "sink_stalls"), PAIRS))
async def each_access_gets_one_error(dut: Any, stalls: Any, sink_stalls: Any) -> None:
    await start(dut)
    words: list[tuple[int, ...]] = [()] * 20
    answers = Sink(channel(dut, "b", "resp"), sink_stalls())
    values = Sink(channel(dut, "r", "data", "resp"), sink_stalls())
    for end in (*(Source(channel(dut, name), words, stalls()) for name in ("aw", "w", "ar")), answers, values):
        cocotb.start_soon(end.run())
    await until(dut.clk, lambda: len(answers.taken) == len(values.taken) == 20, 2000)
    await cycles(dut.clk, 5)
    assert answers.taken == [(SLVERR,)] * 20 and values.taken == [(0, SLVERR)] * 20
    assert dut.idle.value
