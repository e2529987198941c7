"""Varied Ethernet traffic: every encapsulation that tcpdump's filters know, odd lengths, truncated captures, noise."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scapy.contrib.geneve import GENEVE
from scapy.contrib.mpls import MPLS
from scapy.layers import inet, inet6, l2
from scapy.layers.dns import DNS, DNSQR
from scapy.layers.igmp import IGMP
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.sctp import SCTP, SCTPChunkData
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet as Layer
from scapy.packet import Raw

MAX_FRAME = 9216

_MACS = [f"02:00:00:00:00:{n:02x}" for n in (1, 2, 3, 0x10, 0xFF)]
_GROUP_MACS = ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01", "01:80:c2:00:00:00"]
_IPV4 = ["10.0.0.1", "10.0.0.2", "10.200.3.4", "192.168.1.1", "192.168.1.77", "172.16.9.9", "8.8.8.8", "100.64.0.1"]
_IPV4_GROUPS = ["224.0.0.1", "239.1.2.3", "255.255.255.255", "192.168.1.255", "0.0.0.0"]
_IPV6 = ["2001:db8::1", "2001:db8::2", "2001:db8:1::7", "fe80::1", "fe80::2", "fd00::5"]
_IPV6_GROUPS = ["ff02::1", "ff02::2", "ff02::1:ff00:1"]
_PORTS = [20, 22, 25, 53, 67, 68, 80, 80, 100, 123, 443, 443, 1023, 1024, 4789, 6081, 8080, 33434, 36412, 49152, 65535]
_SIZES = [
    0,
    1,
    2,
    5,
    13,
    14,
    15,
    18,
    22,
    33,
    34,
    35,
    54,
    59,
    60,
    61,
    63,
    64,
    65,
    127,
    128,
    129,
    255,
    256,
    257,
    511,
    512,
    513,
]
_SIZES += [
    576,
    1023,
    1024,
    1025,
    1499,
    1500,
    1501,
    1513,
    1514,
    1515,
    1518,
    1522,
    4096,
    9000,
    9211,
    9212,
    9213,
    9215,
    9216,
]


@dataclass(frozen=True)
class Packet:
    """A captured frame: its bytes without FCS, its length on the wire in bytes, its time in ns since 1970."""

    data: bytes
    wirelen: int
    time_ns: int = 0


def random_packets(seed: int, count: int, max_frame: int = MAX_FRAME) -> list[Packet]:
    """``count`` frames of 0 to ``max_frame`` captured bytes, in order of time; the same for the same seed."""
    rng = random.Random(seed)
    time_ns = 1_700_000_000_000_000_000
    packets = []
    for _ in range(count):
        time_ns += rng.choice((0, 1, 7, 120, 999, 6_720, 1_000_000, 2_500_000_000))
        data = _resize(rng, _frame(rng), max_frame)
        packets.append(Packet(*_capture(rng, data), time_ns))
    return packets


def _frame(rng: random.Random) -> bytes:
    kind = rng.choices((_internet, _link, _noise), (82, 12, 6))[0]
    frame = kind(rng)
    if frame and rng.random() < 0.08:
        damaged = bytearray(frame)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(min(len(damaged), 80))] ^= 1 << rng.randrange(8)
        return bytes(damaged)
    return frame


def _resize(rng: random.Random, frame: bytes, max_frame: int) -> bytes:
    """Mostly the frame padded to Ethernet's least 60 bytes; sometimes an exact size where lengths matter."""
    choice = rng.random()
    if choice < 0.15:
        size = rng.choice(_SIZES)
    elif choice < 0.25:
        size = rng.randint(0, 1600)
    elif choice < 0.27:
        size = rng.randint(1600, max_frame)
    else:
        size = max(60, len(frame))
    size = min(size, max_frame)
    return frame[:size] if size <= len(frame) else frame + rng.randbytes(size - len(frame))


def _capture(rng: random.Random, frame: bytes) -> tuple[bytes, int]:
    """What a capture keeps of a frame: now and then only its start, as with tcpdump -s."""
    choice = rng.random()
    if choice < 0.10:
        return frame[: rng.choice((14, 34, 64, 96, 128, 256))], len(frame)
    if choice < 0.13:
        return frame[: rng.randint(0, len(frame))], len(frame)
    if choice < 0.15:
        return frame, rng.choice((len(frame) + 4, len(frame) + 60_000, 262_143, 262_144, 0x7FFFFFFF, 0xFFFFFFFF))
    return frame, len(frame)


def _ethernet(rng: random.Random) -> Layer:
    dst = rng.choice(_GROUP_MACS) if rng.random() < 0.15 else rng.choice(_MACS)
    return l2.Ether(src=rng.choice(_MACS), dst=dst, type=0xFFFF)


