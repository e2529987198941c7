"""What a broadcast promises."""

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge, Timer

from headrace.testing.streams import (
    PAIRS,
    PERIOD_PS,
    Channel,
    Source,
    Stalls,
    behaviour,
    bursts,
    cycles,
    mostly,
    never,
    random_words,
    start,
    until,
    watch_no_path,
)


class Outputs:
    """Takes words at every output with its own stalls and checks the handshake of each."""

    def __init__(self, dut: Any, stalls: list[Stalls]) -> None:
        self.dut = dut
        self.stalls = stalls
        self.taken: list[list[int]] = [[] for _ in stalls]
        self.cycles = 0  # cycles in which any output took a word

    async def run(self) -> None:
        """Take words for ever."""
        dut = self.dut
        offered: list[int | None] = [None] * len(self.stalls)
        while True:
            ready = sum(1 << index for index, stall in enumerate(self.stalls) if not next(stall))
            dut.m_ready.value = ready
            await RisingEdge(dut.clk)
            valid, word = int(dut.m_valid.value), int(dut.m_data.value)
            self.cycles += bool(valid & ready)
            for index in range(len(self.stalls)):
                if not valid >> index & 1:
                    assert offered[index] is None, "valid fell before the word was taken"
                    continue
                assert offered[index] in (None, word), "an offered word changed"
                offered[index] = None if ready >> index & 1 else word
                if ready >> index & 1:
                    self.taken[index].append(word)


def ends(dut: Any, count: int, source_stalls: Stalls, stalls: list[Stalls]) -> tuple[Source, Outputs, list[int]]:
    words = random_words(count, int(dut.WIDTH.value))
    return Source(Channel.generic(dut, "s"), words, source_stalls), Outputs(dut, stalls), [word for (word,) in words]


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def every_output_gets_every_word_once_and_in_order(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await start(dut)
    count = int(dut.OUTPUTS.value)
    source, outputs, words = ends(dut, 300, source_stalls(), [sink_stalls() for _ in range(count)])
    cocotb.start_soon(outputs.run())
    await source.run()
    await until(dut.clk, lambda: all(len(taken) >= len(words) for taken in outputs.taken), 1000)
    await cycles(dut.clk, 20)
    assert outputs.taken == [words] * count


@behaviour()
async def a_word_a_cycle_with_one_cycle_of_latency(dut: Any) -> None:
    await start(dut)
    count = int(dut.OUTPUTS.value)
    source, outputs, words = ends(dut, 200, never(), [never() for _ in range(count)])
    cocotb.start_soon(outputs.run())
    await source.run()
    assert (source.times_ps[-1] - source.times_ps[0]) // PERIOD_PS == len(words) - 1
    await RisingEdge(dut.clk)
    await Timer(1, "ps")
    assert outputs.taken == [words] * count


@behaviour()
async def an_output_does_not_wait_for_the_others(dut: Any) -> None:
    await start(dut)
    count = int(dut.OUTPUTS.value)
    source, _, words = ends(dut, 5, never(), [])
    cocotb.start_soon(source.run())
    await cycles(dut.clk, 5)
    for index in range(count):
        assert int(dut.m_valid.value) == ((1 << count) - 1) & ~((1 << index) - 1)
        assert int(dut.m_data.value) == words[0]
        dut.m_ready.value = 1 << index
        await cycles(dut.clk, 1)
        dut.m_ready.value = 0
        await cycles(dut.clk, 2)
    assert int(dut.m_valid.value) == (1 << count) - 1
    assert int(dut.m_data.value) == words[1]


@behaviour()
async def valid_does_not_follow_ready(dut: Any) -> None:
    await start(dut)
    count = int(dut.OUTPUTS.value)
    source, outputs, _ = ends(dut, 100, never(), [mostly() for _ in range(count)])
    cocotb.start_soon(outputs.run())
    cocotb.start_soon(source.run())
    for _ in range(200):
        await RisingEdge(dut.clk)
        await Timer(100, "ps")
        before, ready = int(dut.m_valid.value), int(dut.m_ready.value)
        dut.m_ready.value = ready ^ ((1 << count) - 1)
        await Timer(1, "ps")
        await ReadOnly()
        assert int(dut.m_valid.value) == before
        await Timer(1, "ps")
        dut.m_ready.value = ready


@behaviour()
async def ready_does_not_pass_through(dut: Any) -> None:
    await start(dut)
    count = int(dut.OUTPUTS.value)
    cocotb.start_soon(watch_no_path(dut.clk, dut.m_ready, dut.s_ready))
    source, outputs, _ = ends(dut, 200, never(), [bursts() for _ in range(count)])
    cocotb.start_soon(outputs.run())
    await source.run()


@behaviour()
async def reset_forgets_who_had_the_word_and_takes_nothing(dut: Any) -> None:
    await start(dut)
    count = int(dut.OUTPUTS.value)
    source, _, _ = ends(dut, 2, never(), [])
    await source.run()
    dut.m_ready.value = 1
    await cycles(dut.clk, 1)
    dut.m_ready.value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 2)
    assert int(dut.m_valid.value) == 0 and not dut.s_ready.value
    dut.rst.value = 0
    source, outputs, words = ends(dut, 10, never(), [never() for _ in range(count)])
    cocotb.start_soon(outputs.run())
    await source.run()
    await cycles(dut.clk, 5)
    assert outputs.taken == [words] * count
