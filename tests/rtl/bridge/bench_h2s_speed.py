"""How fast H2S is: 10 Gb/s at every size without end, and express packets that don't wait for batches."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from bridge.h2s_host import BULK, EXPRESS, Settings, Setup
from bridge.noc_packets import Header, Packet, header_beats

from headrace.testing.streams import behaviour, cycles

CLOCK_HZ = 322.265625e6
MICROSECOND = 322  # in cycles
BURST = 16


def wire_cycles(size: int) -> float:
    """Cycles that a frame takes on a wire of 10 Gb/s, with FCS, preamble and gap."""
    return (size + 4 + 20) * 8 / 10e9 * CLOCK_HZ


def paced(setup: Setup, size: int) -> Iterator[bool]:
    """Stalls of packets that come as the wire brings them, each without a gap within."""
    length = -(-size * 8 // setup.width) + header_beats(setup.width)
    first = setup.number
    for number in itertools.count():
        while setup.number < first + number * wire_cycles(size):
            yield True
        yield from itertools.repeat(False, length)


def plain(size: int, count: int) -> list[Packet]:
    """Packets of one size that are not critical."""
    return [Packet(Header.random(critical=0), random.randbytes(size)) for _ in range(count)]


@behaviour()
@cocotb.parametrize(size=[60, 61, 64, 65, 257, 1513, 1514])
async def as_fast_as_the_wire_at_every_size(dut: Any, size: int) -> None:
    """The source never waits of itself: H2S alone decides how long a packet takes; its memory fills twice over."""
    width = len(dut.s_axis_tdata)
    count = max(30, 2 * int(dut.BUFFER_KB.value) * 1024 // (size + 12))
    setup = Setup(dut, plain(size, count), Settings(wait_for_room=True), latency=lambda: MICROSECOND)
    await setup.begin()
    await setup.send()
    taken = setup.end_cycles[-1] - setup.end_cycles[0]
    await setup.finish()
    most = -(-size * 8 // width) + header_beats(width) + 2
    # Closing a batch takes a few cycles more.
    closing = 8 * setup.lanes[BULK].closed_count
    assert taken <= (count - 1) * most + closing
    assert taken / (count - 1) <= wire_cycles(size)


@behaviour()
@cocotb.parametrize(size=[60, 1514])
async def at_wire_rate_no_packet_is_dropped_and_few_cycles_are_waited(dut: Any, size: int) -> None:
    count = max(30, 2 * int(dut.BUFFER_KB.value) * 1024 // (size + 12))
    setup = Setup(dut, plain(size, count), latency=lambda: MICROSECOND)
    setup.source_stalls = paced(setup, size)
    await setup.begin()
    await setup.send()
    await setup.finish()
    assert setup.counts["packet"] == count
    assert setup.end_cycles[-1] - setup.end_cycles[0] <= (count - 1) * wire_cycles(size) + 20


@behaviour()
async def single_packets_keep_up_with_small_frames_too(dut: Any) -> None:
    setup = Setup(dut, plain(60, 200), Settings(wait_for_room=True, single=True), latency=lambda: 50)
    await setup.begin()
    await setup.send()
    await setup.finish()
    assert (setup.end_cycles[-1] - setup.end_cycles[0]) / 199 <= wire_cycles(60)


@behaviour()
async def bursts_follow_each_other_without_a_gap(dut: Any) -> None:
    setup = Setup(dut, plain(1514, 12), latency=lambda: MICROSECOND)
    await setup.begin()
    setup.posts = lambda: False
    await cycles(dut.clk, 2)
    await setup.send()
    setup.posts = lambda: True
    await setup.finish()
    gaps = [after - before for before, after in itertools.pairwise(setup.write_cycles) if after - before > 1]
    assert len(setup.write_cycles) > 500 and len(gaps) <= 3 + setup.lanes[BULK].closed_count


@behaviour()
async def an_express_packet_waits_for_one_burst_at_most(dut: Any) -> None:
    """From its last beat to its message, beside a load that keeps the bus busy."""
    if not int(dut.EXPRESS_KB.value):
        return
    setup = Setup(dut, [], Settings(wait_for_room=True), latency=lambda: 30)
    await setup.begin()

    def critical() -> Packet:
        return Packet(Header.random(critical=1), random.randbytes(200))

    for _ in range(5):
        await setup.send_more([critical()])
        await cycles(dut.clk, 200)
    # The local buffer is filled first, so that the bus is busy all the time then.
    setup.posts = lambda: False
    await setup.send_more(plain(1514, int(dut.BUFFER_KB.value) // 2))
    await cycles(dut.clk, 50)
    setup.posts = lambda: True
    await setup.send_more([packet for _ in range(25) for packet in (*plain(random.randint(300, 1514), 1), critical())])
    await setup.finish()
    ends = setup.lanes[EXPRESS].end_cycles
    latencies = [came - end for end, came in zip(ends, setup.lanes[EXPRESS].message_cycles, strict=True)]
    alone, loaded = latencies[:5], latencies[5:]
    assert max(alone) == min(alone)
    busy = len([cycle for cycle in setup.write_cycles if ends[5] <= cycle <= ends[-1]]) / (ends[-1] - ends[5] + 1)
    assert busy > 0.9
    assert max(loaded) > max(alone) + 5, "the bus was not busy"
    assert max(loaded) <= max(alone) + BURST + 4
