"""What the store of a source promises: the flow hash of each packet that it keeps, and an account of all others."""

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from rpu_fabric.flows import ICMP, KEY, SCTP, TCP, UDP, VECTORS, frame, toeplitz, tuple_of

from headrace.testing.streams import Stalls, behaviour, cycles, frame_words, mostly, never, seldom, start, until

TO_UNIT = 1 << 8


@dataclass
class Bench:
    """Sends frames and takes descriptions and packets."""

    dut: Any
    frames: list[bytes]
    users: list[int] = field(default_factory=list)
    cuts: list[bool] = field(default_factory=list)
    source: Stalls = field(default_factory=never)
    sink: Stalls = field(default_factory=never)
    told: list[tuple[int, ...]] = field(default_factory=list)  # function, source, direct, unit, hash
    packets: list[bytes] = field(default_factory=list)
    dropped: int = 0
    refused: int = 0

    async def send(self) -> None:
        """Send all frames."""
        dut, width = self.dut, len(self.dut.s_axis_tdata)
        for index, data in enumerate(self.frames):
            user = self.users[index] if self.users else 0
            for tdata, tkeep, tlast, _ in frame_words(data, width, lambda: 0):
                while next(self.source):
                    dut.s_axis_tvalid.value = 0
                    await RisingEdge(dut.clk)
                dut.s_axis_tvalid.value = 1
                dut.s_axis_tdata.value, dut.s_axis_tkeep.value, dut.s_axis_tlast.value = tdata, tkeep, tlast
                dut.s_axis_tuser.value = user
                dut.s_cut.value = int(bool(tlast and self.cuts and self.cuts[index]))
                await RisingEdge(dut.clk)
                while not dut.s_axis_tready.value:
                    await RisingEdge(dut.clk)
        dut.s_axis_tvalid.value = 0

    async def take(self) -> None:
        """Take a description, then its packet, for ever; count what is dropped."""
        dut, data, described = self.dut, b"", False
        while True:
            ready = not next(self.sink)
            dut.packet_ready.value = int(not described and ready)
            dut.m_axis_tready.value = int(described and ready)
            await RisingEdge(dut.clk)
            self.dropped += int(dut.dropped.value)
            self.refused += int(dut.refused.value)
            if not ready:
                continue
            if not described and dut.packet_valid.value:
                word = int(dut.packet.value)
                self.told.append((word >> 39, word >> 37 & 3, word >> 36 & 1, word >> 32 & 15, word & 0xFFFFFFFF))
                described = True
            elif described:
                assert dut.m_axis_tvalid.value, "a packet is described before it is there"
                count = int(dut.m_axis_tkeep.value).bit_count()
                data += (int(dut.m_axis_tdata.value) & ((1 << 8 * count) - 1)).to_bytes(count, "little")
                if dut.m_axis_tlast.value:
                    self.packets.append(data)
                    data, described = b"", False

    async def run(self, key: bytes = KEY) -> None:
        """From reset until everything has gone."""
        dut = self.dut
        dut.key.value = int.from_bytes(key, "big")
        dut.open.value = 1
        dut.packet_ready.value = 0
        await start(dut)
        cocotb.start_soon(self.take())
        await self.send()
        await cycles(dut.clk, 20)
        await until(dut.clk, lambda: bool(dut.idle.value), 20000)


async def hashes(dut: Any, frames: list[bytes], key: bytes = KEY) -> list[int]:
    """The hash of each of a few frames, which have to arrive as they are."""
    bench = Bench(dut, frames, source=mostly())
    await bench.run(key)
    assert bench.packets == frames
    assert {told[:3] for told in bench.told} == {(0, int(dut.PORT.value), 0)}
    return [told[-1] for told in bench.told]


@behaviour()
async def the_hash_is_that_of_the_published_vectors(dut: Any) -> None:
    for protocol in (TCP, UDP, SCTP):
        frames = [frame(src, dst, (sport, dport), protocol) for dst, dport, src, sport, _, _ in VECTORS]
        assert await hashes(dut, frames) == [with_ports for *_, with_ports in VECTORS]
    frames = [frame(src, dst, (sport, dport), ICMP) for dst, dport, src, sport, _, _ in VECTORS]
    assert await hashes(dut, frames) == [addresses for *_, addresses, _ in VECTORS]


@behaviour()
async def the_key_is_any(dut: Any) -> None:
    for _ in range(3):
        key = random.randbytes(40)
        frames = [frame(src, dst, (sport, dport)) for dst, dport, src, sport, _, _ in VECTORS]
        expected = [toeplitz(tuple_of(src, dst, (sport, dport)), key) for dst, dport, src, sport, _, _ in VECTORS]
        assert await hashes(dut, frames, key) == expected


