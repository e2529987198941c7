"""What a width converter promises."""

import random
from collections.abc import Callable
from typing import Any

import cocotb

from headrace.testing.streams import (
    PAIRS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    Word,
    behaviour,
    bursts,
    cycles,
    frame_words,
    frames_of,
    gaps,
    never,
    start,
    until,
    watch_no_path,
)


def widths(dut: Any) -> tuple[int, int, int]:
    return int(dut.S_DATA_W.value), int(dut.M_DATA_W.value), int(dut.USER_W.value)


def expected_users(users: list[int], size: int, s_width: int, m_width: int) -> list[int]:
    """tuser of each beat that must come out for a frame of `size` bytes whose beats came in with `users`."""
    count = max(-(-size * 8 // m_width), 1)
    if s_width >= m_width:
        return [users[index * m_width // s_width] for index in range(count)]
    ratio = m_width // s_width
    return [users[min((index + 1) * ratio, len(users)) - 1] for index in range(count)]


async def convert(dut: Any, sizes: list[int], source_stalls: Callable[[], Any], sink_stalls: Callable[[], Any]) -> Any:
    """Send frames of `sizes` bytes and check bytes, borders and tuser of what comes out; returns both ends."""
    s_width, m_width, user_w = widths(dut)
    frames = [random.randbytes(size) for size in sizes]
    beats = [frame_words(frame, s_width, lambda: random.getrandbits(user_w)) for frame in frames]
    words: list[Word] = [word for frame in beats for word in frame]
    source = Source(Channel.axis(dut, "s"), words, source_stalls())
    sink = Sink(Channel.axis(dut, "m"), sink_stalls())
    cocotb.start_soon(sink.run())
    await source.run()
    total = sum(max(-(-size * 8 // m_width), 1) for size in sizes)
    await until(dut.clk, lambda: len(sink.taken) >= total, 100 * s_width // m_width + 1000)
    await cycles(dut.clk, 20)
    users = [[word[3] for word in frame] for frame in beats]
    assert frames_of(sink.taken) == [
        (frame, expected_users(user, len(frame), s_width, m_width)) for frame, user in zip(frames, users, strict=True)
    ]
    assert len(sink.taken) == total
    full = (1 << m_width // 8) - 1
    assert all(keep == full for _, keep, last, _ in sink.taken if not last), "a beat within a frame is not full"
    return source, sink


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def frames_keep_bytes_borders_and_tuser(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await start(dut)
    wide = max(widths(dut)[:2]) // 8
    sizes = [random.choice([0, 1, wide - 1, wide, wide + 1, random.randint(0, 6 * wide)]) for _ in range(60)]
    await convert(dut, sizes, source_stalls, sink_stalls)


@behaviour()
async def every_length_up_to_three_wide_beats(dut: Any) -> None:
    await start(dut)
    wide = max(widths(dut)[:2]) // 8
    await convert(dut, list(range(3 * wide + 2)), never, never)


@behaviour()
@cocotb.parametrize(beats=[1, 2, 7])
async def the_narrow_side_has_no_gaps(dut: Any, beats: int) -> None:
    """Frames of whole wide beats, and of one byte more, keep the narrow side busy in every cycle."""
    await start(dut)
    s_width, m_width, _ = widths(dut)
    wide = max(s_width, m_width) // 8
    source, sink = await convert(dut, [beats * wide + random.choice([0, 1]) for _ in range(40)], never, never)
    assert gaps((source if s_width <= m_width else sink).times_ps) == 0


@behaviour()
async def frames_of_one_byte_pass_at_a_beat_a_cycle(dut: Any) -> None:
    await start(dut)
    source, sink = await convert(dut, [1] * 100, never, never)
    assert gaps(source.times_ps) == gaps(sink.times_ps) == 0
    s_width, m_width, _ = widths(dut)
    assert sink.times_ps[0] - source.times_ps[0] == (1 if s_width == m_width else 2) * PERIOD_PS


@behaviour()
async def ready_does_not_pass_through(dut: Any) -> None:
    await start(dut)
    cocotb.start_soon(watch_no_path(dut.clk, dut.m_axis_tready, dut.s_axis_tready))
    await convert(dut, [random.randint(0, 200) for _ in range(50)], never, bursts)


@behaviour()
async def reset_forgets_a_frame_halfway(dut: Any) -> None:
    await start(dut)
    s_width, m_width, _ = widths(dut)
    words = frame_words(random.randbytes(max(s_width, m_width) // 8), s_width, lambda: 0)
    await Source(Channel.axis(dut, "s"), words[: (len(words) + 1) // 2], never()).run()
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    assert not dut.m_axis_tvalid.value
    dut.rst.value = 0
    await convert(dut, [5, 17, 0, 3], never, never)
