"""What the engine promises, packets of memory and frames of the wire mixed: see the head of capture_engine.sv."""

import random
from itertools import chain
from typing import Any

import cocotb
from capture.engine import Engine, lengths
from capture.host import DECERR, SLVERR
from capture.packets import HEADER_BYTES, MAX_CAPTURED

from headrace.testing.streams import PATTERNS, behaviour, bursts, cycles, mostly, never, seldom, together, until


def flat(packets: list[list[bytes]]) -> list[bytes]:
    """The slots of several packets."""
    return list(chain.from_iterable(packets))


@behaviour()
@cocotb.parametrize((("stalls", "pauses"), together(PATTERNS, [never, bursts])))
async def the_ring_holds_the_records_of_all_packets(dut: Any, stalls: Any, pauses: Any) -> None:
    engine = await Engine(
        dut,
        ring_log2=random.randint(10, 13),
        stalls=stalls,
        latency=lambda: random.randint(1, 30),
        consumer_lag=lambda: random.choice((0, 500)),
    ).start()
    wire = [engine.frame(n + random.choice((0, 40)), n) for n in lengths(25)]
    sending = cocotb.start_soon(engine.send(wire, pauses()))
    await engine.post(flat([engine.put(n) for n in lengths(25)]), pauses())
    await sending
    await engine.finish()
    engine.all_came()


@behaviour()
@cocotb.parametrize(length=[0, 1, 3, 16, 47, 240])
async def records_wrap_anywhere_in_the_smallest_ring(dut: Any, length: int) -> None:
    engine = await Engine(dut, ring_log2=8, stalls=seldom).start()
    await engine.post(flat([engine.put(length + random.choice((0, 0, 0, 1)) * (length < 240)) for _ in range(40)]))
    await engine.finish()
    engine.all_came()
    assert engine.producer > 2 * 256


@behaviour()
async def a_record_as_long_as_the_ring_fits_and_a_longer_one_is_dropped(dut: Any) -> None:
    engine = await Engine(dut, ring_log2=8).start()
    sizes = [100, 240, 241, 240, 500, 0, 241, 17]
    await engine.post(flat([engine.put(n) for n in sizes]))
    await engine.finish()
    assert [len(packet.data) for packet in engine.came] == [n for n in sizes if n <= 240]
    assert engine.counts.too_long == 3 == engine.counts.dropped


@behaviour()
@cocotb.parametrize(stalls=[never, bursts])
async def with_a_stopped_consumer_what_fits_is_kept_and_the_rest_is_counted(dut: Any, stalls: Any) -> None:
    engine = await Engine(dut, ring_log2=10, stalls=stalls, wait_for_room=False, consumer_lag=lambda: None).start()
    sizes = list(lengths(60))
    await engine.post(flat([engine.put(n) for n in sizes]))
    await engine.finish()
    room, kept = 1024, []
    for n in sizes:
        if n + HEADER_BYTES <= room:
            room -= n + HEADER_BYTES
            kept.append(n)
    assert [len(packet.data) for packet in engine.came] == kept
    assert engine.counts.ring_full == len(sizes) - len(kept) > 10
    engine.consumer_lag = lambda: 0
    await cycles(dut.clk, 20)
    more = [engine.put(n) for n in (5, 6, 7)]
    await engine.post(flat(more))
    await engine.finish()
    assert [len(packet.data) for packet in engine.came] == [*kept, 5, 6, 7]


@behaviour()
@cocotb.parametrize((("stalls", "waits"), together([never, seldom], [False, True])))
async def a_slow_consumer_loses_whole_packets_or_holds_them(dut: Any, stalls: Any, waits: bool) -> None:
    engine = Engine(dut, ring_log2=9, stalls=stalls, wait_for_room=waits)
    engine.consumer_lag = lambda: 0 if random.random() < 0.003 else None
    await engine.start()
    wire = [engine.frame(n, n) for n in lengths(30, 200)]
    sending = cocotb.start_soon(engine.send(wire, never()))
    await engine.post(flat([engine.put(n) for n in lengths(30, 200)]))
    await sending
    await engine.finish()
    assert engine.counts.dropped == engine.counts.ring_full
    if waits:
        engine.all_came()
    else:
        assert engine.counts.ring_full > 5


