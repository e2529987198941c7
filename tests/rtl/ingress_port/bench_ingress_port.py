"""What a port's input promises: good packets go on whole and in order, and each one that doesn't is counted."""

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    PAIRS,
    PATTERNS,
    Channel,
    Sink,
    Source,
    behaviour,
    cycles,
    frame_words,
    frames_of,
    mostly,
    never,
    start,
    until,
)


@dataclass
class Port:
    """The packets that come, whether each is bad, what goes on, and what is told of each in turn."""

    dut: Any
    packets: list[tuple[bytes, bool]]
    stalls: Any
    sink_stalls: Any
    told: list[tuple[str, int]] = field(default_factory=list)

    async def watch(self) -> None:
        """Note events for ever."""
        dut = self.dut
        width = len(dut.received)
        while True:
            await RisingEdge(dut.clk)
            word = int(dut.received.value)
            taken, errored, dropped = (word >> width - 1 - i & 1 for i in range(3))
            if taken or errored:
                assert taken + errored == 1 and dropped <= taken
                self.told.append(("errored" if errored else "dropped" if dropped else "taken", word & (1 << 17) - 1))

    async def run(self, receiving: int = 1, hold: int = 0) -> list[bytes]:
        """All packets come; gives those that went on."""
        dut = self.dut
        dut.receiving.value, dut.hold.value = receiving, hold
        await start(dut)
        names = ("data", "keep", "last")
        out = Sink(
            Channel(dut.clk, dut.m_axis_tvalid, dut.m_axis_tready, tuple(getattr(dut, f"m_axis_t{n}") for n in names)),
            self.sink_stalls(),
        )
        payload = (*(getattr(dut, f"s_axis_t{n}") for n in names), dut.s_error)
        width = len(dut.s_axis_tdata)
        words = [word for data, bad in self.packets for word in frame_words(data, width, lambda bad=bad: int(bad))]
        source = Source(Channel(dut.clk, dut.s_axis_tvalid, dut.s_axis_tready, payload), words, self.stalls())
        cocotb.start_soon(self.watch())
        cocotb.start_soon(out.run())
        await source.run()
        await until(dut.clk, lambda: bool(dut.idle.value), 20_000)
        await cycles(dut.clk, 20)
        return [data for data, _ in frames_of((*word, 0) for word in out.taken)]


def some_packets(count: int) -> list[tuple[bytes, bool]]:
    """Packets of 1 to 600 bytes, some of them bad."""
    sizes = (random.choice((1, 63, 64, 65, random.randrange(1, 600))) for _ in range(count))
    return [(random.randbytes(size), random.random() < 0.1) for size in sizes]


@behaviour()
@cocotb.parametrize((("stalls", "sink_stalls"), PAIRS))
async def each_good_packet_goes_on_or_is_told_as_dropped(dut: Any, stalls: Any, sink_stalls: Any) -> None:
    port = Port(dut, some_packets(120), stalls, sink_stalls)
    found = await port.run()
    assert [size for _, size in port.told] == [len(data) for data, _ in port.packets]
    assert [what == "errored" for what, _ in port.told] == [bad for _, bad in port.packets]
    told = [data for (data, _), (what, _) in zip(port.packets, port.told, strict=True) if what == "taken"]
    assert found == told
    lost = sum(what == "dropped" for what, _ in port.told)
    assert lost == 0 or sink_stalls is not never
    assert lost or (stalls, sink_stalls) != (never, mostly)


@behaviour()
@cocotb.parametrize(sink_stalls=PATTERNS)
async def a_port_that_holds_loses_none(dut: Any, sink_stalls: Any) -> None:
    port = Port(dut, some_packets(120), never, sink_stalls)
    assert await port.run(hold=1) == [data for data, bad in port.packets if not bad]
    assert {what for what, _ in port.told} <= {"taken", "errored"}


@behaviour()
async def a_closed_port_drops_all(dut: Any) -> None:
    port = Port(dut, some_packets(40), never, never)
    assert await port.run(receiving=0) == []
    assert [what for what, _ in port.told] == ["errored" if bad else "dropped" for _, bad in port.packets]


@behaviour()
@cocotb.parametrize(hold=[0, 1])
async def a_packet_that_is_longer_than_the_store_is_dropped(dut: Any, hold: int) -> None:
    size = int(dut.STORE_KB.value) * 1024
    port = Port(dut, [(random.randbytes(n), False) for n in (70, size, 70, size + 1, 70)], PATTERNS[2], never)
    assert await port.run(hold=hold) == [data for data, _ in port.packets if len(data) <= size]
    assert [what for what, _ in port.told] == ["taken"] * 3 + ["dropped", "taken"]
