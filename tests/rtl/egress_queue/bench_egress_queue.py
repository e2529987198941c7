"""What a port's output queue promises: its packets go out in whole, in order and stamped; what is lost is counted."""

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
    Stalls,
    Word,
    behaviour,
    cycles,
    frame_words,
    frames_of,
    gaps,
    mostly,
    never,
    start,
    until,
)

META = (("lost", 32), ("port", 8), ("error", 1), ("cut", 1), ("wire_len", 32), ("timestamp_ns", 64))
NS = 3  # of time_ns, a cycle


@dataclass
class Queue:
    """The stream that goes by, the port's side, and the pulses."""

    dut: Any
    packets: list[bytes]
    take: list[bool]
    stalls: Stalls
    sink: Sink
    sent: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    offered: list[int] = field(default_factory=list)  # time_ns at which a packet's first beat is first offered

    async def watch(self) -> None:
        """Note pulses and times for ever."""
        dut, inside = self.dut, False
        while True:
            await RisingEdge(dut.clk)
            if dut.sent.value:
                self.sent.append(int(dut.sent_bytes.value))
            if dut.dropped.value:
                self.dropped.append(int(dut.dropped_bytes.value))
            if dut.tx_tvalid.value:
                if not inside:
                    self.offered.append(int(dut.time_ns.value))
                inside = not (dut.tx_tready.value and dut.tx_tlast.value)
            dut.time_ns.value = int(dut.time_ns.value) + NS

    async def run(self) -> list[bytes]:
        """Send all packets past the queue and give those that came out."""
        dut = self.dut
        dut.time_ns.value = 0
        await start(dut)
        dut.s_axis_tvalid.value = 0
        dut.time_ns.value = 1 << 40
        await RisingEdge(dut.clk)
        cocotb.start_soon(self.watch())
        cocotb.start_soon(self.sink.run())
        width = len(dut.s_axis_tdata)
        for data, take in zip(self.packets, self.take, strict=True):
            for word in frame_words(data, width, lambda take=take: int(take)):
                while next(self.stalls):
                    dut.s_axis_tvalid.value = 0
                    await RisingEdge(dut.clk)
                self.drive(word)
                await RisingEdge(dut.clk)
        dut.s_axis_tvalid.value = 0
        await until(dut.clk, lambda: bool(dut.idle.value), 40 * len(self.packets) + 4000)
        await cycles(dut.clk, 20)
        return [data for data, _ in frames_of(word[:4] for word in self.sink.taken)]

    def drive(self, word: Word) -> None:
        """Offer a beat."""
        dut = self.dut
        dut.s_axis_tvalid.value = 1
        dut.s_axis_tdata.value, dut.s_axis_tkeep.value, dut.s_axis_tlast.value, dut.s_take.value = word


def queue(dut: Any, packets: list[bytes], stalls: Any, sink_stalls: Any, share: float = 1.0) -> Queue:
    """A queue past which `packets` go, of which a share is for it."""
    payload = tuple(getattr(dut, f"tx_t{name}") for name in ("data", "keep", "last", "user"))
    sink = Sink(Channel(dut.clk, dut.tx_tvalid, dut.tx_tready, payload), sink_stalls())
    return Queue(dut, packets, [random.random() < share for _ in packets], stalls(), sink)


def some_packets(count: int) -> list[bytes]:
    """Packets of 1 to 600 bytes."""
    return [random.randbytes(random.choice((1, 63, 64, 65, random.randrange(1, 600)))) for _ in range(count)]


@behaviour()
@cocotb.parametrize((("stalls", "sink_stalls"), PAIRS))
async def each_packet_goes_out_or_is_counted_as_dropped(dut: Any, stalls: Any, sink_stalls: Any) -> None:
    bench = queue(dut, some_packets(150), stalls, sink_stalls, 0.6)
    found = await bench.run()
    due = [data for data, take in zip(bench.packets, bench.take, strict=True) if take]
    left, lost = iter(due), []
    for data in found:
        for other in left:
            if other == data:
                break
            lost.append(len(other))
        else:
            raise AssertionError("a packet that was not sent, or out of order")
    lost += [len(data) for data in left]
    assert bench.dropped == lost
    assert bench.sent == [len(data) for data in found]
    assert not lost or sink_stalls is not never
    assert lost or (stalls, sink_stalls) != (never, mostly)


@behaviour()
async def each_packet_has_the_port_and_the_time_of_its_first_offer(dut: Any) -> None:
    bench = queue(dut, some_packets(60), never, PATTERNS[1])
    await bench.run()
    stamps = []
    for _, users in frames_of(bench.sink.taken):
        assert len(set(users)) == 1
        meta = users[0]
        members = {}
        for name, width in reversed(META):
            members[name] = meta & (1 << width) - 1
            meta >>= width
        stamps.append(members.pop("timestamp_ns"))
        assert members == {"lost": 0, "port": int(dut.PORT.value), "error": 0, "cut": 0, "wire_len": 0}
    assert stamps == bench.offered


@behaviour()
async def packets_of_one_beat_pass_without_a_gap(dut: Any) -> None:
    bench = queue(dut, [random.randbytes(len(dut.tx_tdata) // 8) for _ in range(100)], never, never)
    assert await bench.run() == bench.packets
    assert gaps(bench.sink.times_ps) == 0


@behaviour()
async def packets_for_other_ports_never_fill_the_queue(dut: Any) -> None:
    bench = queue(dut, [random.randbytes(500) for _ in range(20)], never, never, 0.0)
    assert await bench.run() == []
    assert bench.sent == bench.dropped == []


@behaviour()
async def a_packet_that_is_longer_than_the_queue_is_dropped(dut: Any) -> None:
    size = int(dut.QUEUE_KB.value) * 1024
    packets = [random.randbytes(n) for n in (70, size, 70, size + 1, 70)]
    bench = queue(dut, packets, PATTERNS[2], never)
    assert await bench.run() == [data for data in packets if len(data) <= size]
    assert bench.dropped == [size + 1]
