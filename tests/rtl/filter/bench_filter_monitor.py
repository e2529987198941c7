"""What the monitor promises: whole packets in order, cut to their snaplen, dropped only for want of room, and told."""

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from filter.meta import PROGRAMS, TxMeta, unpack_tx

from headrace.testing.streams import (
    PAIRS,
    PATTERNS,
    PERIOD_PS,
    Channel,
    Sink,
    Stalls,
    behaviour,
    bursts,
    cycles,
    frames_of,
    gaps,
    mostly,
    never,
    seldom,
)

ROW_W = 13
RECORDS = 240  # frames that the store takes at least, however short
closed = repeat(True)


@dataclass(frozen=True)
class Packet:
    """An accepted packet in a core's memory."""

    length: int
    snaplen: int
    matched: int
    core: int
    row: int
    id: int = 0
    port: int = 0
    wire_len: int = 0
    time_ns: int = 0

    @property
    def caplen(self) -> int:
        return min(self.length, self.snaplen)

    def value(self, slot: int) -> int:
        """What the fed core says that the program returned, 0 where it did not match."""
        return (~self.id & 0xFF) << 24 | self.core << 16 | self.id << 8 | slot if self.matched >> slot & 1 else 0


class Bench:
    """Feeds the monitor like the order of packets does, and follows every cycle."""

    def __init__(self, dut: Any, packets: Iterator[Packet], grant: Stalls, tx: Stalls, gaps: Stalls) -> None:
        self.dut = dut
        self.edge = RisingEdge(dut.clk)
        self.row_bytes = int(dut.DATA_W.value) // 8
        self.store_rows = int(dut.STORE_KB.value) * 1024 // self.row_bytes
        self.cores = int(dut.CORES.value)
        self.packets, self.grant, self.gaps = packets, grant, gaps
        channel = Channel(
            dut.clk, dut.tx_tvalid, dut.tx_tready, (dut.tx_tdata, dut.tx_tkeep, dut.tx_tlast, dut.tx_tuser)
        )
        self.sink = Sink(channel, tx)
        self.accepted: list[Packet] = []
        self.unreleased: deque[Packet] = deque()
        self.dropped: list[Packet] = []
        self.forwarded = self.forwarded_bytes = 0

    async def start(self, flow_control: bool = False) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        dut.flow_control.value = flow_control
        dut.in_valid.value = dut.willing.value = dut.tx_tready.value = 0
        dut.rst.value = 1
        for _ in range(3):
            await self.edge
        dut.rst.value = 0
        cocotb.start_soon(self._watch())
        cocotb.start_soon(self.sink.run())

    async def feed(self) -> None:
        """Hand over all packets; like the engine, one cycle late in seeing that the monitor is not ready."""
        dut = self.dut
        ready = False
        for packet in self.packets:
            while not ready or next(self.gaps):
                dut.in_valid.value = 0
                await self.edge
                ready = bool(dut.in_ready.value)
            dut.in_valid.value = 1
            dut.in_len.value, dut.in_snaplen.value, dut.in_matched.value = packet.length, packet.snaplen, packet.matched
            dut.in_core.value, dut.in_row.value, dut.in_id.value = packet.core, packet.row, packet.id
            dut.in_port.value = packet.port
            dut.in_wire_len.value, dut.in_time_ns.value = packet.wire_len, packet.time_ns
            await self.edge
            self.accepted.append(packet)
            self.unreleased.append(packet)
            ready = bool(dut.in_ready.value)
        dut.in_valid.value = 0

    async def settle(self, limit: int = 60_000) -> None:
        """Wait until all that went in has come out or was dropped, and compare."""
        count = 0
        while not self.dut.idle.value or self.unreleased:
            await self.edge
            count += 1
            assert count < limit, f"{len(self.unreleased)} packets wait for ever"
        await self.edge
        self.check()

    def check(self) -> None:
        frames = frames_of(self.sink.taken)
        assert len(self.accepted) == len(frames) + len(self.dropped)
        assert (self.forwarded, self.forwarded_bytes) == (len(frames), sum(len(data) for data, _ in frames))
        following = iter(self.accepted)
        lost = iter(self.dropped)
        for data, users in frames:
            assert len(set(users)) == 1, "metadata change in the middle of a frame"
            meta = unpack_tx(users[0])
            for _ in range(meta.lost):
                assert next(following) is next(lost), "another packet was dropped"
            packet = next(following)
            assert data == self._data(packet)
            lengths = tuple(packet.value(slot) for slot in range(PROGRAMS))
            fixed = (packet.time_ns, packet.wire_len, 1, 0, packet.port, meta.lost)
            assert meta == TxMeta(*fixed, packet.matched, lengths)
        assert list(following) == list(lost)

    def _data(self, packet: Packet) -> bytes:
        """The packet's first bytes, as the fed cores make them."""
        data = b""
        row = packet.row
        while len(data) < packet.caplen:
            words = ((packet.core << 24) | (row << 11) | word for word in range(self.row_bytes // 4))
            data += b"".join(word.to_bytes(4, "little") for word in words)
            row = (row + 1) % (1 << ROW_W)
        return data[: packet.caplen]

    async def _watch(self) -> None:
        """Let the cores be willing or not; note drops, releases and what is counted."""
        dut = self.dut
        while True:
            dut.willing.value = sum((not next(self.grant)) << core for core in range(self.cores))
            await self.edge
            if dut.forwarded.value:
                self.forwarded += 1
                self.forwarded_bytes += int(dut.forwarded_bytes.value)
            if released := int(dut.release_en.value):
                packet = self.unreleased.popleft()
                assert released == 1 << packet.core
                rows = -(-packet.length // self.row_bytes)
                assert int(dut.release_row.value) == (packet.row + rows) % (1 << ROW_W)
                assert int(dut.release_id.value) == packet.id
                if dut.dropped.value:
                    self.dropped.append(packet)
            else:
                assert not dut.dropped.value
            assert not (self.unreleased and dut.idle.value), "idle with a packet inside"


def packets(dut: Any, lengths: Iterator[int]) -> Iterator[Packet]:
    """Packets of these lengths with random everything else."""
    top = (1 << ROW_W) - 1
    for length in lengths:
        yield Packet(
            length=length,
            snaplen=random.choice((1, 64, 96, 0xFFFF, 0xFFFF, 0xFFFF, random.randint(1, 2000))),
            matched=random.randint(1, 15),
            core=random.randrange(int(dut.CORES.value)),
            row=random.choice((random.randint(0, top), top, top - 1, 0)),
            id=random.randrange(64),
            port=random.getrandbits(1),
            wire_len=random.choice((length, random.getrandbits(32))),
            time_ns=random.getrandbits(64),
        )


def mixed(dut: Any, count: int) -> Iterator[Packet]:
    """All lengths that matter."""
    row = int(dut.DATA_W.value) // 8
    choices = (0, 1, row - 1, row, row + 1, 2 * row, 60, 1514, 9216)
    return packets(dut, (random.choice((*choices, random.randint(0, 600))) for _ in range(count)))


@behaviour()
@cocotb.parametrize((("grant", "tx"), PAIRS))
async def packets_come_out_whole_or_not_at_all(dut: Any, grant: Any, tx: Any) -> None:
    bench = Bench(dut, mixed(dut, 120), grant(), tx(), random.choice(PATTERNS)())
    await bench.start()
    await bench.feed()
    await bench.settle()


@behaviour()
@cocotb.parametrize(grant=[never, mostly], tx=[seldom, mostly, bursts])
async def with_flow_control_none_is_dropped(dut: Any, grant: Any, tx: Any) -> None:
    bench = Bench(dut, mixed(dut, 120), grant(), tx(), never())
    await bench.start(flow_control=True)
    await bench.feed()
    await bench.settle()
    assert not bench.dropped


@behaviour()
@cocotb.parametrize(length=[1, 64, 1000])
async def one_beat_a_cycle_goes_through(dut: Any, length: int) -> None:
    same = (Packet(length, 0xFFFF, 1, 0, index % 4096) for index in range(300))
    bench = Bench(dut, same, never(), never(), never())
    await bench.start(flow_control=True)
    await bench.feed()
    await bench.settle()
    assert gaps(bench.sink.times_ps) <= 2


@behaviour()
@cocotb.parametrize(matched=[0b0001, 0b1010, 0b0111, 0b1111])
async def a_copy_takes_a_cycle_for_each_program_that_accepts_it(dut: Any, matched: int) -> None:
    same = (Packet(1, 0xFFFF, matched, 0, index % 4096) for index in range(300))
    bench = Bench(dut, same, never(), never(), never())
    await bench.start(flow_control=True)
    await bench.feed()
    await bench.settle()
    times = bench.sink.times_ps[50:]
    assert round((times[-1] - times[0]) / PERIOD_PS / (len(times) - 1), 2) == matched.bit_count()


@behaviour()
@cocotb.parametrize(length=[1, 1000, 9216])
async def the_store_fills_up_before_anything_is_dropped(dut: Any, length: int) -> None:
    bench = Bench(dut, (Packet(length, 0xFFFF, 1, 0, 0) for _ in range(600)), never(), closed, never())
    await bench.start()
    await bench.feed()
    await cycles(dut.clk, 100)
    kept = len(bench.accepted) - len(bench.dropped)
    assert min(bench.store_rows // -(-length // bench.row_bytes), RECORDS) <= kept < 600
    bench.sink.stalls = never()
    await bench.settle()


@behaviour()
async def losses_are_told_with_the_next_frame(dut: Any) -> None:
    row = int(dut.DATA_W.value) // 8
    store = int(dut.STORE_KB.value) * 1024 // row
    most = min(store, 2048)
    same = (Packet(60, 0xFFFF, 1, 0, index % 4096) for index in range(most + 200))
    bench = Bench(dut, same, never(), closed, never())
    await bench.start()
    await bench.feed()
    await cycles(dut.clk, 100)
    before = len(bench.dropped)
    assert before > 0
    bench.sink.stalls = never()
    await bench.settle()
    bench.packets = iter([Packet(60, 0xFFFF, 1, 0, 5), Packet(60, 0xFFFF, 1, 0, 6)])
    await bench.feed()
    await bench.settle()
    told = [unpack_tx(users[0]).lost for _, users in frames_of(bench.sink.taken)]
    assert told[-2:] == [before, 0]
    assert sum(told) == len(bench.dropped)


@behaviour()
async def a_full_queue_takes_no_more(dut: Any) -> None:
    bench = Bench(dut, mixed(dut, 200), closed, never(), never())
    await bench.start(flow_control=True)
    feeding = cocotb.start_soon(bench.feed())
    quiet = 0
    while quiet < 50:
        await bench.edge
        quiet = 0 if dut.in_ready.value else quiet + 1
    assert 56 <= len(bench.accepted) <= 66
    bench.grant = never()
    await feeding
    await bench.settle()
    assert not bench.dropped
