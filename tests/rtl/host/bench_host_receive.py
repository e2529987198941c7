"""host_receive: what drivers find in their buffers, against an oracle that knows what was sent and what was given."""

import random
from collections.abc import Callable
from typing import Any

from host.receive_model import FULL, HEADER, OFF, PASSED, SHORT, Bench, chain_of

from headrace.testing.streams import behaviour, bursts, mostly, never, seldom

KINDS = ("one", "one", "one", "header", "tiny", "many", "part")


def latency(_queue: int) -> int:
    """From few cycles to many."""
    return random.choice((1, random.randrange(60), random.randrange(400)))


def size(most: int) -> int:
    """Of a frame: short ones, whole beats and a byte more or less, long ones."""
    beat = random.choice((16, 32, 64, 128, 256, 512))
    around = beat * random.randint(1, 6) + random.randint(-1, 1)
    return min(
        most, max(14, random.choice((14, 60, 64, random.randrange(14, 300), around, random.randrange(14, 1600))))
    )


def room_for(bench: Bench, number: int, most: int) -> None:
    """Give a queue a chain; one that can't take a packet only if it is mergeable."""
    queue = bench.queues[number]
    kind = random.choice(KINDS if queue.mergeable else KINDS[:-1])
    sizes = chain_of(HEADER + most, kind)
    bench.give(number, sizes, hold=random.choice((0, 0, random.randrange(len(sizes)))))


async def serve(bench: Bench, limit: int, most: int = 1600, keep: int = 6) -> None:
    """Give buffers as they are used, until all frames are dealt with and all chains of packets used."""

    def done() -> bool:
        return bench.settled() and all(q.received + q.empty == q.events[PASSED] + q.events[SHORT] for q in bench.queues)

    for _ in range(limit):
        if done():
            bench.check_end()
            return
        for queue in bench.queues:
            if queue.enabled and not queue.failed and len(queue.chains) < keep and random.random() < 0.1:
                room_for(bench, queue.number, most)
            if queue.late and random.random() < 0.05:
                bench.fetched(queue.number, random.randint(1, len(queue.late)))
        await bench.step()
    raise AssertionError(f"not done: {bench.state()}")


async def traffic(dut: Any, stalls: Callable[[], Any], frames: int) -> Bench:
    """Frames of all sizes to all queues, of both kinds."""
    bench = Bench(dut, stalls, latency)
    await bench.start()
    for queue in bench.queues:
        bench.set(queue.number, True, mergeable=bool(random.getrandbits(1)), checksum=bool(random.getrandbits(1)))
    await bench.step(8 * bench.count)
    for _ in range(frames):
        bench.send(random.randrange(bench.count), size(1600), cut=random.random() < 0.1)
    await serve(bench, 60000)
    await bench.until(lambda: bool(dut.idle.value), 200)
    for queue in bench.queues:
        assert not queue.events[OFF]
        assert not queue.events[SHORT]
    return bench


@behaviour()
async def frames_reach_buffers_without_stalls(dut: Any) -> None:
    await traffic(dut, never, 150)


@behaviour()
async def frames_reach_buffers_with_stalls(dut: Any) -> None:
    for stalls in (seldom, bursts):
        await traffic(dut, stalls, 90)


@behaviour()
async def frames_reach_buffers_when_all_mostly_stall(dut: Any) -> None:
    await traffic(dut, mostly, 50)


@behaviour()
async def long_frames_take_many_chains(dut: Any) -> None:
    """num_buffers is written in the end, wherever its two bytes lie."""
    bench = Bench(dut, seldom, latency)
    await bench.start()
    for queue in bench.queues:
        bench.set(queue.number, True, mergeable=True)
    await bench.step(8 * bench.count)
    most = int(dut.MAX_FRAME.value)
    for number in range(12):
        bench.send(number % bench.count, random.choice((most, most - 1, 300)))
    for queue in bench.queues:
        for sizes in ([10], [11, 0], [5, 5, 1], [1, 0], [3], [11, 1], [2000]):
            bench.give(queue.number, sizes)
    await serve(bench, 60000)
    assert sum(queue.received for queue in bench.queues) >= 6


