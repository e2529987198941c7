"""What function-level resets promise: each that the block begins is asked for once, and the block hears of its end."""

import random
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, behaviour, cycles


@behaviour()
async def every_reset_is_asked_for_once_and_answered(dut: Any) -> None:
    """A block that keeps a function in reset until it is done, and out of it for a while; an engine that finishes
    resets in any order."""
    functions, first_vf = int(dut.FUNCTIONS.value), int(dut.FIRST_VF.value)
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    for name in ("cfg_flr_in_process", "cfg_vf_flr_in_process", "flr_ready", "flr_done"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    dut.rst.value = 0
    physical, virtual = 0, 0  # in reset, by function of the block and by number of the VF
    waiting: list[int] = []
    begun = dict.fromkeys(range(functions), 0)
    asked, ended, since = dict(begun), dict(begun), dict(begun)
    for cycle in range(6000):
        function = random.randrange(functions)
        held = physical & 1 if function == 0 else virtual >> (first_vf - 4 + function - 1) & 1
        if cycle < 5000 and random.random() < 0.1 and not held and cycle > since[function] + 50:
            begun[function] += 1
            if function == 0:
                physical |= 1
            else:
                virtual |= 1 << (first_vf - 4 + function - 1)
        dut.cfg_flr_in_process.value, dut.cfg_vf_flr_in_process.value = physical, virtual
        dut.flr_ready.value = random.getrandbits(1)
        finishes = bool(waiting) and random.random() < 0.1
        dut.flr_done.value = int(finishes)
        dut.flr_done_func.value = waiting.pop(random.randrange(len(waiting))) if finishes else random.getrandbits(16)
        await RisingEdge(dut.clk)
        if dut.flr_valid.value and dut.flr_ready.value:
            function = int(dut.flr_func.value)
            asked[function] += 1
            assert asked[function] == begun[function]
            waiting.append(function)
        if dut.cfg_flr_done.value:
            assert int(dut.cfg_flr_done.value) == 1 and physical == 1
            physical, ended[0], since[0] = 0, ended[0] + 1, cycle
        if dut.cfg_vf_flr_done.value:
            number = int(dut.cfg_vf_flr_func_num.value) - 4
            assert virtual >> number & 1, "a function that is not in reset"
            virtual &= ~(1 << number)
            function = number - (first_vf - 4) + 1
            ended[function], since[function] = ended[function] + 1, cycle
    assert begun == asked == ended and min(begun.values()) > 1
