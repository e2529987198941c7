"""What the division into seconds and nanoseconds promises: Python's divmod, a packet every second cycle in a second."""

import random
from typing import Any

import cocotb
from capture.host import start
from capture.packets import SECOND, Packet
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, PERIOD_PS, Channel, Sink, Source, Stalls, behaviour, cycles, never, until

LONGEST = 1 << 32  # seconds that a record's header can tell


async def run(dut: Any, times: list[int], source_stalls: Stalls, sink_stalls: Stalls) -> tuple[Source, Sink]:
    """Send packets of these times; check what comes out."""
    packets = [Packet(random.getrandbits(16), random.getrandbits(32), time, random.getrandbits(1)) for time in times]
    channel = Channel(dut.clk, dut.s_valid, dut.s_ready, (dut.s_packet,))
    source = Source(channel, [(packet.pack(),) for packet in packets], source_stalls)
    sink = Sink(Channel(dut.clk, dut.m_valid, dut.m_ready, (dut.m_packet, dut.m_sec, dut.m_nsec)), sink_stalls)
    cocotb.start_soon(sink.run())
    await source.run()
    await until(dut.clk, lambda: len(sink.taken) >= len(packets), 2000)
    await cycles(dut.clk, 5)
    assert sink.taken == [(packet.pack(), *divmod(packet.time_ns, SECOND)) for packet in packets]
    return source, sink


async def ready(dut: Any, time_ns: int) -> None:
    dut.time_ns.value = time_ns
    await start(dut, "s_valid", "m_ready")


def around(second: int) -> list[int]:
    """Times at a second's ends."""
    return [second * SECOND + part for part in (0, 1, 999_999_998, 999_999_999, random.randrange(SECOND))]


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def any_time_becomes_seconds_and_nanoseconds(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await ready(dut, random.randrange(LONGEST * SECOND))
    times = [time for _ in range(3) for time in around(random.randrange(LONGEST))]
    times += [0, 1, SECOND - 1, SECOND, LONGEST * SECOND - 1, (1 << 31) * SECOND, (1 << 63) - 1]
    times += [time for year in range(0, 60, 12) for time in around(year * 31_556_952)]
    random.shuffle(times)
    await run(dut, [time % (LONGEST * SECOND) for time in times], source_stalls(), sink_stalls())


@behaviour()
async def packets_of_one_second_take_two_cycles_each(dut: Any) -> None:
    second = random.randrange(LONGEST)
    await ready(dut, second * SECOND)
    await cycles(dut.clk, 60)  # it follows the clock
    times = sorted(second * SECOND + random.randrange(SECOND) for _ in range(200))
    source, sink = await run(dut, times, never(), never())
    assert sink.times_ps[-1] - sink.times_ps[0] == 2 * (len(times) - 1) * PERIOD_PS
    assert sink.times_ps[0] - source.times_ps[0] == 2 * PERIOD_PS


@behaviour()
async def another_second_costs_a_division(dut: Any) -> None:
    await ready(dut, 5 * SECOND)
    await cycles(dut.clk, 60)
    source, sink = await run(dut, [70 * SECOND, 70 * SECOND + 1, 71 * SECOND], never(), never())
    assert (sink.times_ps[-1] - source.times_ps[0]) // PERIOD_PS <= 2 * 40


@behaviour()
async def the_clock_is_followed_across_seconds(dut: Any) -> None:
    now = 1_700_000_000 * SECOND + 999_999_000
    await ready(dut, now)
    for _ in range(700):
        await RisingEdge(dut.clk)
        now += 3
        dut.time_ns.value = now
    _, sink = await run(dut, [now, now + 1], never(), never())
    assert sink.times_ps[1] - sink.times_ps[0] == 2 * PERIOD_PS


@behaviour()
async def back_and_forth_between_seconds(dut: Any) -> None:
    await ready(dut, 0)
    times = [second * SECOND + random.randrange(SECOND) for second in [9, 8, 9, 9, 10, 8, LONGEST - 1, 0] * 3]
    await run(dut, times, never(), never())


@behaviour()
@cocotb.parametrize(wait=[0, 1, 10, 39])
async def reset_forgets_a_packet_and_a_division(dut: Any, wait: int) -> None:
    await ready(dut, 0)
    await Source(
        Channel(dut.clk, dut.s_valid, dut.s_ready, (dut.s_packet,)), [(Packet(1, 1, SECOND - 1).pack(),)], never()
    ).run()
    dut.s_packet.value = Packet(1, 1, 12345 * SECOND).pack()
    dut.s_valid.value = 1
    await cycles(dut.clk, wait)
    dut.rst.value = 1
    dut.s_valid.value = 0
    await cycles(dut.clk, 2)
    assert not dut.m_valid.value
    dut.rst.value = 0
    await run(dut, [7 * SECOND + 7, 5, 12345 * SECOND + 1], never(), never())
