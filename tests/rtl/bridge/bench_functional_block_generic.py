"""What the generic kernel promises: frames pass unchanged, and each takes its time to the cycle."""

import random
from typing import Any

import cocotb
from bridge.noc_packets import channel, frame_beats, frames
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, Sink, Source, behaviour, cycles, gaps, never, start, until

NEVER = (1 << 64) - 1


class Clocked:
    """Drives time_ns and notes when first beats are offered, last beats are offered and last beats leave."""

    def __init__(self, dut: Any, step_ns: int) -> None:
        self.dut, self.step_ns = dut, step_ns
        self.first: list[int] = []
        self.last: list[int] = []  # came
        self.left: list[int] = []  # offered at the output
        self.asleep = 0

    async def run(self) -> None:
        dut, now, fresh = self.dut, random.getrandbits(50), True
        while True:
            dut.time_ns.value = now
            await RisingEdge(dut.clk)
            if dut.s_axis_tvalid.value:
                if fresh:
                    self.first.append(now)
                fresh = False
                if dut.s_axis_tlast.value and len(self.last) < len(self.first):
                    self.last.append(now)
                if dut.m_axis_tvalid.value and dut.m_axis_tlast.value and len(self.left) < len(self.first):
                    self.left.append(now)
                fresh = bool(dut.s_axis_tready.value and dut.s_axis_tlast.value)
            wake = int(dut.wake_ns.value)
            if wake != NEVER:
                assert wake > now
                self.asleep += 1
                self.wake = wake
            now += self.step_ns


async def check(
    dut: Any, sent: list[bytes], packet_ns: int, byte_ns_256: int, source: Any, sink_stalls: Any
) -> Clocked:
    """Send the frames and compare the times."""
    await start(dut)
    dut.packet_ns.value, dut.byte_ns_256.value = packet_ns, byte_ns_256
    clocked = Clocked(dut, random.choice((1, 3, 5)))
    cocotb.start_soon(clocked.run())
    sink = Sink(channel(dut, "m"), sink_stalls)
    cocotb.start_soon(sink.run())
    width = len(dut.s_axis_tdata)
    words = [word for frame in sent for word in frame_beats(frame, width)]
    await Source(channel(dut, "s"), words, source).run()
    await until(dut.clk, lambda: sum(word[2] for word in sink.taken) == len(sent), 2000)
    assert frames(sink.taken) == sent
    step = clocked.step_ns
    for frame, first, last, left in zip(sent, clocked.first, clocked.last, clocked.left, strict=True):
        due = first + packet_ns + len(frame) * byte_ns_256 // 256
        rounded = first + -(-(due - first) // step) * step
        assert left == max(rounded, last + 3 * step)
    return clocked


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def each_frame_takes_its_time(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    sent = [random.randbytes(random.randint(1, 100)) for _ in range(25)]
    packet_ns, byte_ns = random.choice(((0, 0), (100, 0), (0, 700), (57, 255), (3, 256)))
    await check(dut, sent, packet_ns, byte_ns, source_stalls(), sink_stalls())


@behaviour()
async def it_says_when_it_wakes(dut: Any) -> None:
    clocked = await check(dut, [random.randbytes(20)], 1500, 512, never(), never())
    assert clocked.wake == clocked.first[0] + 1540 and clocked.asleep > 200
    await cycles(dut.clk, 3)
    assert int(dut.wake_ns.value) == NEVER


@behaviour()
async def without_a_time_set_x(dut: Any) -> None:
    count = 40
    sent = [random.randbytes(random.randint(1, 100)) for _ in range(count)]
    await start(dut)
    dut.packet_ns.value = dut.byte_ns_256.value = dut.time_ns.value = 0
    sink = Sink(channel(dut, "m"), never())
    cocotb.start_soon(sink.run())
    words = [word for frame in sent for word in frame_beats(frame, len(dut.s_axis_tdata))]
    await Source(channel(dut, "s"), words, never()).run()
    await cycles(dut.clk, 3)
    long = sum(len(frame) > len(dut.s_axis_tdata) // 8 for frame in sent)
    assert gaps(sink.times_ps) in (3 * count, 3 * count - 3) and long
