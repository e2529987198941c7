"""What noc_route promises: frames leave with the header of the table or not at all, and never late by an old entry."""

import itertools
import random
from typing import Any

import cocotb
from bridge.noc_packets import (
    Entry,
    Header,
    Packet,
    channel,
    frame_beats,
    header_beats,
    look_up,
    packets_of,
    table_write,
    write_table,
)
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, Sink, Source, Stalls, behaviour, cycles, gaps, mostly, never, start, until

HERE = 0x2A
LATE = 4  # cycles after which no frame begins to be offered by an old entry: noc.sv counts on it


class Bench:
    """The block with frames whose keys are the numbers 0 to 7; whatever the table gives is used as it is."""

    def __init__(self, dut: Any, frames: list[tuple[int, bytes]], source: Stalls, sink: Stalls) -> None:
        self.dut, self.width, self.frames = dut, len(dut.s_axis_tdata), frames
        self.words, self.keys = [], []
        for key, frame in frames:
            made = frame_beats(frame, self.width)
            self.words += made
            self.keys += [key, *(random.getrandbits(32) for _ in made[1:])]
        self.source = Source(channel(dut, "s"), self.words, source, self.beside)
        self.sink = Sink(channel(dut, "m"), sink)
        self.unknown = self.sent = 0

    def beside(self, number: int) -> None:
        self.dut.s_key.value = self.keys[number]

    async def watch(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            self.unknown += int(dut.unknown.value)
            self.sent += int(dut.sent.value)

    async def wire(self) -> None:
        """What is put on is what the table gave."""
        while True:
            await self.dut.entry.value_change
            self.dut.header.value = self.dut.entry.value

    async def start(self, table: list[Entry]) -> None:
        dut = self.dut
        dut.here.value, dut.table_write.value = HERE, 0
        await start(dut)
        await write_table(dut, HERE, table)
        for run in (self.watch(), self.wire(), self.sink.run()):
            cocotb.start_soon(run)

    async def run(self) -> None:
        await self.source.run()
        await until(self.dut.clk, lambda: self.unknown + self.sent == len(self.frames), 2000)
        await cycles(self.dut.clk, 10)

    def check(self, headers: list[Header | None]) -> None:
        """Each frame left with its header or, without one, was dropped."""
        pairs = zip(headers, self.frames, strict=True)
        expected = [Packet(header, frame) for header, (_, frame) in pairs if header]
        assert packets_of(self.sink.taken, self.width) == expected
        assert (self.sent, self.unknown) == (len(expected), headers.count(None))


def some_frames(count: int) -> list[tuple[int, bytes]]:
    return [
        (random.randrange(8), random.randbytes(random.choice((1, 40, random.randint(1, 90))))) for _ in range(count)
    ]


@behaviour()
@cocotb.parametrize((("source_stalls", "sink_stalls"), PAIRS))
async def frames_leave_with_the_header_of_their_key(dut: Any, source_stalls: Any, sink_stalls: Any) -> None:
    table = [Entry(key, header=Header.random()) for key in random.sample(range(8), 6)]
    bench = Bench(dut, some_frames(30), source_stalls(), sink_stalls())
    await bench.start(table)
    await bench.run()
    bench.check([look_up(table, key) for key, _ in bench.frames])


@behaviour()
async def a_frame_costs_its_header_and_two_cycles(dut: Any) -> None:
    table = [Entry(mask=0, header=Header.random())]
    bench = Bench(dut, some_frames(30), never(), never())
    await bench.start(table)
    await bench.run()
    bench.check([table[0].header] * 30)
    assert gaps(bench.source.times_ps) <= 30 * (2 + header_beats(bench.width))
    assert gaps(bench.sink.times_ps) == 29 * 2


@behaviour()
@cocotb.parametrize(sink_stalls=[never, mostly])
async def no_frame_begins_by_an_old_entry_later_than_promised(dut: Any, sink_stalls: Any) -> None:
    """The entry changes all the time; its versions are numbered in the source IDP."""
    bench = Bench(dut, [(7, frame) for _, frame in some_frames(150)], never(), sink_stalls())
    await bench.start([Entry(7, header=Header(source=0))])
    written = [0]  # the cycle in which each version was written
    begun: list[int] = []  # the cycle in which each packet was offered first
    cycle = 0

    async def watch() -> None:
        nonlocal cycle
        first = True
        while True:
            await RisingEdge(dut.clk)
            cycle += 1
            if dut.m_axis_tvalid.value:
                if first:
                    begun.append(cycle)
                first = bool(dut.m_axis_tready.value and dut.m_axis_tlast.value)

    async def change() -> None:
        for version in itertools.count(1):
            dut.table_write.value = table_write(HERE, 0, Entry(7, header=Header(source=version)))
            await RisingEdge(dut.clk)
            written.append(cycle + 1)
            dut.table_write.value = 0
            await cycles(dut.clk, random.randint(1, 12))

    changes = cocotb.start_soon(change())
    cocotb.start_soon(watch())
    await bench.run()
    changes.cancel()
    versions = [packet.header.source for packet in packets_of(bench.sink.taken, bench.width)]
    assert len(begun) == len(versions) and versions == sorted(versions) and versions[-1] > 50
    for version, cycle_begun in zip(versions, begun, strict=True):
        assert written[version] < cycle_begun
        assert version + 1 >= len(written) or cycle_begun <= written[version + 1] + LATE