def _noise(rng: random.Random) -> bytes:
    head = b"".join(
        rng.choice((b"\x08\x00", b"\x86\xdd", b"\x81\x00", b"\x88\x47", b"\x00\x2e", rng.randbytes(2))) for _ in "ab"
    )
    return rng.randbytes(12) + head + rng.randbytes(rng.randint(0, 300))


def _link(rng: random.Random) -> bytes:
    """Frames that carry no IP: ARP, RARP, LLC and what runs over it, LLDP, flow control."""
    ethernet = _ethernet(rng)
    match rng.randrange(8):
        case 0 | 1:
            body: Layer = l2.ARP(
                op=rng.choice((1, 2)), psrc=rng.choice(_IPV4), pdst=rng.choice(_IPV4), hwsrc=rng.choice(_MACS)
            )
            ethernet.type = rng.choice((0x0806, 0x0806, 0x8035))
        case 2:
            return bytes(
                l2.Dot3(dst="01:80:c2:00:00:00", src=ethernet.src) / l2.LLC(dsap=0x42, ssap=0x42, ctrl=3) / l2.STP()
            )
        case 3:
            sap = rng.choice((0xFE, 0xF0, 0xE0, 0xAA, 0x42, rng.randrange(256)))
            control = rng.choice((0x00, 0x01, 0x03, 0x05, 0x09, 0x6F, 0x73, 0xE3))
            body = l2.LLC(dsap=sap, ssap=sap, ctrl=control) / Raw(
                rng.choice((b"\x83", b"\x82", b"\x81")) + rng.randbytes(50)
            )
            return bytes(l2.Dot3(dst=ethernet.dst, src=ethernet.src) / body)
        case 4:
            snap = l2.SNAP(OUI=rng.choice((0, 0xF8, 0x080007)), code=rng.choice((0x0800, 0x809B, 0x80F3, 0x86DD)))
            return bytes(
                l2.Dot3(dst=ethernet.dst, src=ethernet.src) / l2.LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / snap / _ipv4(rng)
            )
        case 5:
            ethernet.type = rng.choice((0x6000, 0x6001, 0x6002, 0x6003, 0x6004, 0x8137, 0x809B, 0x80F3))
            body = Raw(rng.randbytes(60))
        case 6:
            ethernet.type = 0x8863
            body = PPPoE(code=9) / Raw(rng.randbytes(20))
        case _:
            ethernet.type = rng.choice((0x88CC, 0x8808, 0x888E, 0x88E5, 0x1234))
            body = Raw(rng.randbytes(rng.randint(10, 100)))
    return bytes(ethernet / body)


def _internet(rng: random.Random) -> bytes:
    """IPv4 or IPv6, with nothing, VLAN tags, MPLS labels or PPPoE before it."""
    version = rng.choice((4, 4, 6))
    packet = _ipv4(rng) if version == 4 else _ipv6(rng)
    kind = 0x0800 if version == 4 else 0x86DD
    if rng.random() < 0.06:
        packet = PPPoE(sessionid=rng.choice((17, 18))) / PPP(proto=0x0021 if version == 4 else 0x0057) / packet
        kind = 0x8864
    elif rng.random() < 0.08:
        labels = [rng.choice((100, 1000, 2000, 3)) for _ in range(rng.randint(1, 3))]
        for depth, label in enumerate(reversed(labels)):
            packet = MPLS(label=label, s=int(depth == 0), ttl=64) / packet
        kind = 0x8847
    for _ in range(rng.choices((0, 1, 2, 3), (78, 14, 7, 1))[0]):
        packet = l2.Dot1Q(vlan=rng.choice((10, 30, 100, 200)), prio=rng.randrange(8), type=kind) / packet
        kind = rng.choice((0x8100, 0x8100, 0x88A8, 0x9100))
    ethernet = _ethernet(rng)
    ethernet.type = kind
    return bytes(ethernet / packet)


