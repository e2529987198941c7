"""What receive_sum promises: frames go on unchanged, and a checksum is called right only when scapy finds it so."""

import random
import struct
from ipaddress import IPv4Address
from typing import Any

import cocotb
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert, IPOption_Timestamp
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, PadN
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

from headrace.testing.streams import (
    PAIRS,
    Channel,
    Sink,
    Source,
    behaviour,
    cycles,
    frame_words,
    frames_of,
    never,
    start,
    until,
)

LATENCY, LAST_LATENCY = 4, 15
ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
TAGS = (0x8100, 0x88A8)
IP_OPTIONS: list[list[Any]] = [[], [], [IPOption_Router_Alert()], [IPOption_Timestamp(length=36)]]
TCP_OPTIONS: list[list[Any]] = [[], [("Timestamp", (1, 2))], [("MSS", 1460), ("SAckOK", b""), ("WScale", 7)]]


def known_right(data: bytes) -> bool:
    """Whether a careful card may call a frame's checksums right; sums by scapy."""
    at, tags = 12, 0
    while tags < 2 and struct.unpack_from("!H", data.ljust(64, b"\0"), at)[0] in TAGS:
        at, tags = at + 4, tags + 1
    packet = data[at + 2 :]
    if len(packet) < 20 or data[at : at + 2] not in (b"\x08\x00", b"\x86\xdd"):
        return False
    if data[at : at + 2] == b"\x08\x00":
        header, length = packet[0] % 16 * 4, struct.unpack_from("!H", packet, 2)[0]
        if packet[0] >> 4 != 4 or header < 20 or struct.unpack_from("!H", packet, 6)[0] & 0x3FFF:
            return False
        if len(packet) < length or length < header or checksum(packet[:header]):
            return False
        addresses, proto = packet[12:20], packet[9]
    else:
        if packet[0] >> 4 != 6 or len(packet) < 42:
            return False
        header, length, proto = 40, 40 + struct.unpack_from("!H", packet, 4)[0], packet[6]
        if proto == 0:
            header, proto = 48 + 8 * packet[41], packet[40]
        if len(packet) < length or length < header:
            return False
        addresses = packet[8:40]
    inner = packet[header:length]
    if proto == 17:
        whole = len(inner) >= 8 and struct.unpack_from("!H", inner, 4)[0] == len(inner) and inner[6:8] != b"\0\0"
    else:
        whole = proto == 6 and len(inner) >= 20
    return whole and checksum(addresses + struct.pack("!II", len(inner), proto) + inner) == 0


def some_packet(rng: random.Random) -> tuple[Packet, bool]:
    """A packet as scapy makes it, and whether its kind is one that is looked into."""
    known = True
    size = rng.choice((0, 1, rng.randrange(64), rng.randrange(1500)))
    inner: Packet = rng.choice(
        (TCP(options=rng.choice(TCP_OPTIONS), flags="PA"), UDP(dport=rng.getrandbits(16)), TCP(seq=rng.getrandbits(32)))
    )
    if rng.random() < 0.08:
        inner, known = ICMP(), False
    if rng.random() < 0.5:
        outer: Packet = IP(
            src=str(IPv4Address(rng.getrandbits(32))),
            options=rng.choice(IP_OPTIONS),
            id=rng.getrandbits(16),
            flags="DF",
        )
        if rng.random() < 0.1:
            outer.flags, outer.frag, known = (*rng.choice((("MF", 0), (0, 9), ("MF", 9))), False)
        if isinstance(inner, UDP) and rng.random() < 0.1:
            inner.chksum, known = 0, False
    else:
        outer = IPv6(src="2001:db8::1", dst=f"2001:db8::{rng.getrandbits(16):x}", hlim=rng.randrange(256))
        extension = rng.random()
        if extension < 0.2:
            outer /= IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(rng.randrange(60)))])
        elif extension < 0.3:
            outer, known = outer / rng.choice((IPv6ExtHdrDestOpt(), IPv6ExtHdrFragment())), False
    if isinstance(inner, UDP) and rng.random() < 0.1:
        inner.len, known = 8 + size + rng.choice((-3, 5)), False
    head: Packet = ETHER
    tags = rng.choice((0, 0, 1, 1, 2, 3))
    for _ in range(tags):
        head /= rng.choice((Dot1Q, Dot1AD))(vlan=rng.randrange(4096))
    return head / outer / inner / Raw(rng.randbytes(size)), known and tags < 3


def some_frame(rng: random.Random) -> bytes:
    """A packet whole, or changed somewhere; padded or cut."""
    packet, known = some_packet(rng)
    data = bytes(packet)
    assert known_right(data) == known, packet
    damage = rng.random()
    if damage < 0.3:
        where = rng.randrange(12, min(len(data), rng.choice((40, 90, 9999))))
        data = data[:where] + bytes((data[where] ^ 1 << rng.randrange(8),)) + data[where + 1 :]
    elif damage < 0.4:
        data = data[: rng.randrange(14, len(data))]
    if rng.random() < 0.3:
        data += rng.randbytes(rng.randrange(1, 80))
    return data


