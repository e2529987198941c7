"""What noc_pack promises: the ten bytes of the header, padded to whole beats, in front of each frame; no lost cycle."""

import random
from typing import Any

import cocotb
from bridge.noc_packets import Header, Packet, channel, frame_beats, packets_of, sizes

from headrace.testing.streams import PAIRS, Sink, Source, behaviour, cycles, gaps, never, start, until


async def check(dut: Any, packets: list[Packet], source_stalls: Any, sink_stalls: Any) -> Sink:
    """Send the payloads with their headers beside the first beats; compare what comes. Spare headers are noise."""
    await start(dut)
    width = len(dut.s_axis_tdata)
    words, headers = [], []
    for packet in packets:
        frame = frame_beats(packet.payload, width)
        words += frame
        headers += [packet.header.bits, *(random.getrandbits(74) for _ in frame[1:])]
    sink = Sink(channel(dut, "m"), sink_stalls)
    cocotb.start_soon(sink.run())

    def beside(number: int) -> None:
        dut.s_header.value = headers[number]

    await Source(channel(dut, "s"), words, source_stalls, beside).run()
    await until(dut.clk, lambda: sum(word[2] for word in sink.taken) == len(packets), 100)
    await cycles(dut.clk, 10)
    assert packets_of(sink.taken, width) == packets
    return sink


def some_packets(count: int) -> list[Packet]:
    return [Packet(Header.random(), random.randbytes(size)) for size, _ in zip(sizes(200), range(count), strict=False)]


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def headers_come_in_front(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    await check(dut, some_packets(25), source_stalls(), sink_stalls())


@behaviour()
async def no_cycle_is_lost(dut: Any) -> None:
    sink = await check(dut, some_packets(60), never(), never())
    assert gaps(sink.times_ps) == 0