def _ipv4(rng: random.Random, nested: bool = False) -> Layer:
    header = inet.IP(
        src=rng.choice(_IPV4),
        dst=rng.choice(_IPV4_GROUPS) if rng.random() < 0.15 else rng.choice(_IPV4),
        ttl=rng.choice((1, 4, 64, 128, 255)),
        tos=rng.choice((0, 0, 0xB8, 0x28, 3)),
        id=rng.randrange(65536),
    )
    if rng.random() < 0.15:
        header.options = [rng.choice((inet.IPOption_RR(), inet.IPOption_Timestamp(), inet.IPOption_Router_Alert()))]
    if rng.random() < 0.15:
        header.flags, header.frag = rng.choice((("MF", 0), ("MF", 185), (0, 370)))
    elif rng.random() < 0.5:
        header.flags = "DF"
    if rng.random() < 0.06:
        header.proto = rng.choice((2, 9, 50, 51, 59, 88, 89, 103, 112, 255))
        if header.proto == 51:
            return header / Raw(bytes([6, 4]) + rng.randbytes(22)) / inet.TCP(dport=rng.choice(_PORTS))
        return header / (IGMP() if header.proto == 2 else Raw(rng.randbytes(40)))
    return header / _transport(rng, 4, nested)


def _ipv6(rng: random.Random, nested: bool = False) -> Layer:
    header: Layer = inet6.IPv6(
        src=rng.choice(_IPV6),
        dst=rng.choice(_IPV6_GROUPS) if rng.random() < 0.2 else rng.choice(_IPV6),
        fl=rng.choice((0, 0, rng.randrange(1 << 20))),
        hlim=rng.choice((1, 64, 255)),
    )
    if rng.random() < 0.35:
        makers: list[Callable[[], Layer]] = [
            inet6.IPv6ExtHdrHopByHop,
            lambda: inet6.IPv6ExtHdrDestOpt(options=[inet6.PadN(optdata=bytes(rng.choice((4, 12))))]),
            lambda: inet6.IPv6ExtHdrRouting(addresses=["2001:db8::9"]),
            lambda: inet6.IPv6ExtHdrFragment(
                offset=rng.choice((0, 0, 100)), m=rng.randrange(2), id=rng.getrandbits(32)
            ),
        ]
        for _ in range(rng.randint(1, 3)):
            header = header / rng.choice(makers)()
    return header / _transport(rng, 6, nested)


def _transport(rng: random.Random, version: int, nested: bool) -> Layer:
    ports: dict[str, Any] = {"sport": rng.choice(_PORTS), "dport": rng.choice(_PORTS)}
    payload = Raw(_payload(rng))
    choice = rng.randrange(22 if nested else 26)
    if choice < 10:
        options = rng.choice(
            ([], [("NOP", None), ("NOP", None), ("Timestamp", (1, 2))], [("MSS", 1460), ("SAckOK", b"")])
        )
        flags = rng.choice(("S", "SA", "A", "PA", "FA", "R", "U", "SF"))
        return (
            inet.TCP(**ports, flags=flags, window=rng.randrange(65536), seq=rng.getrandbits(32), options=options)
            / payload
        )
    if choice < 16:
        if ports["dport"] == 53:
            return inet.UDP(**ports) / DNS(qd=DNSQR(qname="example.org"), qr=rng.randrange(2))
        return inet.UDP(**ports) / payload
    if choice < 20:
        if version == 4:
            return inet.ICMP(type=rng.choice((0, 3, 5, 8, 11, 13)), code=rng.randrange(3)) / payload
        neighbour = inet6.ICMPv6ND_NS(tgt=rng.choice(_IPV6))
        return rng.choice(
            (inet6.ICMPv6EchoRequest(data=payload.load), inet6.ICMPv6ND_RA(), neighbour, inet6.ICMPv6ND_NA())
        )
    if choice < 22:
        return SCTP(**ports) / SCTPChunkData(data=payload.load)
    return _tunnel(rng)


def _tunnel(rng: random.Random) -> Layer:
    inner = _ipv4(rng, nested=True) if rng.randrange(2) else _ipv6(rng, nested=True)
    kind = 0x0800 if isinstance(inner, inet.IP) else 0x86DD
    frame = l2.Ether(src=_MACS[0], dst=_MACS[1], type=kind) / inner
    match rng.randrange(4):
        case 0:
            return l2.GRE(proto=kind) / inner
        case 1:
            return inet.UDP(sport=50000, dport=4789, chksum=0) / VXLAN(vni=42, flags=8) / frame
        case 2:
            return inet.UDP(sport=50001, dport=6081, chksum=0) / GENEVE(vni=rng.choice((0x10, 7)), proto=0x6558) / frame
        case _:
            return inner


def _payload(rng: random.Random) -> bytes:
    size = rng.choices((0, rng.randint(1, 64), rng.randint(64, 1400), rng.randint(1400, 8900)), (25, 40, 30, 5))[0]
    greeting = rng.choice((b"", b"", b"GET / HTTP/1.1\r\n", b"HTTP/1.1 200 OK\r\n", b"\x16\x03\x01", b"SSH-2.0-x\r\n"))
    return (greeting + rng.randbytes(size))[:size]
