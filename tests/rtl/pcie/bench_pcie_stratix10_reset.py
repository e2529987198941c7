"""What function-level resets promise: each that the IP begins is asked for once, and the IP hears of its end."""

import random
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, behaviour, cycles, until


@behaviour()
async def every_reset_is_asked_for_once_and_answered(dut: Any) -> None:
    """An IP that keeps a physical function's bit set until the end, and names a virtual one once; an engine that
    finishes resets in any order; VFs of others, which nobody asks for."""
    functions, physical = int(dut.FUNCTIONS.value), int(dut.PHYSICAL.value)
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    for name in ("flr_pf_active", "flr_rcvd_vf", "flr_rcvd_pf_num", "flr_rcvd_vf_num", "flr_ready", "flr_done"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    dut.rst.value = 0
    active = 0
    in_reset: set[int] = set()
    over: list[int] = []  # in this cycle: a physical function's bit is down in the next one
    waiting: list[int] = []
    begun = dict.fromkeys(range(functions), 0)
    asked, ended = dict(begun), dict(begun)
    for cycle in range(5000):
        dut.flr_rcvd_vf.value = 0
        dut.flr_rcvd_pf_num.value, dut.flr_rcvd_vf_num.value = random.getrandbits(2), random.getrandbits(11)
        function = random.randrange(functions)
        if random.random() < 0.05:  # of another physical function, or one that there isn't
            stranger = random.choice(((random.randint(1, 3), random.randrange(functions)), (0, functions - physical)))
            dut.flr_rcvd_vf.value = 1
            dut.flr_rcvd_pf_num.value, dut.flr_rcvd_vf_num.value = stranger
        elif cycle < 4000 and random.random() < 0.3 and function not in in_reset and function not in over:
            in_reset.add(function)
            begun[function] += 1
            if function < physical:
                active |= 1 << function
            else:
                dut.flr_rcvd_vf.value, dut.flr_rcvd_pf_num.value = 1, 0
                dut.flr_rcvd_vf_num.value = function - physical
        dut.flr_pf_active.value = active
        dut.flr_ready.value = random.getrandbits(1)
        finishes = bool(waiting) and random.random() < 0.1
        dut.flr_done.value = int(finishes)
        dut.flr_done_func.value = waiting.pop(random.randrange(len(waiting))) if finishes else random.getrandbits(16)
        await RisingEdge(dut.clk)
        if dut.flr_valid.value and dut.flr_ready.value:
            function = int(dut.flr_func.value)
            asked[function] += 1
            assert asked[function] == begun[function], "asked for twice, or for nothing"
            waiting.append(function)
        over = [number for number in range(physical) if int(dut.flr_pf_done.value) >> number & 1]
        if dut.flr_completed_vf.value:
            assert int(dut.flr_completed_pf_num.value) == 0
            over.append(physical + int(dut.flr_completed_vf_num.value))
        assert len(over) <= 1
        for function in over:
            in_reset.remove(function)
            ended[function] += 1
            active &= ~(1 << function)
    assert begun == asked == ended and min(begun.values()) > 1


@behaviour()
async def all_at_once(dut: Any) -> None:
    functions, physical = int(dut.FUNCTIONS.value), int(dut.PHYSICAL.value)
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    for name in ("flr_pf_active", "flr_rcvd_vf", "flr_rcvd_pf_num", "flr_rcvd_vf_num", "flr_ready", "flr_done"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    dut.rst.value = 0
    dut.flr_pf_active.value = (1 << physical) - 1
    for number in range(functions - physical):
        dut.flr_rcvd_vf.value, dut.flr_rcvd_vf_num.value = 1, number
        await RisingEdge(dut.clk)
    dut.flr_rcvd_vf.value = 0
    asked: list[int] = []
    dut.flr_ready.value = 1

    def all_asked() -> bool:
        if dut.flr_valid.value:
            asked.append(int(dut.flr_func.value))
        return len(asked) == functions

    await RisingEdge(dut.clk)
    await until(dut.clk, all_asked, 4 * functions + 10)
    assert sorted(asked) == list(range(functions))
