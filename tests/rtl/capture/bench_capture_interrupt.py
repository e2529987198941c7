"""What the interrupts promise: causes are levels, each arming gives one interrupt, and time is the card's."""

import random
from typing import Any

import cocotb
from capture.host import start
from cocotb.triggers import RisingEdge

from headrace.testing.streams import behaviour, cycles, until

NEVER = 0xFFFFFFFF
NS_A_CYCLE = 5


class Bench:
    """The registers around the block, and the interrupts that came: (vector, time)."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.armed = 0
        self.came: list[tuple[int, int]] = []
        self.now = random.getrandbits(60)
        self.ns_a_cycle = NS_A_CYCLE
        self.takes = True

    async def start(self) -> "Bench":
        dut = self.dut
        dut.watermark.value = NEVER
        dut.time_ns.value = self.now
        await start(dut, "producer", "consumer", "timeout_ns", "error", "armed", "irq_ready")
        cocotb.start_soon(self.watch())
        await cycles(dut.clk, 4)
        assert dut.idle.value
        return self

    async def watch(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        offered = None
        while True:
            dut.armed.value = self.armed
            dut.irq_ready.value = int(self.takes)
            await edge
            self.now += self.ns_a_cycle
            dut.time_ns.value = self.now
            self.armed &= ~int(dut.disarm.value)
            if dut.irq_valid.value:
                vector = int(dut.irq_vector.value)
                assert offered in (None, vector) and not dut.irq_function.value
                offered = vector
                if dut.irq_ready.value:
                    self.came.append((vector, self.now))
                    offered = None
            else:
                assert offered is None, "an interrupt was withdrawn"

    @property
    def vectors(self) -> list[int]:
        return [vector for vector, _ in self.came]


@behaviour()
async def the_watermark_is_a_level_and_each_arming_gives_one(dut: Any) -> None:
    bench = await Bench(dut).start()
    dut.watermark.value = 100
    bench.armed = 1
    base = random.getrandbits(32)
    dut.producer.value = dut.consumer.value = base
    await cycles(dut.clk, 5)
    dut.producer.value = (base + 99) % (1 << 32)
    await cycles(dut.clk, 20)
    assert not bench.came
    dut.producer.value = (base + 100) % (1 << 32)
    await cycles(dut.clk, 20)
    assert bench.vectors == [0] and not bench.armed
    dut.producer.value = (base + 500) % (1 << 32)
    await cycles(dut.clk, 20)
    assert bench.vectors == [0]
    bench.armed = 1
    await cycles(dut.clk, 20)
    assert bench.vectors == [0, 0]
    dut.consumer.value = (base + 450) % (1 << 32)
    await cycles(dut.clk, 4)
    bench.armed = 1
    await cycles(dut.clk, 20)
    assert bench.vectors == [0, 0] and bench.armed == 1


@behaviour()
@cocotb.parametrize(timeout=[1, 200, 1000])
async def a_record_waits_no_longer_than_the_timeout(dut: Any, timeout: int) -> None:
    bench = await Bench(dut).start()
    dut.timeout_ns.value = timeout
    bench.armed = 1
    await cycles(dut.clk, 500)
    assert not bench.came and dut.idle.value
    dut.producer.value = 60
    began = bench.now
    await cycles(dut.clk, 20)
    assert bench.came or not dut.idle.value  # a timer runs
    dut.producer.value = 120  # a second record does not start the wait anew
    await until(dut.clk, lambda: bool(bench.came), 400)
    assert timeout <= bench.came[0][1] - began <= timeout + 8 * NS_A_CYCLE + 20 * NS_A_CYCLE * (timeout == 1)
    dut.consumer.value = 60  # what is left waits anew
    began = bench.now
    await cycles(dut.clk, 3)
    bench.armed = 1
    await until(dut.clk, lambda: len(bench.came) == 2, 400)
    assert timeout <= bench.came[1][1] - began <= timeout + 8 * NS_A_CYCLE
    dut.consumer.value = 120
    await cycles(dut.clk, 3)
    bench.armed = 1
    await cycles(dut.clk, 500)
    assert len(bench.came) == 2 and dut.idle.value


@behaviour()
@cocotb.parametrize(timeout=[1, 1000, 0xFFFFFFFF])
async def the_timeout_is_over_after_exactly_that_time(dut: Any, timeout: int) -> None:
    bench = await Bench(dut).start()
    bench.ns_a_cycle = 0
    dut.timeout_ns.value = timeout
    bench.armed = 1
    dut.producer.value = 60
    await cycles(dut.clk, 10)
    bench.now += timeout - 1
    await cycles(dut.clk, 20)
    assert not bench.came
    bench.now += 1
    await cycles(dut.clk, 20)
    assert bench.vectors == [0]


@behaviour()
async def without_a_timeout_nothing_comes_however_long_it_waits(dut: Any) -> None:
    bench = await Bench(dut).start()
    bench.armed = 3
    dut.producer.value = 16
    await cycles(dut.clk, 1000)
    assert not bench.came and dut.idle.value and bench.armed == 3


@behaviour()
async def not_armed_nothing_comes(dut: Any) -> None:
    bench = await Bench(dut).start()
    dut.watermark.value = dut.timeout_ns.value = 1
    dut.producer.value = 100
    dut.error.value = 1
    await cycles(dut.clk, 100)
    assert not bench.came and dut.idle.value


@behaviour()
async def an_error_goes_first_and_has_its_own_arming(dut: Any) -> None:
    bench = await Bench(dut).start()
    dut.watermark.value = 1
    dut.producer.value = 100
    dut.error.value = 1
    await cycles(dut.clk, 5)
    bench.armed = 3
    await cycles(dut.clk, 20)
    assert bench.vectors == [1, 0] and not bench.armed
    bench.armed = 2
    await cycles(dut.clk, 20)
    assert bench.vectors == [1, 0, 1]


@behaviour()
async def an_interrupt_waits_until_it_is_taken(dut: Any) -> None:
    bench = await Bench(dut).start()
    bench.takes = False
    bench.armed = 2
    dut.error.value = 1
    await cycles(dut.clk, 5)
    dut.error.value = 0
    await cycles(dut.clk, 50)
    assert dut.irq_valid.value and not dut.idle.value
    bench.takes = True
    await cycles(dut.clk, 5)
    assert bench.vectors == [1] and dut.idle.value


@behaviour()
async def it_is_idle_only_while_no_interrupt_can_come_by_itself(dut: Any) -> None:
    """The simulation skips time while all is idle: an interrupt in an idle time would be late."""
    bench = await Bench(dut).start()
    undisturbed = 0  # cycles in which it was idle and nothing was done to it
    for _ in range(6000):
        deeds: dict[float, Any] = {
            0.004: lambda: setattr(dut.producer, "value", random.randrange(1000, 2000)),
            0.008: lambda: setattr(dut.consumer, "value", random.randrange(1000)),
            0.014: lambda: setattr(bench, "armed", bench.armed | random.randrange(4)),
            0.016: lambda: setattr(dut.watermark, "value", random.choice((1, 500, NEVER))),
            0.018: lambda: setattr(dut.timeout_ns, "value", random.choice((0, 20, 100))),
            0.020: lambda: setattr(dut.error, "value", random.getrandbits(1)),
        }
        dice = random.random()
        deed = next((deeds[limit] for limit in deeds if dice < limit), None)
        if deed:
            deed()
        before = len(bench.came)
        await cycles(dut.clk, 1)
        assert len(bench.came) == before or undisturbed < 3
        undisturbed = 0 if deed or not dut.idle.value else undisturbed + 1
    assert len(bench.came) > 10


@behaviour()
async def reset_takes_it_back(dut: Any) -> None:
    bench = await Bench(dut).start()
    bench.takes = False
    bench.armed = 2
    dut.error.value = 1
    await cycles(dut.clk, 5)
    dut.error.value = 0
    await RisingEdge(dut.clk)
    dut.rst.value = 1
    bench.armed = 0
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    assert not dut.irq_valid.value and not dut.disarm.value
