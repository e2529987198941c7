"""What the transmit side of virtual functions promises: every packet once, in order, whole; nobody waits for others."""

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from host.transmit_world import FAULT_MEMORY, HEADER, Chain, Outside, some_chain

from headrace.testing.streams import PATTERNS, Stalls, behaviour, bursts, cycles, never, seldom, together, until

LATENCY = 250  # cycles of host memory: 1 us at 250 MHz


async def begin(world: Outside) -> None:
    """Reset, and enable all queues."""
    await world.start()
    cocotb.start_soon(world.run())
    for queue in range(world.queues):
        world.set(queue, 1)
    await cycles(world.dut.clk, world.queues + 2)


async def settle(world: Outside, limit: int = 60_000) -> None:
    """Wait until nothing is under way."""
    await until(world.dut.clk, lambda: not any(world.fetched) and bool(world.dut.idle.value), limit)
    await cycles(world.dut.clk, 20)
    assert world.dut.idle.value


def check(world: Outside, given: list[list[Chain]], checksums: int = 1) -> None:
    """Every chain's frame came out once, in order, or was counted; every chain is used."""
    for queue, chains in enumerate(given):
        due = [chain.outcome(bool(checksums), world.most, world.segment) for chain in chains]
        passed = [len(chain.data) - HEADER.size for chain, cut in zip(chains, due, strict=True) if cut is not None]
        frames = [frame for cut in due for frame in cut or ()]
        found = world.frames[queue]
        for number, (frame, other) in enumerate(zip(frames, found, strict=False)):
            assert frame == other, f"frame {number} of queue {queue}: {frame.hex()} {other.hex()}"
        assert len(found) == len(frames)
        assert world.used[queue] == [(chain.id, chain.slots) for chain in chains]
        told = sorted if world.segment else list  # of those that are cut it is told later
        assert told(world.sent_bytes[queue]) == told(passed)
        assert world.dropped[queue] == len(chains) - len(passed)
    assert not world.fails


async def feed(world: Outside, given: list[list[Chain]], gap: Callable[[], int]) -> None:
    """Hand all chains over, those of each queue in order."""
    left = {queue: deque(chains) for queue, chains in enumerate(given) if chains}
    while left:
        queue = random.choice(list(left))
        world.give(queue, left[queue].popleft())
        if not left[queue]:
            del left[queue]
        await cycles(world.dut.clk, gap())


