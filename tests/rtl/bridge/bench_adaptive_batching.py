"""adaptive_batching does in each cycle what its law in Python does. What the law is worth: test_adaptive_batching."""

import random
from typing import Any

import cocotb
from bridge.bench_adaptive_batching_model import UNIT_LOG2, WORD32, Batching, Law
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from headrace.testing.streams import PERIOD_PS, behaviour, cycles

INPUTS = "enable target_ns most closed taken posted window packets gap_min"


def bits(batching: Batching) -> int:
    """The value of batching_t."""
    return batching.single << 49 | batching.bytes << 32 | batching.timeout_ns


async def compare(dut: Any, law: Law, count: int, scale: int, busy: float, takes: float = 0.3) -> list[Batching]:
    """`count` cycles of up to `scale` ns, in `busy` of which a batch is closed, in `takes` software takes one; returns
    what was chosen in each."""
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    for name in INPUTS.split():
        getattr(dut, name).value = 0
    now = random.getrandbits(63)
    dut.time_ns.value = now
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    dut.rst.value = 0
    chosen: list[Batching] = []
    for _ in range(count):
        closed = random.random() < busy
        taken, posted = random.random() < takes, random.random() < 0.3
        window = random.random() < 0.1
        packets = random.choice((0, 1, 5))
        gap_min = random.choice((1, law.target // 2, 2 * law.target, WORD32)) & WORD32
        dut.time_ns.value = now
        dut.enable.value, dut.target_ns.value, dut.most.value = law.enable, law.target, bits(law.most)
        dut.closed.value, dut.taken.value, dut.posted.value, dut.window.value = closed, taken, posted, window
        dut.packets.value, dut.gap_min.value = packets, gap_min
        await ReadOnly()
        assert int(dut.chosen.value) == bits(law.chosen())
        assert int(dut.service_ns.value) == law.service << UNIT_LOG2
        assert int(dut.watch.value) == law.watch()
        chosen.append(law.chosen())
        idle = bool(dut.idle.value)
        before = law.chosen()
        await RisingEdge(dut.clk)
        law.step(now, closed, taken, posted, window, packets, gap_min)
        assert not idle or law.chosen() == before, "idle, and yet the choice changed"
        now += random.choice((0, 3, 4, scale // 10, scale))
    return chosen


def some_limits() -> Batching:
    """What software may allow."""
    size = random.choice((0, 1500, 2048, 2500, 16384, 65536, 131071))
    return Batching(random.random() < 0.1, size, random.choice((0, 1, 20_000, 10_000_000, WORD32)))


@behaviour()
@cocotb.parametrize((("busy", "takes"), [(0.02, 0.4), (0.2, 0.2), (0.5, 0.4)]), scale=[100, 10_000, 1_000_000])
async def it_follows_its_law(dut: Any, scale: int, busy: float, takes: float) -> None:
    for target in (20_000, 10_000_000, random.getrandbits(32)):
        chosen = await compare(dut, Law(target, some_limits()), 400, scale, busy, takes)
        assert chosen


@behaviour()
async def the_law_uses_all_its_ways(dut: Any) -> None:
    law = Law(100_000, Batching(False, 65536, 0))
    chosen = await compare(dut, law, 4000, 30_000, 0.05)
    assert {choice.single for choice in chosen} == {False, True}
    assert len({choice.bytes for choice in chosen}) > 2
    assert len({choice.timeout_ns for choice in chosen}) > 20


@behaviour()
async def more_batches_than_it_remembers_are_counted(dut: Any) -> None:
    law = Law(5_000_000, Batching(False, 65536, 0))
    await compare(dut, law, 600, 1000, 0.9)
    assert law.crowd > 100


@behaviour()
async def when_it_is_not_enabled_software_chooses(dut: Any) -> None:
    most = Batching(False, 32768, 12345)
    assert set(await compare(dut, Law(20_000, most, enable=False), 300, 10_000, 0.2)) == {most}
