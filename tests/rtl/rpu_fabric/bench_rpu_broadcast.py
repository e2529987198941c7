"""What the broadcast of units promises: a store reaches all others that are awake, once, in the same order."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, behaviour, cycles, never, start, until

WORD_W = 60  # rpu_pkg::word_t


class Bench:
    """Offers each unit's stores in order and notes what each of the others takes."""

    def __init__(self, dut: Any, stores: list[list[int]], s_stalls: Any, m_stalls: Any) -> None:
        self.dut, self.stores = dut, stores
        self.units = int(dut.UNITS.value)
        self.s_stalls, self.m_stalls = [s_stalls() for _ in stores], [m_stalls() for _ in stores]
        self.sent: list[tuple[int, int]] = []  # unit, word
        self.taken: list[list[int]] = [[] for _ in stores]

    async def run(self) -> None:
        """Until it is stopped."""
        dut, edge, places = self.dut, RisingEdge(self.dut.clk), [0] * self.units
        offered = [False] * self.units
        while True:
            words = valid = ready = 0
            for unit, stores in enumerate(self.stores):
                offered[unit] = places[unit] < len(stores) and (offered[unit] or not next(self.s_stalls[unit]))
                word = stores[places[unit]] if offered[unit] else random.getrandbits(WORD_W)
                valid |= offered[unit] << unit
                words |= word << WORD_W * unit
                ready |= (not next(self.m_stalls[unit])) << unit
            dut.s_valid.value, dut.s_word.value, dut.m_ready.value = valid, words, ready
            await edge
            took, gives = int(dut.s_ready.value) & valid, int(dut.m_valid.value) & ready
            assert took == 0 or took & (took - 1) == 0, "two stores at once"
            for unit in range(self.units):
                if took >> unit & 1:
                    self.sent.append((unit, self.stores[unit][places[unit]]))
                    places[unit] += 1
                    offered[unit] = False
                if gives >> unit & 1:
                    self.taken[unit].append(int(dut.m_word.value))


async def begin(dut: Any, stores: list[list[int]], asleep: int, stalls: Any, m_stalls: Any) -> Bench:
    dut.asleep.value = asleep
    await start(dut)
    bench = Bench(dut, stores, stalls, m_stalls)
    cocotb.start_soon(bench.run())
    return bench


def random_stores(dut: Any, count: int, asleep: int = 0) -> list[list[int]]:
    units = range(int(dut.UNITS.value))
    return [[] if asleep >> unit & 1 else [random.getrandbits(WORD_W) for _ in range(count)] for unit in units]


@behaviour()
@cocotb.parametrize((("stalls", "m_stalls"), PAIRS))
async def a_store_reaches_all_others_once_and_in_one_order(dut: Any, stalls: Any, m_stalls: Any) -> None:
    units = int(dut.UNITS.value)
    asleep = random.getrandbits(units) & ~1
    stores = random_stores(dut, 12, asleep)
    bench = await begin(dut, stores, asleep, stalls, m_stalls)
    count = sum(map(len, stores))
    await until(dut.clk, lambda: len(bench.sent) == count, 100 * count * units)
    await until(dut.clk, lambda: bool(dut.idle.value), 100)
    await cycles(dut.clk, 3)
    for unit in range(units):
        assert [word for sender, word in bench.sent if sender == unit] == stores[unit]
        others = [word for sender, word in bench.sent if sender != unit]
        assert bench.taken[unit] == ([] if asleep >> unit & 1 else others)


@behaviour()
async def who_falls_asleep_holds_up_no_other(dut: Any) -> None:
    """Nor does it get what it hasn't taken when it wakes up."""
    units = int(dut.UNITS.value)
    if units == 1:
        return
    stores = [[random.getrandbits(WORD_W) for _ in range(4)], *([] for _ in range(units - 1))]
    bench = await begin(dut, stores, 0, never, never)
    bench.m_stalls[-1] = iter(lambda: True, None)  # never takes anything
    await cycles(dut.clk, 50)
    assert len(bench.sent) == 1 and not dut.idle.value
    dut.asleep.value = 1 << units - 1
    await until(dut.clk, lambda: len(bench.sent) == 4 and bool(dut.idle.value), 8 * units + 50)
    dut.asleep.value = 0
    bench.m_stalls[-1] = never()
    await cycles(dut.clk, 5)
    assert bench.taken[1:] == [stores[0]] * (units - 2) + [[]]
