"""What the divider promises to eight threads that come by in turn."""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, behaviour

THREADS = 8
TOP = 0xFFFFFFFF

Operands = tuple[int, int]


async def start(dut: Any) -> None:
    """Start the clock and reset the divider."""
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    dut.request.value = 0
    dut.nonzero.value = 0
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


async def divide(dut: Any, cycles: int, operands: Callable[[], Operands | None]) -> Counter[int]:
    """Let every thread ask for divisions as they come; check all results; how many each thread got."""
    pending: list[Operands | None] = [None] * THREADS
    since = [0] * THREADS
    done: Counter[int] = Counter()
    nonzero_next = 0
    for cycle in range(cycles):
        thread = cycle % THREADS
        dut.nonzero.value = nonzero_next
        if pending[thread] is None:
            pending[thread] = operands()
            since[thread] = cycle
        current = pending[thread]
        dut.thread.value = thread
        dut.request.value = current is not None
        dividend, divisor = current or (random.getrandbits(32), random.getrandbits(32))
        dut.dividend.value, dut.divisor.value = dividend, divisor
        nonzero_next = int(divisor != 0)
        await RisingEdge(dut.clk)
        if current is None:
            assert not dut.ready.value
            continue
        if divisor == 0:
            # A thread that divides by 0 learns so from its own comparison and asks no more.
            assert not dut.ready.value
            pending[thread] = None
        elif dut.ready.value:
            assert (int(dut.quotient.value), int(dut.remainder.value)) == divmod(dividend, divisor)
            assert cycle - since[thread] <= THREADS * 6 * THREADS, "a thread waited for longer than all others take"
            pending[thread] = None
            done[thread] += 1
    return done


@behaviour()
async def quotients_and_remainders_are_exact(dut: Any) -> None:
    await start(dut)
    values = (0, 1, 2, 3, 7, 10, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001, TOP - 1, TOP)
    pairs = itertools.product(values, values[1:])
    wide = ((random.getrandbits(32), random.getrandbits(random.randint(1, 32)) or 1) for _ in range(300))
    work = itertools.chain(pairs, wide)
    done = await divide(dut, 480 * 48, lambda: next(work, None))
    assert done.total() == 12 * 13 + 300


@behaviour()
async def one_thread_alone_gets_a_result_every_40_cycles(dut: Any) -> None:
    await start(dut)
    turn = itertools.count()
    done = await divide(dut, 4000, lambda: (TOP, 3) if next(turn) % THREADS == 0 else None)
    assert done.total() > 0
    busy = await divide(dut, 4000, lambda: (TOP, 3))
    assert busy.total() >= 4000 // 48 - 1


@behaviour()
async def threads_get_it_in_turn(dut: Any) -> None:
    await start(dut)
    done = await divide(dut, 48 * 8 * 10, lambda: (random.getrandbits(32), 9))
    assert len(done) == THREADS
    assert max(done.values()) - min(done.values()) <= 1


@behaviour()
async def divisors_of_0_do_not_hold_it(dut: Any) -> None:
    await start(dut)
    done = await divide(dut, 8000, lambda: (random.getrandbits(32), random.choice((0, 0, 5))))
    assert done.total() > 60


@behaviour()
async def a_thread_that_gives_up_does_not_keep_it(dut: Any) -> None:
    await start(dut)
    dut.request.value, dut.thread.value, dut.dividend.value, dut.divisor.value = 1, 5, 100, 7
    await RisingEdge(dut.clk)
    dut.request.value, dut.nonzero.value = 0, 1
    for cycle in range(6, 60):
        dut.thread.value = cycle % THREADS
        await RisingEdge(dut.clk)
        assert not dut.ready.value
    done = await divide(dut, 200, lambda: (TOP, 10))
    assert done.total() > 0
