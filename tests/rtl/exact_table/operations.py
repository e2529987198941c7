"""Asks an exact table for operations and keeps what it must then have."""

import random
from enum import IntEnum
from typing import Any

from headrace.testing.lookups import Lookups, State
from headrace.testing.streams import Stalls, start


class Op(IntEnum):
    INSERT = 0
    CHANGE = 1
    REMOVE = 2


class Answer(IntEnum):
    DONE = 0
    EXISTS = 1
    NOT_FOUND = 2
    FULL = 3


class Table:
    """The table under test and the entries that it must have."""

    def __init__(self, dut: Any, stalls: Stalls, pool: list[int]) -> None:
        self.dut, self.pool = dut, pool
        self.size, self.results = int(dut.ENTRIES.value), int(dut.RESULT_W.value)
        self.entries: dict[int, int] = {}
        self.lookups = Lookups(dut, "result", 8, stalls, lambda: random.choice(self.pool))
        self.lookups.states = [self.entries.get]

    def with_key(self, key: int, result: int | None) -> State:
        """The table's state with another result for one key; None: without it."""
        return lambda asked: result if asked == key else self.entries.get(asked)

    async def operate(self, op: Op, key: int) -> tuple[Answer, int]:
        """The table's answer, which must be right, and the cycles until it came."""
        result = random.getrandbits(self.results)
        there = key in self.entries
        works = there != (op == Op.INSERT)
        answer = Answer.DONE

        def end() -> State:
            nonlocal answer
            answer = Answer(int(self.dut.op_answer.value))
            if answer == Answer.DONE and op == Op.REMOVE:
                del self.entries[key]
            elif answer == Answer.DONE:
                self.entries[key] = result
            return self.entries.get

        coming = [self.with_key(key, None if op == Op.REMOVE else result)] if works else []
        cycles = await self.lookups.operate(coming, end, op=op, op_key=key, op_result=result)
        if works:
            assert answer == Answer.DONE or (op == Op.INSERT and answer == Answer.FULL)
        else:
            assert answer == (Answer.EXISTS if there else Answer.NOT_FOUND)
        return answer, cycles

    async def ready(self) -> int:
        """Lookups until entries have moved; the cycles that it took."""
        cycles = 0
        while not self.dut.op_ready.value:
            await self.lookups.run(1)
            cycles += 1
            assert cycles < 5000, "entries move for ever"
        return cycles


async def begin(dut: Any, stalls: Stalls, pool: list[int]) -> Table:
    dut.key_valid.value = dut.op_valid.value = 0
    await start(dut)
    table = Table(dut, stalls, pool)
    await table.ready()
    return table
