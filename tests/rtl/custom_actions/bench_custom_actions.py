"""What custom actions promise: the filter and the CRC on UDP payloads, checksums kept right, all else unchanged."""

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from custom_actions.oracle import CRC, FIR, ONE, Filter, Sent, expected, some_packet, udp

from headrace.testing.streams import (
    PATTERNS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    behaviour,
    cycles,
    frame_words,
    frames_of,
    gaps,
    mostly,
    never,
    seldom,
    start,
    together,
    until,
    watch_no_path,
)

PACKETS = 32  # with custom actions, inside at most
LATENCY = 17  # of a beat when nothing is to be done
LAST = {128: 27, 256: 27, 512: 28}  # from a packet's last beat to its first one out, when something is


class Bench:
    """Packets in and out."""

    def __init__(self, dut: Any, packets: list[Sent], stalls: Any = never, sink_stalls: Any = never) -> None:
        self.dut, self.packets = dut, packets
        self.width = len(dut.s_axis_tdata)
        self.size = self.width // 8
        self.coefficients = [random.randrange(-1 << 31, 1 << 31) >> random.choice((0, 0, 2, 31)) for _ in range(4)]
        self.carry = False
        self.dropped = 0
        self.users = {id(sent): random.getrandbits(8) for sent in packets}  # what goes with each
        self.words = [
            (*word, sent.custom, sent.payload_at)
            for sent in packets
            for word in frame_words(sent.data, self.width, partial(self.users.__getitem__, id(sent)))
        ]
        names = ("tdata", "tkeep", "tlast", "tuser")
        ports = tuple(getattr(dut, f"s_axis_{name}") for name in names)
        channel = Channel(dut.clk, dut.s_axis_tvalid, dut.s_axis_tready, (*ports, dut.s_custom, dut.s_payload_at))
        self.source = Source(channel, self.words, stalls())
        self.sink = Sink(Channel.axis(dut, "m"), sink_stalls())

    async def begin(self, coefficients: Sequence[int] | None = None, *, carry: bool = False) -> None:
        """Reset the block and load the filter."""
        if coefficients:
            self.coefficients = list(coefficients)
        self.carry = carry
        await start(self.dut)
        self.dut.coefficients.value = sum((h & 0xFFFFFFFF) << 32 * k for k, h in enumerate(self.coefficients))
        self.dut.carry.value = int(carry)
        cocotb.start_soon(self._watch())
        cocotb.start_soon(self.sink.run())

    async def _watch(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.dropped += bool(self.dut.dropped.value)

    async def run(self) -> None:
        """Send all, wait, and compare."""
        await self.source.run()
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), 30 * len(self.words) + 500)
        await cycles(self.dut.clk, 30)
        self.check(self.packets)

    def check(self, passed: list[Sent]) -> None:
        """That these packets came out as they should, with what was beside their beats."""
        filter_ = Filter(self.coefficients, carry=self.carry)
        frames = frames_of(self.sink.taken)
        assert len(frames) == len(passed)
        for sent, (data, beside) in zip(passed, frames, strict=True):
            assert set(beside) == {self.users[id(sent)]}
            due = expected(sent, filter_)
            assert data == due, f"{sent.data.hex()}\nfor {sent.payload_at}, {sent.custom}:\n{data.hex()}\n{due.hex()}"


@behaviour()
@cocotb.parametrize((("stalls", "sink_stalls"), together(PATTERNS, [never, seldom, mostly])), carry=[False, True])
async def every_packet_is_as_it_should_be(dut: Any, stalls: Any, sink_stalls: Any, carry: bool) -> None:
    bench = Bench(dut, [some_packet() for _ in range(60)], stalls, sink_stalls)
    await bench.begin(carry=carry)
    await bench.run()