@behaviour()
async def tags_and_options_are_skipped(dut: Any) -> None:
    frames, expected = [], []
    for dst, dport, src, sport, _, with_ports in VECTORS:
        for tags in ((), (0x8100,), (0x88A8, 0x8100), (0x8100, 0x8100)):
            for options in range(11) if "." in src else [0]:
                frames.append(frame(src, dst, (sport, dport), TCP, tags=tags, options=options, payload=bytes(20)))
                expected.append(with_ports)
    assert await hashes(dut, frames) == expected


@behaviour()
async def fragments_have_no_ports(dut: Any) -> None:
    frames, expected = [], []
    for dst, dport, src, sport, addresses, with_ports in VECTORS[:5]:
        for fragment in (0x2000, 0x0001, 0x00FF, 0x1F00, 0x3FFF, 0x4000, 0x8000, 0):
            frames.append(frame(src, dst, (sport, dport), UDP, fragment=fragment, payload=bytes(30)))
            expected.append(addresses if fragment & 0x3FFF else with_ports)
    assert await hashes(dut, frames) == expected


@behaviour()
async def what_is_cut_short_or_no_ip_has_no_hash(dut: Any) -> None:
    """The frame before it has all the fields: none of them may be taken for the short one's."""
    dst, dport, src, sport, addresses, with_ports = VECTORS[0]
    whole = frame(src, dst, (sport, dport))
    assert len(whole) == 38
    frames, expected = [], []
    for length in range(1, 39):
        frames += [whole + bytes(60), whole[:length]]
        expected += [with_ports, with_ports if length == 38 else addresses if length >= 34 else 0]
    strange = [whole[:12] + kind + whole[14:] for kind in (b"\x08\x06", b"\x81\x00", b"\x86\xdd", b"\0\x40")]
    strange += [whole[:14] + bytes([first]) + whole[15:] for first in (0x44, 0x55, 0x65)]
    strange += [random.randbytes(12) + bytes(40)]
    assert await hashes(dut, frames + strange) == expected + [0] * len(strange)


@behaviour()
@cocotb.parametrize(waits=[False, True], source=[never, seldom], sink=[never, mostly])
async def packets_are_kept_whole_or_counted(dut: Any, waits: bool, source: Any, sink: Any) -> None:
    units = int(dut.UNITS.value)
    dut.hold.value = waits
    sizes = [random.choice([1, 60, 64, 65, 200, 900, 1000, 1024, 1025]) for _ in range(150)]
    frames = [random.randbytes(size) for size in sizes]
    users = [random.choice([2, 2 + 8 * random.randrange(32), TO_UNIT | random.randrange(2 * units)]) for _ in frames]
    cuts = [random.random() < 0.1 for _ in frames]
    bench = Bench(dut, frames, users, cuts, source(), sink())
    await bench.run()
    assert len(bench.told) == len(bench.packets)
    # What came through, in order, beside what was sent.
    sent = zip(frames, users, cuts, strict=True)
    lost = refused = 0
    arrived = iter(zip(bench.packets, bench.told, strict=True))
    packet = next(arrived, None)
    for data, user, cut in sent:
        nobody = user >= TO_UNIT and user % TO_UNIT >= units
        if packet and packet[0] == data:
            assert not cut and not nobody and len(data) <= 1024
            function = 0 if user >= TO_UNIT else user >> 3
            assert packet[1][:4] == (function, int(dut.PORT.value), user >> 8, user & 15)
            packet = next(arrived, None)
        elif nobody:
            refused += 1
        else:
            lost += 1
            assert cut or not waits or len(data) > 1024
    assert packet is None
    assert (bench.dropped, bench.refused) == (lost, refused)
    assert refused and lost


@behaviour()
async def a_closed_source_takes_no_packet_that_begins(dut: Any) -> None:
    bench = Bench(dut, [random.randbytes(100) for _ in range(40)], source=seldom())
    opened = []

    async def switch() -> None:
        begun = False
        for _ in range(2):  # what is offered before the second reset doesn't count
            await FallingEdge(dut.rst)
        while True:
            dut.open.value = random.randint(0, 1)
            await RisingEdge(dut.clk)
            if dut.s_axis_tvalid.value and dut.s_axis_tready.value:
                if not begun:
                    opened.append(bool(dut.open.value))
                begun = not dut.s_axis_tlast.value

    cocotb.start_soon(switch())
    await bench.run()
    assert bench.packets == [data for data, was in zip(bench.frames, opened, strict=True) if was]
    assert bench.dropped == opened.count(False) > 0


@behaviour()
async def single_beats_pass_at_full_rate(dut: Any) -> None:
    bench = Bench(dut, [frame("10.0.0.1", "10.0.0.2", (1, port))[:40] for port in range(300)])
    dut.key.value, dut.open.value = int.from_bytes(KEY, "big"), 1
    await start(dut)
    dut.packet_ready.value = dut.m_axis_tready.value = 1
    told = 0
    cocotb.start_soon(bench.send())
    for _ in range(300 * -(-320 // len(dut.s_axis_tdata)) + 15):
        await RisingEdge(dut.clk)
        told += int(dut.packet_valid.value)
    assert told == 300