@behaviour()
async def with_wait_for_room_a_stopped_consumer_holds_everything(dut: Any) -> None:
    stopped = [True]
    engine = await Engine(dut, ring_log2=8, consumer_lag=lambda: None if stopped[0] else 0).start()
    wire = [engine.frame(n, n) for n in lengths(20, 200)]
    sending = cocotb.start_soon(engine.send(wire, never()))
    posting = cocotb.start_soon(engine.post(flat([engine.put(n) for n in lengths(20, 200)])))
    await cycles(dut.clk, 1500)
    assert not engine.counts.dropped and not sending.done()
    held = engine.producer
    await cycles(dut.clk, 500)
    assert engine.producer == held
    stopped[0] = False
    await sending
    await posting
    await engine.finish()
    engine.all_came()


@behaviour()
@cocotb.parametrize((("stalls", "latency"), together([never, bursts], [1, 40])))
async def packets_that_cannot_be_read_leave_no_trace(dut: Any, stalls: Any, latency: int) -> None:
    engine = await Engine(dut, ring_log2=11, stalls=stalls, latency=lambda: latency).start()
    bad = [random.random() < 0.3 for _ in range(50)]
    answers = [random.choice((SLVERR, DECERR)) if wrong else 0 for wrong in bad]
    sizes = [random.randint(1, 250) for _ in bad]
    wire = [engine.frame(n, n) for n in lengths(20)]
    sending = cocotb.start_soon(engine.send(wire, bursts()))
    await engine.post(flat([engine.put(n, answer) for n, answer in zip(sizes, answers, strict=True)]), seldom())
    await sending
    await engine.finish()
    came = [packet.number for packet in engine.came if packet.source == "memory"]
    assert came == [number for number, wrong in enumerate(bad) if not wrong]
    assert engine.counts.read_error == sum(bad) == engine.counts.dropped


@behaviour()
@cocotb.parametrize(stalls=[never, seldom])
async def one_that_goes_ahead_alone_and_fails_gives_its_place_back(dut: Any, stalls: Any) -> None:
    """With a long latency the engine starts on a lone packet before its data are there."""
    engine = await Engine(dut, ring_log2=9, stalls=stalls, latency=lambda: 60).start()
    fates = []
    for _ in range(24):
        wrong = random.random() < 0.5
        fates.append(wrong)
        await engine.post(engine.put(random.randint(1, 200), SLVERR if wrong else 0))
        follow = random.random()
        if follow < 0.3:
            await engine.post(engine.put(random.randint(0, 90)))
            fates.append(False)
        if follow < 0.8:
            await engine.finish()
    await engine.finish()
    assert [packet.number for packet in engine.came] == [number for number, wrong in enumerate(fates) if not wrong]
    assert engine.counts.dropped == engine.counts.read_error == sum(fates)


@behaviour()
@cocotb.parametrize(latency=[1, 60])
async def one_that_has_no_place_and_cannot_be_read_either_is_counted_once(dut: Any, latency: int) -> None:
    engine = Engine(dut, ring_log2=9, latency=lambda: latency, wait_for_room=False)
    await engine.start()
    sizes = []
    for _ in range(16):
        good = random.randint(0, 100)
        await engine.post([*engine.put(random.randint(500, 900), SLVERR), *engine.put(good)])
        sizes.append(good)
        await engine.finish()
    assert [len(packet.data) for packet in engine.came] == sizes
    assert engine.counts.dropped == 16


@behaviour()
async def memory_and_wire_take_turns(dut: Any) -> None:
    engine = await Engine(dut, ring_log2=13, latency=lambda: 2).start()
    wire = [engine.frame(0, 0) for _ in range(80)]
    packets = flat([engine.put(0, stamped=False) for _ in range(80)])
    posting = cocotb.start_soon(engine.post(packets))
    await until(dut.clk, lambda: bool(engine.came), 500)
    await engine.send(wire, never())
    await posting
    await engine.finish()
    sources = [packet.source for packet in engine.came]
    last = {source: len(sources) - sources[::-1].index(source) for source in ("memory", "wire")}
    both = sources[sources.index("wire") : min(last.values())]
    assert 0.2 < both.count("wire") / len(both) < 0.8


