"""What the buffer of words promises: any words written, any words read, in a fixed time."""

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, PATTERNS, PERIOD_PS, behaviour

WRITE_LATENCY = 2


@dataclass
class Model:
    """What lies in the memory, and when each word was last written."""

    dut: Any
    content: dict[int, int] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.words = int(self.dut.WORDS.value)
        self.lanes = len(self.dut.wr_en)
        self.latency = int(self.dut.READ_LATENCY.value)

    def known(self, address: int, cycle: int) -> int | None:
        """The word that a read beginning in `cycle` must return; None if any will do."""
        address %= self.words
        if address not in self.written or cycle < self.written[address] + WRITE_LATENCY:
            return None
        return self.content[address]


async def run(model: Model, count: int, writes: Any, reads: Any, address: Any, *, aligned: bool = False) -> int:
    """`count` cycles with random writes and reads at `address()`; returns how many words were checked."""
    dut, lanes = model.dut, model.lanes
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    edge = RisingEdge(dut.clk)
    pipe: deque[list[int | None]] = deque(maxlen=model.latency)
    checked = 0
    shown: int | None = None
    for cycle in range(count):
        mask, write_to = 0 if next(writes) else random.getrandbits(lanes), address()
        if random.random() < 0.5 and mask:
            mask = (1 << lanes) - 1
        data = random.getrandbits(32 * lanes)
        enabled, read_from = not next(reads), address()
        if aligned:
            write_to, read_from = write_to // lanes * lanes, read_from // lanes * lanes
        dut.wr_en.value, dut.wr_addr.value, dut.wr_data.value = mask, write_to, data
        dut.rd_en.value, dut.rd_addr.value = enabled, read_from
        await edge
        # The words of a read are judged as it begins: what is written afterwards is not in it.
        now = int(dut.rd_data.value)
        if len(pipe) == model.latency:
            for lane, expected in enumerate(pipe[0]):
                if expected is not None:
                    assert now >> 32 * lane & 0xFFFFFFFF == expected, (cycle, lane)
                    checked += 1
            assert shown in (None, now), "rd_data changed while rd_en was low"
        shown = None if enabled or len(pipe) < model.latency else now
        if enabled:
            pipe.append([model.known(read_from + lane, cycle) for lane in range(lanes)])
        for lane in range(lanes):
            if mask >> lane & 1:
                place = (write_to + lane) % model.words
                model.content[place] = data >> 32 * lane & 0xFFFFFFFF
                model.written[place] = cycle
                # A read that has just begun may meet it.
                if enabled:
                    pipe[-1] = [
                        None if (read_from + i) % model.words == place else word for i, word in enumerate(pipe[-1])
                    ]
    return checked


@behaviour()
@cocotb.parametrize((("writes", "reads"), PAIRS))
async def any_words_are_written_and_read_in_a_fixed_time(dut: Any, writes: Any, reads: Any) -> None:
    model = Model(dut)
    checked = await run(model, 3000, writes(), reads(), lambda: random.randrange(model.words))
    assert checked > 500


@behaviour()
async def whole_rows_are_written_and_read(dut: Any) -> None:
    model = Model(dut)
    checked = await run(model, 2000, PATTERNS[0](), PATTERNS[0](), lambda: random.randrange(model.words), aligned=True)
    assert checked > 500


@behaviour()
async def a_word_may_be_read_two_cycles_after_it_was_written(dut: Any) -> None:
    """Written and read one after the other, from end to end and around it."""
    model = Model(dut)
    places = [place % model.words for place in range(3 * model.words)]
    walk = iter([place for here in places for place in (here, (here - 2) % model.words)])
    checked = await run(model, len(places), PATTERNS[0](), PATTERNS[0](), lambda: next(walk))
    assert checked > len(places) // 4