@behaviour()
@cocotb.parametrize((("custom", "carry"), [(FIR, False), (FIR, True), (CRC, False), (FIR | CRC, True)]))
async def payloads_of_every_length(dut: Any, custom: int, carry: bool) -> None:
    bench = Bench(dut, [udp(random.randbytes(size), custom) for size in range(150)])
    await bench.begin([ONE // 2, ONE // 4, -ONE // 8, ONE], carry=carry)
    await bench.run()


@behaviour()
async def an_identity_leaves_packets_as_they_are(dut: Any) -> None:
    packets = [some_packet() for _ in range(100)]
    packets = [sent for sent in packets if not sent.custom & CRC]
    bench = Bench(dut, packets)
    await bench.begin([ONE, 0, 0, 0])
    await bench.run()
    for (data, _), sent in zip(frames_of(bench.sink.taken), packets, strict=True):
        assert data == sent.data


@behaviour()
async def sums_saturate_and_are_rounded_upwards_from_the_middle(dut: Any) -> None:
    samples = [(1 << 31) - 1, (1 << 31) - 1, -1 << 31, -1 << 31, 1, -1, 3, -3, 0, 0, 0]
    payload = b"".join(sample.to_bytes(4, "big", signed=True) for sample in samples)
    bench = Bench(dut, [udp(payload, FIR)])
    await bench.begin([ONE + ONE // 2, 0, 0, 0])
    await bench.run()
    ((data, _),) = frames_of(bench.sink.taken)
    found = data[bench.packets[0].payload_at :]
    due = [(1 << 31) - 1, (1 << 31) - 1, -1 << 31, -1 << 31, 2, -1, 5, -4, 0, 0, 0]
    assert [int.from_bytes(found[at : at + 4], "big", signed=True) for at in range(0, len(found), 4)] == due


@behaviour()
async def plain_packets_pass_without_a_gap_and_in_always_the_same_time(dut: Any) -> None:
    size = len(dut.s_axis_tdata) // 8
    bench = Bench(dut, [Sent(random.randbytes(random.choice((1, 1, 2, 5)) * size), 0, 42) for _ in range(150)])
    await bench.begin()
    await bench.run()
    assert gaps(bench.source.times_ps) == gaps(bench.sink.times_ps) == 0
    waits = {out - taken for taken, out in zip(bench.source.times_ps, bench.sink.times_ps, strict=True)}
    assert waits == {LATENCY * PERIOD_PS}


@behaviour()
async def a_packet_with_custom_actions_goes_soon_after_its_end(dut: Any) -> None:
    bench = Bench(dut, [udp(random.randbytes(600), FIR | CRC)])
    await bench.begin()
    await bench.run()
    assert bench.sink.times_ps[0] - bench.source.times_ps[-1] == LAST[bench.width] * PERIOD_PS
    assert gaps(bench.sink.times_ps) == 0


@behaviour()
async def packets_with_custom_actions_come_in_without_a_gap(dut: Any) -> None:
    bench = Bench(dut, [udp(random.randbytes(1000), FIR | CRC) for _ in range(30)])
    await bench.begin()
    await bench.run()
    assert gaps(bench.source.times_ps) == 0


@behaviour()
async def a_packet_with_custom_actions_that_is_longer_than_the_store_is_dropped(dut: Any) -> None:
    size = 1024 * int(dut.STORE_KB.value)
    fits = udp(b"", CRC)
    while len(fits.data) != size:
        fits = udp(random.randbytes(size - 42), FIR | CRC)
    packets = [
        udp(random.randbytes(50), FIR),
        udp(random.randbytes(size), FIR | CRC),
        udp(random.randbytes(50), FIR | CRC),
        Sent(random.randbytes(size + 100), 0, 0),
        udp(random.randbytes(2 * size + 200), CRC),
        udp(random.randbytes(size - 200), CRC),
        fits,
    ]
    bench = Bench(dut, packets, sink_stalls=seldom)
    await bench.begin()
    await bench.source.run()
    await until(dut.clk, lambda: bool(dut.idle.value), 30 * len(bench.words) + 500)
    bench.check([sent for sent in packets if sent.custom == 0 or len(sent.data) <= size])
    assert bench.dropped == 2


@behaviour()
@cocotb.parametrize(custom=[0, CRC])
async def it_is_not_idle_while_a_beat_is_inside(dut: Any, custom: int) -> None:
    bench = Bench(dut, [Sent(random.randbytes(300), 0, 0) if custom == 0 else udp(random.randbytes(300), custom)])
    await bench.begin()
    sending, sent = cocotb.start_soon(bench.source.run()), 0
    while not sending.done() or len(bench.sink.taken) < len(bench.words):
        await RisingEdge(dut.clk)
        assert not dut.idle.value or len(bench.sink.taken) >= sent
        sent = len(bench.source.sent)


@behaviour()
async def packets_wait_outside_while_nobody_takes_any(dut: Any) -> None:
    bench = Bench(dut, [udp(random.randbytes(4), random.choice((FIR, CRC))) for _ in range(50)])
    await start(dut)
    dut.coefficients.value = sum((h & 0xFFFFFFFF) << 32 * k for k, h in enumerate(bench.coefficients))
    dut.carry.value = 0
    sending = cocotb.start_soon(bench.source.run())
    await cycles(dut.clk, 500)
    assert PACKETS <= sum(word[2] for word in bench.source.sent) <= PACKETS + 2  # two beats are on their way out
    assert not dut.s_axis_tready.value and not dut.idle.value
    cocotb.start_soon(bench.sink.run())
    await sending
    await until(dut.clk, lambda: bool(dut.idle.value), 1000)
    await cycles(dut.clk, 30)
    bench.check(bench.packets)


@behaviour()
async def ready_does_not_follow_ready(dut: Any) -> None:
    bench = Bench(dut, [some_packet() for _ in range(30)], seldom, seldom)
    cocotb.start_soon(watch_no_path(dut.clk, dut.m_axis_tready, dut.s_axis_tready))
    await bench.begin()
    await bench.run()