@behaviour()
@cocotb.parametrize((("stalls", "place"), together([never, seldom, bursts], [0, 300, 700, 1100, 1800])))
async def after_a_write_error_all_before_it_is_there_and_nothing_after_it(dut: Any, stalls: Any, place: int) -> None:
    engine = await Engine(dut, ring_log2=11, stalls=stalls, latency=lambda: random.randint(1, 30)).start()
    engine.bad_words[engine.ring_base + place // engine.size * engine.size] = random.choice((SLVERR, DECERR))
    wire = [engine.frame(n, n) for n in lengths(20)]
    sending = cocotb.start_soon(engine.send(wire, seldom()))
    await engine.post(flat([engine.put(n) for n in [*lengths(30), 250, 250, 250, 250]]))
    await sending
    await engine.finish()
    assert dut.write_error.value
    assert engine.counts.after_error == engine.counts.dropped > 0

    failed = next(burst for burst in engine.host.write_bursts if burst.response)
    whole = (
        failed.address + failed.first_lane - engine.ring_base - engine.producer
    )  # bytes that are there beyond producer
    assert whole >= 0, "a record was committed that is not written"
    next_record = engine.read(engine.producer, HEADER_BYTES)
    missing = HEADER_BYTES + int.from_bytes(next_record[8:12], "little")
    assert whole < HEADER_BYTES or missing > whole, "a record that is written was not committed"

    await engine.restart()
    assert not dut.write_error.value
    await engine.post(flat([engine.put(n) for n in lengths(20)]))
    await engine.finish()
    engine.all_came()


@behaviour()
async def descriptors_that_cannot_be_read_stop_it(dut: Any) -> None:
    engine = await Engine(dut).start()
    await engine.post(flat([engine.put(40, stamped=False) for _ in range(3)]))
    await engine.finish()
    engine.bad_words.update({engine.slot(n) // engine.size * engine.size: DECERR for n in range(engine.slots)})
    slots = engine.put(50, stamped=False)
    await engine.post(slots)
    await cycles(dut.clk, 200)
    assert dut.descriptor_error.value and dut.idle.value and int(dut.descriptor_tail.value) == 3
    wire = [engine.frame(60, 60)]
    await engine.send(wire, never())
    await cycles(dut.clk, 100)
    assert engine.came[-1].source == "wire"
    await engine.restart()
    assert not dut.descriptor_error.value
    await engine.post(flat([engine.put(n) for n in lengths(5)]))
    await engine.finish()
    engine.all_came()


@behaviour()
@cocotb.parametrize(snaplen=[0, 1, 64, 100])
async def snaplen_cuts_packets_of_memory(dut: Any, snaplen: int) -> None:
    engine = await Engine(dut, snaplen=snaplen).start()
    await engine.post(flat([engine.put(n) for n in lengths(30)]))
    await engine.finish()
    engine.all_came()
    words = -(-(snaplen + engine.size) // engine.size)
    assert all(len(packet.data) <= snaplen for packet in engine.came)
    packets = [burst for burst in engine.host.read_bursts if not 0 <= burst.address - engine.descriptor_base < 4096]
    assert all(burst.beats <= words for burst in packets)


@behaviour()
async def the_longest_packets_pass(dut: Any) -> None:
    engine = await Engine(dut, ring_log2=17, latency=lambda: 1).start()
    engine.consumer_lag = lambda: None
    longest = MAX_CAPTURED if int(dut.READ_BUFFER.value) > 4 else 20_000  # a buffer of a few beats is slow
    await engine.post(flat([engine.put(n) for n in (longest, 1, 9000)]))
    await engine.send([engine.frame(9000, 9000)], never())
    await engine.finish(240_000)
    engine.all_came()


@behaviour()
async def disabled_it_leaves_descriptors_alone(dut: Any) -> None:
    engine = await Engine(dut).start()
    dut.enable.value = 0
    slots = flat([engine.put(n) for n in (10, 20)])
    await engine.post(slots)
    await cycles(dut.clk, 100)
    assert int(dut.descriptor_tail.value) == 0 and not engine.host.read_bursts and dut.idle.value
    dut.enable.value = 1
    await engine.finish()
    engine.all_came()


@behaviour()
async def many_short_packets_under_heavy_stalls(dut: Any) -> None:
    engine = await Engine(dut, ring_log2=9, descriptor_log2=2, stalls=mostly, latency=lambda: 3).start()
    await engine.post(flat([engine.put(random.randint(0, 20)) for _ in range(60)]))
    await engine.finish()
    engine.all_came()
