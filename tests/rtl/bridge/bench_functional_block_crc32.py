"""What the CRC-32 kernel promises, against zlib: frames pass unchanged, those without a good CRC marked."""

import random
import zlib
from typing import Any

import cocotb
from bridge.noc_packets import channel, frame_beats, frames

from headrace.testing.streams import PAIRS, Channel, Sink, Source, behaviour, gaps, never, start, until


def with_crc(data: bytes) -> bytes:
    """`data` and its frame check sequence, as on an Ethernet."""
    return data + zlib.crc32(data).to_bytes(4, "little")


def is_good(frame: bytes) -> bool:
    return len(frame) >= 4 and frame == with_crc(frame[:-4])


async def check(dut: Any, sent: list[bytes], source_stalls: Any, sink_stalls: Any) -> Sink:
    """Send the frames; they must come out unchanged, each marked as zlib says."""
    await start(dut)
    m = channel(dut, "m")
    sink = Sink(Channel(m.clk, m.valid, m.ready, (*m.payload, dut.m_drop)), sink_stalls)
    cocotb.start_soon(sink.run())
    width = len(dut.s_axis_tdata)
    await Source(channel(dut, "s"), [word for frame in sent for word in frame_beats(frame, width)], source_stalls).run()
    await until(dut.clk, lambda: sum(word[2] for word in sink.taken) == len(sent), 200)
    assert frames(word[:3] for word in sink.taken) == sent
    drops = [word[3] for word in sink.taken if word[2]]
    assert drops == [not is_good(frame) for frame in sent]
    return sink


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def bad_frames_are_marked(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    sent = []
    for _ in range(50):
        frame = bytearray(with_crc(random.randbytes(random.randint(0, random.choice((8, 150))))))
        if random.random() < 0.4:
            bit = random.randrange(8 * len(frame))
            frame[bit // 8] ^= 1 << bit % 8
        sent.append(bytes(frame))
    await check(dut, sent, source_stalls(), sink_stalls())


@behaviour()
async def every_length_and_no_lost_cycle(dut: Any) -> None:
    sent = [with_crc(random.randbytes(length)) for length in range(140)]
    sent += [random.randbytes(length) for length in range(1, 140)]
    assert gaps((await check(dut, sent, never(), never())).times_ps) == 0


@behaviour()
async def a_frame_shorter_than_a_crc_is_bad(dut: Any) -> None:
    short = [bytes([value]) for value in range(256)] + [random.randbytes(random.choice((2, 3))) for _ in range(200)]
    await check(dut, [*short, with_crc(b"")], never(), never())
