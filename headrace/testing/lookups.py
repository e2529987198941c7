"""Looks keys up in a table while operations change it, and judges each answer by the states that the table had since.

A lookup may see the table as it was before an operation in progress or as it is after, and once it is done only so.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import RisingEdge

from headrace.testing.streams import Stalls

State = Callable[[int], int | None]  # what a table answers to a key; None: no hit


@dataclass
class Lookup:
    """One that is under way."""

    begun: int
    key: int
    answers: set[int | None]


class Lookups:
    """Drives the lookups and operations of a table; its result is the signal `answer`."""

    def __init__(self, dut: Any, answer: str, latency: int, stalls: Stalls, draw: Callable[[], int]) -> None:
        self.dut, self.answer, self.latency, self.stalls, self.draw = dut, getattr(dut, answer), latency, stalls, draw
        self.states: list[State] = [lambda _: None]
        self.under_way: deque[Lookup] = deque()
        self.now = self.judged = self.hits = self.undecided = 0

    async def cycle(self, coming: list[State] | None = None) -> bool:
        """One clock cycle. An operation that leads to the states `coming` is offered; true if the table takes it."""
        asks, key = not next(self.stalls), self.draw()
        self.dut.key_valid.value, self.dut.key.value = int(asks), key
        self.dut.op_valid.value = int(coming is not None)
        await RisingEdge(self.dut.clk)
        self.now += 1
        taken = coming is not None and bool(self.dut.op_ready.value)
        if taken and coming:
            self.states += coming
            for lookup in self.under_way:
                lookup.answers |= {state(lookup.key) for state in coming}
        if asks:
            self.under_way.append(Lookup(self.now, key, set()))
        return taken

    def judge(self) -> None:
        """Judge what the cycle brought; an operation that it ended has left its one state by now."""
        if self.under_way and self.under_way[-1].begun == self.now:
            lookup = self.under_way[-1]
            lookup.answers = {state(lookup.key) for state in self.states}
        due = bool(self.under_way) and self.under_way[0].begun + self.latency == self.now
        assert bool(self.dut.result_valid.value) == due, "an answer after another number of cycles"
        if due:
            lookup = self.under_way.popleft()
            answer = int(self.answer.value) if self.dut.hit.value else None
            assert answer in lookup.answers, f"{lookup.key:#x} led to {answer}, not to one of {lookup.answers}"
            self.judged += 1
            self.hits += answer is not None
            self.undecided += len(lookup.answers) > 1

    async def run(self, cycles: int) -> None:
        """Lookups without an operation."""
        for _ in range(cycles):
            await self.cycle()
            assert not self.dut.op_done.value
            self.judge()

    async def operate(self, coming: list[State], ends: Callable[[], State], **signals: int) -> int:
        """An operation until it is done; `ends` then says what state it left. The cycles that it took."""
        for name, value in signals.items():
            getattr(self.dut, name).value = value
        while not await self.cycle(coming):
            self.judge()
        begun = self.now
        self.judge()
        while True:
            await self.cycle()
            done = bool(self.dut.op_done.value)
            if done:
                self.states = [ends()]
            self.judge()
            if done:
                return self.now - begun
            assert self.now - begun < 10000, "an operation without end"
