"""What H2S promises: each packet once, in order, byte for byte in a buffer, or counted with its cause."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import cocotb
from bridge.h2s_host import BULK, EXPRESS, NEVER, REASONS, STEP_NS, Settings, Setup, words_of
from bridge.noc_packets import Header, Packet, sizes
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, Stalls, behaviour, bursts, cycles, mostly, never, seldom, until


def packets(dut: Any, count: int, critical: float = 0.0, bad: float = 0.0) -> list[Packet]:
    """Packets of all sizes; shares of them are critical, or malformed or too long."""
    longest = int(dut.MAX_PACKET.value)
    made = []
    for good in itertools.islice(sizes(longest), count):
        wrong = random.choice((0, longest + 1, longest + random.randint(1, 200)))
        size = wrong if random.random() < bad else good
        header = Header.random(critical=int(random.random() < critical))
        made.append(Packet(header, random.randbytes(size)))
    return made


def share(part: float) -> Callable[[], bool]:
    """True in this share of the calls."""
    return lambda: random.random() < part


def quiet_between(packet_beats: int) -> Stalls:
    """Long gaps now and then, after `packet_beats` beats more or less."""
    while True:
        yield from itertools.repeat(False, random.randint(1, 3 * packet_beats))
        yield from itertools.repeat(True, random.choice((0, 1, 10, 150)))


@behaviour()
@cocotb.parametrize((("source_stalls", "stalls"), PAIRS))
async def every_packet_arrives_once_in_order_and_byte_for_byte(dut: Any, source_stalls: Any, stalls: Any) -> None:
    setup = Setup(
        dut,
        packets(dut, 30, critical=0.2, bad=0.1),
        Settings(wait_for_room=True, bytes=random.choice((2000, 8000, 1 << 16)), timeout_ns=random.choice((0, 600))),
        source_stalls=source_stalls(),
        stalls=stalls,
        latency=lambda: random.choice((1, 5, 60)),
    )
    await setup.begin()
    await setup.send()
    await setup.finish()
    assert not setup.counts["no_room"] and not setup.counts["disabled"]
    assert setup.counts["packet"] > 18


@behaviour()
async def every_size_arrives(dut: Any) -> None:
    longest = int(dut.MAX_PACKET.value)
    few = [*range(1, 140), *range(longest - 10, longest + 1)]
    setup = Setup(dut, [Packet(Header.random(), random.randbytes(size)) for size in few], Settings(wait_for_room=True))
    await setup.begin()
    await setup.send()
    await setup.finish()
    assert setup.counts["packet"] == len(few)


@behaviour()
@cocotb.parametrize(stalls=[never, bursts])
async def settings_change_under_traffic_and_nothing_is_lost(dut: Any, stalls: Any) -> None:
    setup = Setup(
        dut,
        packets(dut, 100, critical=0.15, bad=0.05),
        source_stalls=quiet_between(20),
        stalls=stalls,
        latency=lambda: random.choice((1, 40)),
        room=lambda: random.choice((0x7FFF, 0x7FFF, 900, 200)),
        posts=share(0.2),
        takes=share(0.2),
    )
    await setup.begin()
    sending = cocotb.start_soon(setup.send())
    while not sending.done():
        await cycles(dut.clk, random.randint(1, 120))
        setup.set(
            enable=random.random() < 0.9,
            wait_for_room=random.random() < 0.6,
            express=random.random() < 0.5,
            single=random.random() < 0.15,
            bytes=random.choice((0, 1000, 1600, 4000, 1 << 16, (1 << 17) - 1)),
            timeout_ns=random.choice((0, 0, 1, 100, 1000, 0xFFFFFFFF)),
        )
        if random.random() < 0.2:
            await setup.flush()
    setup.set(enable=True, timeout_ns=0)
    setup.room = lambda: 0x7FFF
    await setup.finish()
    assert setup.counts["packet"] > 38


@behaviour()
@cocotb.parametrize(reason=REASONS)
async def a_batch_closes_for_each_reason(dut: Any, reason: str) -> None:
    small = [Packet(Header.random(critical=0), random.randbytes(random.randint(1, 60))) for _ in range(30)]
    if reason == "critical":
        small[7] = Packet(Header.random(critical=1), b"now")
    if reason == "full":
        small *= 6
    longest = 4 * (3 + (int(dut.MAX_PACKET.value) + 3) // 4)
    settings = Settings(
        express=False,
        wait_for_room=True,
        single=reason == "single",
        timeout_ns=200 if reason == "timeout" else 0,
        bytes=longest + 400 if reason == "full" else (1 << 17) - 1,
    )
    setup = Setup(dut, small, settings, source_stalls=quiet_between(3))
    await setup.begin()
    await setup.send()
    if reason == "flush":
        await setup.flush()
        await setup.flush()  # of an empty batch
    await setup.settle()
    if int(dut.BUFFER_KB.value) > 4:
        assert setup.reasons[reason] and not set(setup.reasons) - {reason}
        assert setup.reasons[reason] >= {"critical": 1, "flush": 1, "single": 30, "full": 5, "timeout": 3}[reason]
    await setup.finish()
    assert setup.counts["packet"] == len(small)


@behaviour()
@cocotb.parametrize(spare=[0, -1])
async def a_batch_stays_open_while_the_longest_packet_just_fits(dut: Any, spare: int) -> None:
    """`spare` words beside what the packets that are in it and the longest one take."""
    made = [Packet(Header.random(critical=0), random.randbytes(60)) for _ in range(3)]
    needed = sum(map(words_of, made)) + 3 + (int(dut.MAX_PACKET.value) + 3) // 4
    if needed > int(dut.BUFFER_KB.value) * 128:
        return  # half the local buffer is less
    setup = Setup(dut, made, Settings(bytes=4 * (needed + spare)))
    await setup.begin()
    await setup.send()
    await cycles(dut.clk, 20)
    assert setup.bulk.closed_count == (spare < 0)
    await setup.finish()


@behaviour()
async def the_timeout_comes_when_wake_ns_says(dut: Any) -> None:
    """It counts from the first packet, acts on an open batch when it is changed, and time may leap."""
    if int(dut.BUFFER_KB.value) < 4:
        return
    setup = Setup(dut, packets(dut, 2), Settings(timeout_ns=5000))
    setup.packets = [Packet(Header.random(critical=0), b"first"), Packet(Header.random(critical=0), b"second")]
    await setup.begin()
    await setup.send()
    await cycles(dut.clk, 50)  # both lanes have their buffers by then
    assert dut.idle.value and dut.wake_ns.value == setup.opened_ns + 5000
    assert setup.end_cycles[0] < setup.number - 20 and setup.lanes[BULK].closed_count == 0
    setup.set(timeout_ns=0)
    await cycles(dut.clk, 5)
    assert dut.wake_ns.value == NEVER
    setup.now += 1 << 40
    await cycles(dut.clk, 5)
    assert setup.lanes[BULK].closed_count == 0
    setup.set(timeout_ns=0xFFFFFFFF)
    await cycles(dut.clk, 6)
    assert setup.reasons["timeout"] == 1
    await setup.finish()


@behaviour()
async def after_a_flush_the_number_of_messages_is_known(dut: Any) -> None:
    """Even while software posts no buffer and the queue of closed batches is full."""
    setup = Setup(dut, packets(dut, 60), Settings(single=True), posts=lambda: False, source_stalls=quiet_between(10))
    await setup.begin()
    sending, alone = cocotb.start_soon(setup.send()), 0
    while not sending.done():
        await cycles(dut.clk, random.randint(1, 100))
        setup.set(single=random.random() < 0.9)
        coming = await setup.flush()
        assert setup.closed_batches(BULK) == setup.bulk.closed_count
        if not coming:
            alone += 1
            assert not setup.lanes[BULK].accepted
    assert alone
    setup.posts = lambda: True
    await setup.finish()
    assert setup.counts["packet"] and setup.counts["no_room"]


@behaviour()
@cocotb.parametrize(wait=[False, True])
async def software_that_stops_posting_costs_packets_only_if_it_should(dut: Any, wait: bool) -> None:
    count = int(dut.BUFFER_KB.value) * 1024 * 4 // 312  # more than the local buffer holds, and two in host memory
    made = [Packet(Header.random(critical=0), random.randbytes(300)) for _ in range(count)]
    setup = Setup(dut, made, Settings(wait_for_room=wait, timeout_ns=1000), tag_limit=2)
    await setup.begin()
    await cycles(dut.clk, 10)
    setup.posts = lambda: False
    sending = cocotb.start_soon(setup.send())
    await until(dut.clk, lambda: setup.most_held > 500 or setup.counts["no_room"] > 10, 20_000)
    assert not sending.done() and bool(setup.counts["no_room"]) != wait
    setup.posts = lambda: True
    await sending
    await setup.finish()
    assert bool(setup.counts["no_room"]) != wait
    await setup.send_more([Packet(Header.random(critical=0), b"afterwards")])
    await setup.finish()
    assert setup.bulk.fates[-1] == "packet"


@behaviour()
async def a_lane_whose_software_stops_does_not_stop_the_other(dut: Any) -> None:
    """Bulk packets wait for room without end; express packets beside them go on, one after the other."""
    if not int(dut.EXPRESS_KB.value):
        return
    made = [Packet(Header.random(critical=0), random.randbytes(1000)) for _ in range(int(dut.BUFFER_KB.value) * 2)]
    setup = Setup(dut, [], Settings(wait_for_room=True), tag_limit=2)
    await setup.begin()
    setup.stopped = {BULK}
    filling = cocotb.start_soon(setup.send_more(made))
    await until(dut.clk, lambda: setup.most_held > 500, 40_000)
    for serial in range(20):
        urgent = [Packet(Header.random(critical=1), random.randbytes(random.randint(1, 300)))]
        await setup.send_more(urgent)
        await until(dut.clk, lambda wanted=serial: len(setup.lanes[EXPRESS].arrived) > wanted, 300)
    assert not filling.done() and setup.bulk.held > 500
    setup.stopped = set()
    await filling
    await setup.finish()
    assert not setup.counts["no_room"]


@behaviour()
@cocotb.parametrize(limit=[1, 2048, 9000])
async def a_packet_waits_for_room_no_longer_than_it_may(dut: Any, limit: int) -> None:
    """Then all are dropped and counted, without a wait for each, until there is room; then the wait begins anew."""
    count = max(16, int(dut.BUFFER_KB.value) * 6)
    made = [Packet(Header.random(critical=0), random.randbytes(300)) for _ in range(count)]
    setup = Setup(dut, made, Settings(wait_for_room=True, wait_limit_ns=limit), posts=lambda: False, tag_limit=2)
    await setup.begin()
    await setup.send()
    longest = setup.most_held * STEP_NS
    assert limit - 1024 <= longest <= limit + 1024 + 12 * STEP_NS
    lost = setup.counts["no_room"]
    assert lost > 10 and setup.bulk.fates[-lost:] == ["no_room"] * lost
    setup.posts, setup.most_held = lambda: True, 0
    await setup.finish()
    setup.posts = lambda: False
    await setup.send_more(made * 2)
    assert setup.most_held * STEP_NS >= limit - 1024 and setup.counts["no_room"] > lost
    setup.posts = lambda: True
    await setup.finish()


@behaviour()
async def messages_wait_for_software_and_none_is_lost(dut: Any) -> None:
    """Buffers are posted on, but no more are used than messages have places."""
    places = int(dut.HOST_BUFFERS.value)
    setup = Setup(
        dut,
        packets(dut, 3 * places + 10, critical=0.3),
        Settings(wait_for_room=True, single=True),
        takes=lambda: False,
        tag_limit=100,
        room=lambda: random.choice((0x7FFF, 0x7FFF, 3)),
    )
    await setup.begin()
    sending = cocotb.start_soon(setup.send())
    await cycles(dut.clk, 3000)
    assert 0 < len(setup.bulk.posted) <= 2 * places and not int(dut.post_ready.value) & 1
    assert len(setup.lanes[EXPRESS].posted) <= 2 * places
    assert setup.counts["post_lost"] > 10, "posts beyond the room for them aren't counted"
    setup.takes = share(0.1)
    await sending
    setup.room = lambda: 0x7FFF
    await setup.finish()


@behaviour()
@cocotb.parametrize(stalls=[never, seldom])
async def write_errors_cost_their_batch_and_nothing_else(dut: Any, stalls: Any) -> None:
    setup = Setup(
        dut,
        packets(dut, 60, critical=0.3),
        Settings(wait_for_room=True, bytes=3000),
        stalls=stalls,
        latency=lambda: random.randint(1, 30),
        errors=share(max(len(dut.s_axis_tkeep) / 200, int(dut.BURST.value) / 1000)),
    )
    await setup.begin()
    await setup.send()
    await setup.finish()
    assert setup.counts["write_error"] > 1 and sum(len(lane.arrived) for lane in setup.lanes) > 20


@behaviour()
@cocotb.parametrize(size=[1, 59, 60, 61, 300])
async def buffers_that_are_too_small_come_back_and_the_batch_takes_the_next_one(dut: Any, size: int) -> None:
    """A batch needs its words, up to a whole row of the bus."""
    made = [Packet(Header.random(critical=random.randrange(2)), random.randbytes(size)) for _ in range(30)]
    row = len(dut.s_axis_tkeep) // 4
    needed = -(-words_of(made[0]) // row) * row
    rooms = (needed - 1, needed, needed, 0, needed - row, needed, needed - 1, needed + 1)
    setup = Setup(
        dut,
        made,
        Settings(wait_for_room=True, single=True),
        room=lambda: random.choice(rooms),
        latency=lambda: random.choice((1, 100)),  # so that responses come one after the other
    )
    await setup.begin()
    await setup.send()
    await setup.finish()
    assert setup.counts["packet"] == len(made) and setup.counts["buffer_refused"] >= 6


@behaviour()
async def a_disabled_h2s_takes_nothing_and_blocks_nothing(dut: Any) -> None:
    setup = Setup(dut, packets(dut, 20, critical=0.2, bad=0.2), Settings(enable=False))
    await setup.begin()
    await setup.send()
    await setup.finish()
    assert not setup.counts["packet"] and setup.counts["disabled"] and not setup.lanes[BULK].messages


@behaviour()
async def responses_may_come_in_any_order_between_the_lanes(dut: Any) -> None:
    """Those of bulk bursts late, those of express ones early, and the other way round."""
    if not int(dut.EXPRESS_KB.value):
        return
    setup = Setup(
        dut,
        packets(dut, 60, critical=0.5),
        Settings(wait_for_room=True, timeout_ns=300),
        latency=lambda: random.choice((1, 500)),
        source_stalls=seldom(),
    )
    await setup.begin()
    await setup.send()
    await setup.finish()
    assert setup.lanes[BULK].messages > 5 and setup.lanes[EXPRESS].messages > 20
    assert setup.most_outstanding > 3


@behaviour()
async def a_slow_host_gets_addresses_and_data_as_it_likes(dut: Any) -> None:
    setup = Setup(dut, packets(dut, 30, critical=0.3), Settings(wait_for_room=True), stalls=mostly)
    await setup.begin()
    await setup.send()
    await RisingEdge(dut.clk)
    await setup.finish()