def channel(dut: Any, side: str, *beside: Any) -> Channel:
    """A stream whose word ends with what goes beside it."""
    valid, ready, *payload = (
        getattr(dut, f"{side}_axis_t{name}") for name in ("valid", "ready", "data", "keep", "last")
    )
    return Channel(dut.clk, valid, ready, (*payload, getattr(dut, f"{side}_axis_queue"), *beside))


async def send(dut: Any, frames: list[bytes], stalls: Any, out_stalls: Any) -> tuple[Source, Sink]:
    """Sends frames of random queues; checks what comes out."""
    queues = [random.randrange(int(dut.QUEUES.value)) for _ in frames]
    width = len(dut.s_axis_tdata)
    words = [
        word
        for queue, data in zip(queues, frames, strict=True)
        for word in frame_words(data, width, lambda queue=queue: queue)
    ]
    source = Source(channel(dut, "s"), words, stalls)
    sink = Sink(channel(dut, "m", dut.m_axis_valid_sum), out_stalls)
    cocotb.start_soon(sink.run())
    await source.run()
    await cycles(dut.clk, 2)
    await until(dut.clk, lambda: bool(dut.idle.value), 20_000)
    await cycles(dut.clk, 1)
    found = frames_of([(data, keep, last, queue << 1 | right) for data, keep, last, queue, right in sink.taken])
    assert [data for data, _ in found] == frames
    for queue, data, (_, beside) in zip(queues, frames, found, strict=True):
        assert {word >> 1 for word in beside} == {queue}
        assert beside[-1] & 1 == known_right(data), Ether(data).show(dump=True)
    return source, sink


@behaviour()
@cocotb.parametrize((("stalls", "out_stalls"), PAIRS))
async def a_checksum_is_called_right_where_it_is_known_to_be(dut: Any, stalls: Any, out_stalls: Any) -> None:
    """Packets of all kinds, right and wrong, padded and cut."""
    rng = random.Random(random.getrandbits(64))
    await start(dut)
    frames = [some_frame(rng) for _ in range(60)]
    await send(dut, frames, stalls(), out_stalls())
    right = sum(map(known_right, frames))
    assert 10 < right < 50


@behaviour()
async def every_length_of_a_packet_and_its_padding(dut: Any) -> None:
    await start(dut)
    frames = []
    for size in range(140):
        head = ETHER / random.choice((IP(), IPv6(src="::1", dst="::2"))) / random.choice((TCP(), UDP()))
        frames.append(bytes(head / Raw(random.randbytes(size))) + random.randbytes(random.randrange(4)))
    assert all(map(known_right, frames))
    await send(dut, frames, never(), never())


@behaviour()
async def sums_that_come_out_right_do_not_suffice(dut: Any) -> None:
    """Of packets of which zeros are missing, and of UDP without a checksum whose sum is that of one with."""
    await start(dut)
    frames, beat = [], len(dut.s_axis_tdata) // 8
    for ip in (IP(), IPv6(src="::1", dst="::2")):
        whole = bytes(ETHER / ip / TCP() / Raw(bytes(100)))
        frames += [whole, *(whole[:-count] for count in (1, 2, 33, 64)), whole[: len(whole) // beat * beat]]
        for size in (0, 24, 50):
            packet = ETHER / ip / UDP(chksum=0) / Raw(bytes(2) + random.randbytes(size))
            inner = bytes(packet[UDP])
            word = checksum(bytes(packet)[26:34] if ip.version == 4 else bytes(packet)[22:54])
            total = (word ^ 0xFFFF) + (checksum(struct.pack("!II", len(inner), 17) + inner) ^ 0xFFFF)
            filler = struct.pack("!H", (total % 0xFFFF) ^ 0xFFFF)
            frames.append(bytes(packet).replace(inner, inner[:8] + filler + inner[10:]))
    assert [known_right(data) for data in frames] == ([True] + 8 * [False]) * 2
    await send(dut, frames, never(), never())


@behaviour()
async def a_packet_as_long_as_can_be(dut: Any) -> None:
    """65,535 bytes, right and with another byte at its end; and a frame longer than any packet."""
    await start(dut)
    data = bytes(ETHER / IP() / TCP() / Raw(random.randbytes(65_535 - 40)))
    assert known_right(data)
    for frame in (data, data[:-1] + bytes((data[-1] ^ 1,)), bytes(range(256)) * 540, data):
        await send(dut, [frame], never(), never())


@behaviour()
async def a_beat_a_cycle_also_of_frames_of_one(dut: Any) -> None:
    """Beats leave two cycles after they come, a frame's last one ten."""
    await start(dut)
    width = len(dut.s_axis_tdata)
    for frames in ([random.randbytes(width // 8)] * 100, [random.randbytes(1400)]):
        source, sink = await send(dut, frames, never(), never())
        passed = [(b - a) // 2000 for a, b in zip(source.times_ps, sink.times_ps, strict=True)]
        assert set(passed) == ({LAST_LATENCY} if len(frames) > 1 else {LATENCY, LAST_LATENCY})
        assert passed[-1] == LAST_LATENCY