@behaviour()
async def frames_of_every_alignment_arrive(dut: Any) -> None:
    bench = Bench(dut, never, latency)
    await bench.start()
    bench.set(0, True, mergeable=False, checksum=True)
    await bench.step(8)
    for align in range(64):
        bench.give(0, [random.choice((HEADER + 60, 200))], align=align)
        bench.send(0, 60)
        await bench.step(20)
    await serve(bench, 3000, keep=0)
    assert bench.queues[0].received == 64


@behaviour()
async def what_does_not_fit_is_dropped_and_counted(dut: Any) -> None:
    """Frames longer than their chain, than MAX_FRAME, and more than the cells hold; the others arrive."""
    bench = Bench(dut, never, latency)
    await bench.start()
    most = int(dut.MAX_FRAME.value)
    for queue in bench.queues:
        bench.set(queue.number, True, mergeable=False)
    await bench.step(4 * bench.count)
    bench.send(0, most + 1)
    bench.send(0, most + 700)
    bench.send(0, 500)
    bench.give(0, [100, 411])
    bench.send(0, 500)
    bench.give(0, [100, 412])
    bench.send(0, 100)
    bench.give(0, [0, 0])
    await bench.until(bench.settled, 5000)
    await bench.step(500)
    bench.check_end()
    assert bench.queues[0].events == {FULL: 2, SHORT: 2, PASSED: 1}
    # One after the other fills what it can get: its own cells, and twice as many as are left of the shared ones.
    queues = bench.queues[: min(3, bench.count)]
    cells = int(dut.STORE_KB.value) * 4
    own = cells // (2 * bench.count)
    others, spare = cells - own * bench.count, -(-most // 256)
    shared = others - spare if others > 2 * spare else spare
    expected = []
    for _ in queues:
        got = 0
        while shared > 0 and got + 1 <= 2 * shared:
            got, shared = got + 1, shared - 1
        expected.append(own + got)
    for _ in range(2):  # and again, when all of them are free
        for queue in queues:
            for _ in range(cells):
                bench.send(queue.number, 200)
        await bench.until(lambda: not bench.to_send, 60 * cells)
        await bench.step(200)
        held = [queue.asked - sum(queue.events.values()) for queue in queues]
        assert held == expected
        for queue, count in zip(queues, held, strict=True):
            for _ in range(count):
                bench.give(queue.number, [1600])
                await bench.step(5)
        await serve(bench, 30000, keep=0)
        await bench.step(4 * bench.count)
    await bench.until(lambda: bool(dut.idle.value), 200)


@behaviour()
async def queues_that_are_off_get_nothing(dut: Any) -> None:
    """Switched off and set again in mid-traffic, by what probe_quiet says."""
    bench = Bench(dut, seldom, latency)
    await bench.start()
    for queue in bench.queues:
        bench.set(queue.number, True)
    await bench.step(8 * bench.count)
    for _ in range(3):
        for _ in range(40):
            bench.send(random.randrange(bench.count), size(1600))
        stopped = random.randrange(bench.count)
        queue = bench.queues[stopped]
        for step in range(12000):
            for other in bench.queues:
                if other.enabled and len(other.chains) < 6 and random.random() < 0.1:
                    room_for(bench, other.number, 700)
                if other.late and random.random() < 0.05:
                    bench.fetched(other.number, random.randint(1, len(other.late)))
            if step == 300:
                bench.set(stopped, False)
                dut.probe_queue.value = stopped
                quiet = 0
            if step > 310:
                quiet = quiet + 1 if dut.probe_quiet.value else 0
                if quiet >= 64 and not bench.to_send:
                    break
            await bench.step()
        assert quiet >= 64, bench.state()
        assert not queue.busy
        used = len(bench.used_times)
        before = queue.events[OFF]
        bench.send(stopped, 60)
        await bench.until(lambda queue=queue, before=before: queue.events[OFF] > before, 1000)
        assert not any(number == stopped for _, number in bench.used_times[used:])
        assert queue.received == queue.events[PASSED]
        bench.restart(stopped, mergeable=bool(random.getrandbits(1)), checksum=True)
        queue.empty = queue.events[SHORT]
        await bench.step(20)
    await serve(bench, 60000)
    await bench.until(lambda: bool(dut.idle.value), 200)


@behaviour()
async def an_error_of_memory_fails_the_queue_alone(dut: Any) -> None:
    bench = Bench(dut, seldom, latency)
    await bench.start()
    for queue in bench.queues:
        bench.set(queue.number, True)
    await bench.step(8 * bench.count)
    bad = random.randrange(bench.count)
    queue = bench.queues[bad]
    for _ in range(min(10 * bench.count, 160) + 20):
        bench.send(random.randrange(bench.count), size(1600))
        bench.send(bad, 100)
    bench.bad_write = lambda number, _address: number == bad and queue.received > 8
    for _ in range(40000):
        if bench.settled():
            break
        for other in bench.queues:
            if not other.failed and len(other.chains) < 6 and random.random() < 0.1:
                room_for(bench, other.number, 700)
            if other.late and random.random() < 0.05:
                bench.fetched(other.number, random.randint(1, len(other.late)))
        await bench.step()
    assert bench.settled(), bench.state()
    await bench.step(1500)
    assert bench.fails == [(bad, 1)]
    assert queue.events[OFF]
    received = queue.received
    for other in bench.queues:
        assert other is queue or other.received == other.events[PASSED]
    # It goes on when it is set again.
    bench.bad_write = lambda _number, _address: False
    bench.set(bad, False)
    while queue.late:
        bench.fetched(bad, 1)
        await bench.step(20)
    await bench.step(300)
    bench.restart(bad)
    await bench.step(10)
    bench.send(bad, 77)
    bench.give(bad, [1600])
    await bench.until(lambda: queue.received == received + 1, 2000)


@behaviour()
async def a_failed_buffer_fails_the_queue_alone(dut: Any) -> None:
    """In the middle of a chain and at its begin, in the middle of a frame and before one."""
    bench = Bench(dut, seldom, latency)
    await bench.start()
    for chain in ([], [500], [30, 20]):
        bad = random.randrange(bench.count)
        queue = bench.queues[bad]
        for other in bench.queues:
            bench.restart(other.number)
        await bench.step(8 * bench.count)
        before = len(bench.fails)
        if chain:
            bench.give(bad, [*chain, 9], hold=1)
            queue.late.clear()
        queue.poison = 3
        for _ in range(5 if bench.count < 20 else 1):
            for other in bench.queues:
                bench.send(other.number, 1000)
                if other is not queue:
                    bench.give(other.number, [700])
                    bench.give(other.number, [700])
        await bench.until(bench.settled, 1000 * bench.count + 10000)
        await bench.step(1000)
        assert bench.fails[before:] == [(bad, 3)]
        assert queue.events[PASSED] == queue.received
        bench.set(bad, False)
        dut.probe_queue.value = bad
        await bench.step(10)
        await bench.until(lambda: bool(dut.probe_quiet.value), 500)
        await bench.step(10)
    for queue in bench.queues:
        assert queue.events[PASSED] == queue.received


@behaviour()
async def slow_queues_delay_no_others(dut: Any) -> None:
    """Those whose memory answers late, whose buffers are missing or whose chains lack their end."""
    if int(dut.QUEUES.value) < 4:
        return
    quick = 3
    times = []
    for slow in (False, True):
        bench = Bench(dut, never, lambda number, slow=slow: 1500 if slow and number == 0 else 60)
        await bench.start()
        for queue in bench.queues:
            bench.set(queue.number, True)
        await bench.step(8 * bench.count)
        for _ in range(60):
            bench.give(quick, [1600])
        for number in (0, 1, 2):
            for _ in range(20 if slow else 0):
                bench.send(number, 100)
                if number == 0:
                    bench.give(0, [1600])
            if number == 2:
                bench.give(2, [50, 40, 9], hold=1)
        await bench.step(600)
        begin = bench.cycle
        for _ in range(60):
            bench.send(quick, 100)
        await bench.until(lambda bench=bench: bench.queues[quick].received == 60, 5000)
        times.append(bench.cycle - begin)
        dut.rst.value = 1
        await bench.step(2)
        dut.rst.value = 0
    assert times[1] < times[0] + 100, times


@behaviour()
async def a_long_turn_ends_for_a_queue_that_was_idle(dut: Any) -> None:
    """Whenever the frame of the idle one comes, it waits for few of those that another queue's turn has."""
    if not 1 < bench_queues(dut) <= 16:
        return
    loud, idle, waiting = 0, 1, 14
    bench = Bench(dut, never, lambda _queue: 60)
    await bench.start()
    for queue in bench.queues:
        bench.set(queue.number, True)
    await bench.step(8 * bench.count)
    delays = []
    for offset in range(0, 60, 4):
        bench.give(idle, [256])
        for _ in range(bench.count):  # turns, after the idle one's own, when it gets its buffer
            bench.give(loud, [256])
            bench.send(loud, 64)
            await bench.until(bench.settled, 1000)
        for _ in range(waiting):
            bench.send(loud, 64)
        await bench.step(400)
        got = bench.queues[loud].received
        for _ in range(waiting):
            bench.give(loud, [256])
        await bench.step(offset)
        bench.send(idle, 64)
        begin, due = bench.cycle, bench.queues[idle].received + 1
        await bench.until(lambda due=due: bench.queues[idle].received == due, 1000)
        delays.append(bench.cycle - begin)
        await bench.until(lambda got=got: bench.queues[loud].received == got + waiting, 1000)
    dut._log.info("cycles from the frame to its used element: %s", delays)
    frame = 3 + 80 // (len(dut.m_axi_wdata) // 8)
    assert max(delays) - min(delays) <= 6 * frame + 8, delays


@behaviour()
async def rates(dut: Any) -> None:
    """As many frames as a turn of few cycles and the bus allow, with answers after 250 cycles."""
    for count in {1, min(16, bench_queues(dut))}:
        for length in (64, 256, 1500):
            bench = Bench(dut, never, lambda _queue: 250)
            await bench.start()
            for queue in bench.queues:
                bench.set(queue.number, True)
            await bench.step(8 * bench.count)
            frames, ahead = (300, 60) if length < 1000 else (120, 16)
            marks = []
            for number in range(frames):
                bench.give(number % count, [2048], align=10)
                bench.send(number % count, length)
                while sum(q.asked - q.events[PASSED] for q in bench.queues) >= ahead:
                    await bench.step()
                if number in (frames // 3, frames - 1):
                    marks.append((bench.cycle, len(bench.used_times), bench.write_beats))
            (cycles, got, beats) = (after - before for before, after in zip(*marks, strict=True))
            assert not any(queue.events[FULL] for queue in bench.queues)
            dut._log.info(
                "%d queues, %d bytes: %.2f cycles, %.1f bits a cycle, %.2f beats a packet, %d bursts in flight",
                *(count, length, cycles / got, 8 * length * got / cycles, beats / got),
                bench.most_in_flight,
            )
            lanes = len(dut.m_axi_wdata) // 8
            packet = (10 + HEADER + length + lanes - 1) // lanes
            need = max(6, packet + 2) if count > 1 else max(12.5, packet + 6)
            assert cycles / got <= need, (count, length, cycles / got)
            dut.rst.value = 1
            await bench.step(2)
            dut.rst.value = 0


def bench_queues(dut: Any) -> int:
    """Queues of the block."""
    return int(dut.QUEUES.value)
