"""What noc_unpack promises: payloads with their headers; malformed packets dropped, long ones cut and marked."""

import random
from typing import Any

import cocotb
from bridge.noc_packets import Header, Packet, beats, channel, frames, header_beats
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, Channel, Sink, Source, behaviour, cycles, gaps, never, start, until


def some_packets(longest: int, count: int) -> list[Packet]:
    """Packets of every kind: empty, as long as allowed, too long, any."""
    lengths = (0, 1, longest - 1, longest, longest + 1, longest + 64, 3 * longest)
    return [
        Packet(Header.random(), random.randbytes(random.choice((*lengths, random.randint(1, longest)))))
        for _ in range(count)
    ]


class Bench:
    """The block between a source and a sink that notes header and m_too_long beside each beat."""

    def __init__(self, dut: Any, source_words: list[tuple[int, ...]], source_stalls: Any, sink_stalls: Any) -> None:
        self.dut, self.width, self.malformed = dut, len(dut.s_axis_tdata), 0
        m = channel(dut, "m")
        beside = Channel(m.clk, m.valid, m.ready, (*m.payload, dut.m_header, dut.m_too_long))
        self.source = Source(channel(dut, "s"), source_words, source_stalls)
        self.sink = Sink(beside, sink_stalls)

    async def watch(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.malformed += int(self.dut.malformed.value)

    async def run(self, expected: int) -> None:
        """Send everything and wait for `expected` frames."""
        await start(self.dut)
        cocotb.start_soon(self.watch())
        cocotb.start_soon(self.sink.run())
        await self.source.run()
        await until(self.dut.clk, lambda: sum(word[2] for word in self.sink.taken) >= expected, 2000)
        await cycles(self.dut.clk, 20)
        assert self.dut.idle.value

    def frames(self) -> list[tuple[bytes, Header, bool]]:
        """Payload, header and mark of each frame that came."""
        payloads = frames(word[:3] for word in self.sink.taken)
        found, headers = [], set()
        for word in self.sink.taken:
            headers.add(word[3])
            if word[2]:
                (header,) = headers
                found.append((payloads[len(found)], Header.from_bits(header), bool(word[4])))
                headers = set()
        return found


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def payloads_come_with_their_headers(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    longest, width = int(dut.MAX_PACKET.value), len(dut.s_axis_tdata)
    packets = some_packets(longest, 8 if longest > 1000 else 60)
    words = [word for packet in packets for word in beats(packet, width)]
    bench = Bench(dut, words, source_stalls(), sink_stalls())
    good = [packet for packet in packets if packet.payload]
    await bench.run(len(good))
    got = bench.frames()
    assert bench.malformed == len(packets) - len(good)
    assert [(header, long) for _, header, long in got] == [(p.header, len(p.payload) > longest) for p in good]
    for (data, _, long), packet in zip(got, good, strict=True):
        room = -(-longest // (width // 8)) * width // 8
        assert data == (packet.payload[:room] if long else packet.payload)


@behaviour()
async def packets_that_end_early_are_malformed(dut: Any) -> None:
    width = len(dut.s_axis_tdata)
    ones = (1 << width // 8) - 1
    good = Packet(Header.random(), random.randbytes(min(40, int(dut.MAX_PACKET.value))))
    words = []
    for cut in range(1, header_beats(width) + 1):
        head = beats(good, width)[:cut]
        words += [*head[:-1], (head[-1][0], ones, 1), *beats(good, width)]
    empty = [*beats(good, width)[: header_beats(width)], (random.getrandbits(width), 0, 1)]
    words += [*empty, *beats(good, width)]
    bench = Bench(dut, words, never(), never())
    await bench.run(header_beats(width) + 1)
    assert bench.frames() == [(good.payload, good.header, False)] * (header_beats(width) + 1)
    assert bench.malformed == header_beats(width) + 1


@behaviour()
async def it_never_waits(dut: Any) -> None:
    width, longest = len(dut.s_axis_tdata), int(dut.MAX_PACKET.value)
    words = [word for packet in some_packets(longest, 30) for word in beats(packet, width)]
    bench = Bench(dut, words, never(), never())
    await bench.run(1)
    assert gaps(bench.source.times_ps) == 0
