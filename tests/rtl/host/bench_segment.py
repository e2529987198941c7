"""What segment promises: segments as scapy makes them, in order; other frames as they are, at full rate."""

import random
from typing import Any

import cocotb
from host.segments import TCPV4, TCPV6, segments, some_headers, some_request
from scapy.packet import Raw

from headrace.testing.streams import (
    PAIRS,
    Channel,
    Sink,
    Source,
    behaviour,
    cycles,
    frame_words,
    frames_of,
    never,
    start,
    until,
)

LATENCY = 9
Frame = tuple[int, bytes, int, int]  # queue, bytes, kind, size


def channel(dut: Any, side: str, *beside: Any) -> Channel:
    """A stream whose word ends with what goes beside it."""
    valid, ready, *payload = (
        getattr(dut, f"{side}_axis_t{name}") for name in ("valid", "ready", "data", "keep", "last")
    )
    return Channel(dut.clk, valid, ready, (*payload, *beside, getattr(dut, f"{side}_axis_queue")))


def request(frame: Frame) -> int:
    """As the block takes it."""
    _, data, kind, size = frame
    return bool(kind) << 34 | (kind & 0x7F == TCPV6) << 33 | size << 17 | len(data)


async def watch(dut: Any, seen: list[tuple[str, int, int]]) -> None:
    """Notes when frames are gone, and what is said of those to cut. Never returns."""
    while True:
        await cycles(dut.clk, 1)
        if dut.judged.value:
            name = "good" if dut.judged_good.value else "bad"
            seen.append((name, int(dut.judged_queue.value), int(dut.judged_bytes.value)))
        if dut.gone.value:
            seen.append(("gone", 0, 0))


async def send(dut: Any, frames: list[Frame], stalls: Any, out_stalls: Any) -> tuple[Source, Sink]:
    """Sends frames; checks what comes out and is told."""
    width, most = len(dut.s_axis_tdata), int(dut.MAX_FRAME.value)
    words = []
    for frame in frames:
        queue, data, _, _ = frame
        words += [(*word, queue) for word in frame_words(data, width, lambda frame=frame: request(frame))]
    source = Source(channel(dut, "s", dut.s_axis_request), words, stalls)
    sink = Sink(channel(dut, "m"), out_stalls)
    seen: list[tuple[str, int, int]] = []
    cocotb.start_soon(sink.run())
    watcher = cocotb.start_soon(watch(dut, seen))
    await source.run()
    await cycles(dut.clk, 2)
    await until(dut.clk, lambda: bool(dut.idle.value), 30_000)
    await cycles(dut.clk, 3)
    watcher.cancel()
    due, told = [], []
    for queue, data, kind, size in frames:
        cut = segments(data, kind, size, most) if kind else [data]
        due += [(queue, segment) for segment in cut or ()]
        if kind:
            told.append(("good" if cut else "bad", queue, len(data)))
    found = [(queues[0], data) for data, queues in frames_of(sink.taken) if len(set(queues)) == 1]
    for number, (one, other) in enumerate(zip(found, due, strict=False)):
        assert one == other, f"frame {number}, {one[0]} {other[0]}:\n{one[1].hex()}\n{other[1].hex()}"
    assert len(found) == len(due)
    assert [what for what in seen if what[0] != "gone"] == told
    assert len(seen) - len(told) == len(frames)
    return source, sink


def some_frames(dut: Any, rng: random.Random, count: int, longest: int) -> list[Frame]:
    """Some to cut, some not."""
    frames: list[Frame] = []
    most = int(dut.MAX_FRAME.value)
    for _ in range(count):
        queue = rng.randrange(int(dut.QUEUES.value))
        if rng.random() < 0.4:
            size = rng.choice((14, 64, 60, rng.randrange(14, 300), rng.randrange(14, most)))
            frames.append((queue, rng.randbytes(size), 0, rng.getrandbits(16)))
        else:
            frames.append((queue, *some_request(rng, longest, most)))
    return frames


@behaviour()
@cocotb.parametrize((("stalls", "out_stalls"), PAIRS))
async def frames_become_segments_in_order(dut: Any, stalls: Any, out_stalls: Any) -> None:
    """Of any sizes, tags and options, among frames that pass and some that can't be cut."""
    rng = random.Random(random.getrandbits(64))
    await start(dut)
    await send(dut, some_frames(dut, rng, 30, 6000), stalls(), out_stalls())


@behaviour()
async def every_size_of_the_headers_and_of_the_last_segment(dut: Any) -> None:
    rng = random.Random(2)
    await start(dut)
    beat = len(dut.s_axis_tdata) // 8
    frames: list[Frame] = []
    for size in range(1, 2 * beat + 2, 3 if beat > 16 else 1):
        v6 = rng.random() < 0.5
        data = bytes(some_headers(rng, v6) / Raw(rng.randbytes(size + rng.randrange(2 * size + 2))))
        frames.append((0, data, TCPV6 if v6 else TCPV4, size))
    await send(dut, frames, never(), never())


@behaviour()
async def a_frame_becomes_1024_segments_at_most(dut: Any) -> None:
    """So that nobody waits for a frame that is cut to single bytes."""
    rng = random.Random(5)
    await start(dut)
    frames: list[Frame] = []
    for size in (1, 2, 3, 1):
        for more in (0, 1):
            frames.append((0, bytes(some_headers(rng, False) / Raw(rng.randbytes(1024 * size + more))), TCPV4, size))
    frames.append((0, bytes(some_headers(rng, True) / Raw(rng.randbytes(65_400))), TCPV6, 1))
    await send(dut, frames, never(), never())


@behaviour()
async def a_frame_of_64_kb_takes_a_beat_a_cycle(dut: Any) -> None:
    """But for few cycles a segment."""
    rng = random.Random(3)
    await start(dut)
    beat = len(dut.s_axis_tdata) // 8
    for v6 in (False, True):
        headers = some_headers(rng, v6)
        size = 1448
        count = 65_535 - len(headers)
        data = bytes(headers / Raw(rng.randbytes(count)))
        source, sink = await send(dut, [(0, data, TCPV6 if v6 else TCPV4, size)] * 2, never(), never())
        number = -(-count // size)
        least = 2 * number * -(-(size + len(headers)) // beat)
        taken = (sink.times_ps[-1] - source.times_ps[0]) // 2000
        dut._log.info("%d cycles for %d beats out", taken, len(sink.taken))
        assert taken <= least + 2 * (3 * 128 // beat + 20) + size // beat + 40


@behaviour()
async def other_frames_pass_at_once(dut: Any) -> None:
    """A beat a cycle, nine cycles later."""
    await start(dut)
    beat = len(dut.s_axis_tdata) // 8
    for size, count in ((beat, 100), (14, 100), (1500, 5)):
        source, sink = await send(dut, [(0, random.randbytes(size), 0, 0)] * count, never(), never())
        passed = {(b - a) // 2000 for a, b in zip(source.times_ps, sink.times_ps, strict=True)}
        assert max(passed) <= LATENCY, passed
        times = source.times_ps
        assert (times[-1] - times[0]) // 2000 == len(times) - 1
