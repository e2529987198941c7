"""What a filter core promises: libpcap's verdicts on every frame, in order of arrival, and its rows until they are released."""

import random
from typing import Any

import cocotb
from filter.core import SLOTS, Core, Frame, judge
from oracle import random_packets, random_programs
from streams import bursts, mostly, never, seldom


def behaviour() -> Any:
    """Decorator of a cocotb test: one thing that the block promises."""
    return cocotb.test(timeout_time=10, timeout_unit="ms")


def frames(seed: int, count: int, max_frame: int = 9216) -> list[Frame]:
    return [Frame(packet.data, packet.wirelen) for packet in random_packets(seed, count, max_frame)]


@behaviour()
async def verdicts_are_those_of_libpcap(dut: Any) -> None:
    core = Core(dut, forward=0.2)
    await core.start()
    for number, program in enumerate(random_programs(1, 300, max_length=1024)):
        some = frames(number, 20)
        await core.load({0: program})
        assert await core.run(some) == judge(some, {0: program}), program


@behaviour()
async def four_programs_run_on_each_frame(dut: Any) -> None:
    core = Core(dut, arrive=seldom(), take=bursts(), fetch=mostly(), forward=0.5)
    await core.start()
    programs = list(random_programs(2, 200, max_length=200))
    for number in range(100):
        some = frames(1000 + number, 20)
        slots = {slot: random.choice(programs) for slot in range(SLOTS) if random.random() < 0.8}
        measure = random.choice([None, *slots])
        await core.load(slots, measure=measure)
        assert await core.run(some) == judge(some, slots, measure), (slots, measure)