@behaviour()
@cocotb.parametrize((("stalls", "out_stalls"), together(PATTERNS, [never, seldom, bursts])))
async def every_packet_comes_out_once_in_order_and_whole(dut: Any, stalls: Any, out_stalls: Any) -> None:
    """Chains of 1 to 256 buffers of any alignment, data in any order."""
    world = Outside(dut, stalls(), stalls(), out_stalls(), stalls(), lambda _: random.choice((1, 5, 100)))
    world.delay = lambda: random.randrange(6)
    world.hesitates = random.choice((0.0, 0.3))
    await begin(world)
    given = [[some_chain(world, queue) for _ in range(40 // world.queues + 1)] for queue in range(world.queues)]
    await feed(world, given, lambda: random.choice((0, 0, 3, 50)))
    await settle(world)
    check(world, given)


@behaviour()
async def every_alignment_and_length_of_a_frame(dut: Any) -> None:
    """In one buffer that begins in each lane, and in two."""
    world = Outside(dut)
    await begin(world)
    given: list[list[Chain]] = [[] for _ in range(world.queues)]
    function = world.function(0)
    for lane in range(world.size):
        for count in random.sample(range(14, 14 + 3 * world.size), 4):
            data = HEADER.pack(1, 0, 0, 0, lane % (count - 2), 0, 0) + random.randbytes(count)
            start = world.memory.place(function, bytes(lane) + data, aligned=True) + lane
            pieces = [(start, len(data))]
            if random.random() < 0.5:
                middle = random.randrange(len(data) + 1)
                pieces = [(start, middle), (start + middle, len(data) - middle)]
            given[0].append(Chain(data, pieces, lane, 1))
    await feed(world, given, lambda: 0)
    await settle(world)
    check(world, given)


@behaviour()
async def checksums_stay_as_they_are_where_they_are_not_agreed_upon(dut: Any) -> None:
    world = Outside(dut)
    await begin(world)
    for queue in range(world.queues):
        world.set(queue, 1, 0)
    await cycles(dut.clk, world.queues)
    given = [[some_chain(world, queue) for _ in range(10)] for queue in range(world.queues)]
    await feed(world, given, lambda: 0)
    await settle(world)
    check(world, given, 0)


@behaviour()
async def a_checksum_of_nothing_is_sent_as_ones(dut: Any) -> None:
    """What sums up to 0xFFFF has the checksum 0, which for UDP would mean that there is none."""
    world = Outside(dut)
    await begin(world)
    frame = bytearray(60)
    frame[34:36] = b"\xff\xff"
    data = HEADER.pack(1, 0, 0, 0, 34, 6, 0) + frame
    given: list[list[Chain]] = [[some_chain(world, 0, bytes(data), 1)], *([] for _ in range(world.queues - 1))]
    await feed(world, given, lambda: 0)
    await settle(world)
    assert world.frames[0][0][40:42] == b"\xff\xff"
    check(world, given)


@behaviour()
@cocotb.parametrize(stalls=[never, bursts])
async def an_output_that_stands_still_loses_nothing(dut: Any, stalls: Callable[[], Stalls]) -> None:
    standing = True

    def until_told() -> Stalls:
        after = stalls()
        while True:
            yield standing or next(after)

    world = Outside(dut, out_stalls=until_told())
    await begin(world)
    given = [[some_chain(world, queue) for _ in range(120 // world.queues)] for queue in range(world.queues)]
    await feed(world, given, lambda: 0)
    beats = -1
    while beats != world.beats:
        beats = world.beats
        await cycles(dut.clk, 500)
    assert not any(world.frames) and any(world.fetched)
    assert beats * world.size < 2 * 1024 * int(dut.STORE_KB.value), "more is read than there is room for"
    standing = False
    await settle(world)
    check(world, given)


@behaviour()
@cocotb.parametrize(failing=[False, True])
async def an_error_ends_the_queue_and_no_other(dut: Any, failing: bool) -> None:
    """What comes before the bad chain goes out, nothing after it, and nothing of the others is lost; set again, it goes
    on. The error is one of memory, or in the chain (`failing`)."""
    world = Outside(dut, seldom(), seldom(), seldom(), seldom(), lambda _: random.choice((1, 30)))
    await begin(world)
    bad = random.randrange(world.queues)
    fault = 3 if failing else FAULT_MEMORY
    for _ in range(3):
        for per_queue in (world.frames, world.used, world.sent_bytes):
            for entries in per_queue:
                entries.clear()
        world.dropped.clear()
        world.fails.clear()
        count = max(4, 30 // world.queues)
        given = [[some_chain(world, queue) for _ in range(count)] for queue in range(world.queues)]
        place = random.randrange(count - 1)
        chain = some_chain(
            world, bad, HEADER.pack(0, 0, 0, 0, 0, 0, 0) + random.randbytes(900), random.choice((1, 2, 9))
        )
        given[bad][place] = chain
        if failing:
            chain.fault = fault
        else:
            address, count = random.choice([piece for piece in chain.pieces if piece[1]])
            world.memory.broken.add((world.function(bad), (address + random.randrange(count)) // 64))
        await feed(world, given, lambda: random.choice((0, 20)))
        # Others of the function share its memory, so the bad queue's chains alone are left.
        others = [queue for queue in range(world.queues) if queue != bad]
        await until(dut.clk, lambda at=others: not any(world.fetched[i] for i in at) and bool(world.fails), 30_000)
        world.set(bad, 0)
        dut.probe_queue.value = bad
        await cycles(dut.clk, 5)
        await quiet(world)
        await until(dut.clk, lambda: bool(dut.idle.value), 30_000)
        assert world.fails == [(bad, fault)]
        begun = [chain for chain in given[bad] if chain.begun]
        world.fetched[bad].clear()
        world.fails.clear()
        good = given[bad][:place]
        assert (
            world.dropped[bad]
            == sum(chain.outcome(True, world.most, world.segment) is None for chain in good) + len(begun) - place
        )
        world.dropped[bad] -= len(begun) - place
        given[bad] = good
        check(world, given)
        world.set(bad, 1)
        await cycles(dut.clk, 3)


async def quiet(world: Outside) -> None:
    """Wait until the probed queue has been quiet for 64 cycles."""
    run = 0
    for _ in range(30_000):
        await RisingEdge(world.dut.clk)
        run = run + 1 if world.quiet else 0
        if run == 64:
            return
    raise AssertionError("the queue doesn't come to rest")


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, bursts])
async def a_queue_stops_between_packets_and_starts_again(dut: Any, stalls: Any) -> None:
    """In mid-traffic: what is begun ends, what isn't doesn't begin, and other queues go on."""
    world = Outside(dut, stalls(), stalls(), stalls(), stalls(), lambda _: random.choice((1, 50, 200)))
    world.delay = lambda: random.randrange(6)
    await begin(world)
    given: list[list[Chain]] = [[] for _ in range(world.queues)]
    amid = 0  # stops with packets left
    for _ in range(4):
        count = max(3, 24 // world.queues)
        more = [[some_chain(world, queue) for _ in range(count)] for queue in range(world.queues)]
        await feed(world, more, lambda: random.choice((0, 0, 10)))
        stopped = random.randrange(world.queues)
        await cycles(dut.clk, random.randrange(150))
        world.set(stopped, 0)
        dut.probe_queue.value = stopped
        await cycles(dut.clk, 6)
        begun = sum(chain.begun for chain in given[stopped] + more[stopped])
        await quiet(world)
        assert begun == sum(chain.begun for chain in given[stopped] + more[stopped])
        for queue in range(world.queues):
            given[queue] += more[queue]
        amid += not given[stopped][-1].begun
        given[stopped] = [chain for chain in given[stopped] if chain.begun]
        world.fetched[stopped].clear()
        assert world.used[stopped] == [(chain.id, chain.slots) for chain in given[stopped]]
        due = [chain.outcome(True, world.most, world.segment) or () for chain in given[stopped]]
        assert len(world.frames[stopped]) == sum(map(len, due))
        world.set(stopped, 1)
        await cycles(dut.clk, 3)
    assert amid
    await settle(world)
    check(world, given)


def plain(world: Outside, queue: int, count: int, pieces: int = 1) -> Chain:
    """A packet as a fast driver hands it over: the header before the frame, both in one buffer or in two."""
    data = HEADER.pack(0, 0, 0, 0, 0, 0, 0) + random.randbytes(count)
    function = world.function(queue)
    if pieces == 2:
        places = [(world.memory.place(function, part, aligned=True), len(part)) for part in (data[:12], data[12:])]
    else:
        start = world.memory.place(function, bytes(116) + data, aligned=True) + 116  # so that the frame is aligned
        places = [(start, len(data))]
    return Chain(data, places, 0, pieces)


@behaviour()
async def functions_with_slow_memory_hold_up_no_other(dut: Any) -> None:
    """All but one wait 100 times longer for their memory; that one gets its packets through as if alone, but for its
    share of the room."""
    world = Outside(dut)
    if world.queues < 2 or world.pairs > 1:
        return
    fast = world.function(0)
    world.latency = lambda user: 50 if user == fast else 5000
    await begin(world)
    for queue in range(1, world.queues):
        for _ in range(40):
            world.give(queue, plain(world, queue, random.choice((64, 1500))))
    await cycles(dut.clk, 2000)
    for _ in range(60):
        world.give(0, plain(world, 0, 64))
    # Each queue leaves as many jobs as it takes, so there are some for one more, which take 150 cycles at most.
    share = max(int(dut.JOBS.value) // (world.queues + 1) // 2, 1)
    await until(dut.clk, lambda: len(world.frames[0]) == 60, 60 // share * 150 + 150)


@behaviour()
async def queues_begin_no_chain_without_room(dut: Any) -> None:
    """Room for so many of a queue and so many of all."""
    each, of_all = 3, 10
    world = Outside(dut, latency=lambda _: 100, delay=lambda: random.randrange(6))
    world.room = lambda _, begun, begun_all: begun < each and begun_all < of_all
    await begin(world)
    given = [[plain(world, queue, 64) for _ in range(30)] for queue in range(world.queues)]
    cocotb.start_soon(feed(world, given, lambda: 0))
    most = [0] * world.queues
    while not most[0] or any(world.fetched):
        await RisingEdge(dut.clk)
        begun = [sum(chain.begun for chain in chains) for chains in given]
        under_way = [count - len(used) for count, used in zip(begun, world.used, strict=True)]
        assert sum(under_way) <= of_all
        most = [max(pair) for pair in zip(most, under_way, strict=True)]
    assert max(most) == each
    await settle(world)
    check(world, given)


@behaviour()
async def functions_with_silent_memory_leave_others_their_share(dut: Any) -> None:
    """All but one, the one after the other, with as much as each gets: the first one that is alone gets most."""
    world = Outside(dut)
    own = int(dut.JOBS.value) // (2 * world.queues)
    if world.queues < 2 or world.pairs > 1 or not own:
        return
    fast = world.function(0)
    world.latency = lambda user: 50 if user == fast else 1_000_000
    await begin(world)
    for queue in range(1, world.queues):
        for _ in range(int(dut.JOBS.value)):
            world.give(queue, plain(world, queue, 64))
        await cycles(dut.clk, int(dut.JOBS.value) * 12)
    for _ in range(60):
        world.give(0, plain(world, 0, 64))
    await until(dut.clk, lambda: len(world.frames[0]) == 60, 60 // own * 150 + 150)


@behaviour()
async def queues_get_equal_shares_of_bytes(dut: Any) -> None:
    """Whatever the sizes of their packets and buffers."""
    world = Outside(dut, latency=lambda _: 50)
    if world.queues < 3:
        return
    await begin(world)
    sizes = [(64, 1), (1500, 1), (9000, 1)]
    given: list[list[Chain]] = [[] for _ in range(world.queues)]
    for queue, (size, pieces) in enumerate(sizes):
        given[queue] = [plain(world, queue, min(size, world.most), pieces) for _ in range(30_000 // size)]
        for chain in given[queue]:
            world.give(queue, chain)
    # All are known before the first turn is over; the shares are looked at while each has packets.
    await until(dut.clk, lambda: any(not world.fetched[queue] for queue in range(3)), 20_000)
    taken = [sum(len(chain.data) for chain in given[queue] if chain.begun) for queue in range(3)]
    assert max(taken) - min(taken) <= 2 * 9216 + 4096, taken
    await settle(world)
    check(world, given)


STEP_NS = 1000  # of a cycle, where functions have rates
BURST_NS = 65536
NONE_WAITS = (1 << 64) - 1


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, bursts])
async def a_function_keeps_to_its_rate_and_holds_up_no_other(dut: Any, stalls: Any) -> None:
    """Each of its packets waits for the time of those before; all queues of the function share the rate."""
    world = Outside(dut, stalls(), stalls(), stalls(), stalls())
    await begin(world)
    dut.time_step.value = STEP_NS
    mbit = 20
    await world.pace(0, round(8000 / mbit * (1 << 19)))
    since = world.cycle
    count = 12 // world.pairs
    given = [
        [plain(world, queue, random.choice((64, 600, 1500))) for _ in range(count)]
        if queue < world.pairs
        else [plain(world, queue, random.choice((64, 300))) for _ in range(3)]
        for queue in range(world.queues)
    ]
    await feed(world, given, lambda: random.choice((0, 0, 3)))
    slow = range(world.pairs)
    others = range(world.pairs, world.queues)
    total = sum(len(chain.data) - HEADER.size for queue in slow for chain in given[queue])
    whole = total * 8000 // mbit // STEP_NS  # cycles
    slept = 0
    for _ in range(whole + 6000):
        if all(len(world.frames[queue]) == len(given[queue]) for queue in slow):
            break
        await RisingEdge(dut.clk)
        if dut.idle.value:
            slept += 1
            wake, now = int(dut.wake_ns.value), int(dut.time_ns.value)
            assert wake != NONE_WAITS and now < wake <= now + 1500 * 8000 // mbit + STEP_NS
    await settle(world)
    check(world, given)
    assert int(dut.wake_ns.value) == NONE_WAITS
    ends = sorted(
        (end, len(frame))
        for queue in slow
        for end, frame in zip(world.frame_cycles[queue], world.frames[queue], strict=True)
    )
    sent = 0
    for number, (end, size) in enumerate(ends):
        assert sent * 8000 / mbit <= (end - since) * STEP_NS + BURST_NS, (number, end - since)
        sent += size
    # Latency of the last, which its memory's and the output's stalls make long
    assert ends[-1][0] - since <= whole + 600
    if others:
        assert stalls is not never or slept > whole // 10
        rest = sum(len(chain.data) for queue in others for chain in given[queue])
        assert max(world.frame_cycles[queue][-1] for queue in others) - since <= 1000 + 6 * rest // world.size


@behaviour()
async def a_rate_that_is_set_anew_holds_at_once(dut: Any) -> None:
    """Also for queues that wait for their time; a rate of 0 is none."""
    world = Outside(dut)
    await begin(world)
    dut.time_step.value = STEP_NS
    functions = range(-(-world.queues // world.pairs))
    for function in functions:
        await world.pace(function, (1 << 32) - 1)  # some ms a packet
    given = [[plain(world, queue, 600) for _ in range(6)] for queue in range(world.queues)]
    await feed(world, given, lambda: 0)
    await cycles(dut.clk, 200)
    await until(dut.clk, lambda: bool(dut.idle.value), 3000)
    count = sum(map(len, world.frames))
    assert count == len(functions)
    assert dut.idle.value and int(dut.wake_ns.value) > int(dut.time_ns.value)
    for function in functions:
        await world.pace(function, 0)
    await settle(world)
    check(world, given)


async def rate(dut: Any, queues: int, size: int, pieces: int, packets: int) -> float:
    """Cycles a packet with 1 us of latency, in the middle of a run."""
    world = Outside(dut, latency=lambda _: LATENCY, in_order=True, delay=lambda: 3)
    await begin(world)
    given: list[list[Chain]] = [[] for _ in range(world.queues)]
    for number in range(packets):
        given[number % queues].append(plain(world, number % queues, size, pieces))
    for queue in range(queues):
        for chain in given[queue]:
            world.give(queue, chain)
    await settle(world)
    check(world, given)
    ends = sorted(end for queue in range(queues) for end in world.frame_cycles[queue])
    part = ends[packets // 4 : -packets // 8]
    found = (part[-1] - part[0]) / (len(part) - 1)
    dut._log.warning(
        "%d bits, %d queues, %d bytes in %d buffers: %.2f cycles a packet, at 250 MHz %.0f Mb/s, %.1f Mpps; %d reads",
        *(8 * world.size, queues, size, pieces, found, 250 * 8 * size / found, 250 / found, world.most_reads),
    )
    return found


@behaviour()
@cocotb.parametrize(
    (
        ("queues", "size", "pieces", "limit"),
        [
            (16, 64, 1, 6.25),
            (16, 64, 2, 6.25),
            (16, 256, 1, 5.5),
            (16, 1500, 1, 26.0),
            (1, 64, 1, 25.0),
            (1, 1500, 1, 30.0),
        ],
    )
)
async def packets_come_at_line_rate(dut: Any, queues: int, size: int, pieces: int, limit: float) -> None:
    """With 512 bits at 250 MHz 40 million packets a second of 64 bytes, and 100 Gb/s from 256 bytes on."""
    if int(dut.QUEUES.value) < queues or len(dut.m_axis_tdata) < 512:
        return
    packets = 400 if size < 1000 else 160
    assert await rate(dut, queues, size, pieces, packets) <= limit


@behaviour()
async def more_reads_than_64_packets_are_never_under_way_and_never_less_when_there_are(dut: Any) -> None:
    world = Outside(dut, latency=lambda _: 2000)
    await begin(world)
    jobs = int(dut.JOBS.value)
    for queue in range(world.queues):
        for _ in range(2 * jobs // world.queues):
            world.give(queue, plain(world, queue, 64))
    await settle(world)
    # Each queue leaves as many as it takes.
    assert world.most_reads >= jobs * world.queues // (world.queues + 1) - 1


@behaviour()
async def a_rate_that_is_set_while_others_send_is_kept(dut: Any) -> None:
    """Of two packets the second waits as long as its function is slow."""
    world = Outside(dut)
    await begin(world)
    if world.queues == world.pairs:
        return
    dut.time_step.value = STEP_NS
    given: list[list[Chain]] = [[] for _ in range(world.queues)]

    def give(queue: int, size: int) -> None:
        given[queue].append(plain(world, queue, size))
        world.give(queue, given[queue][-1])

    async def others() -> None:
        for _ in range(700):
            give(random.randrange(world.pairs, world.queues), 64)
            await cycles(dut.clk, random.choice((1, 4, 6)))

    load = cocotb.start_soon(others())
    for sent in range(0, 10, 2):
        await world.pace(0, (1 << 32) - 1)
        give(0, 600)
        give(0, 600)
        await until(dut.clk, lambda sent=sent: len(world.frames[0]) == sent + 1, 3000)
        await cycles(dut.clk, 200)
        assert len(world.frames[0]) == sent + 1
        await world.pace(0, 0)
        await until(dut.clk, lambda sent=sent: len(world.frames[0]) == sent + 2, 3000)
    await load
    await settle(world)
    check(world, given)
