"""Packets of every kind that the parser knows, made with scapy: whole, cut off, padded, damaged and made of noise."""

import random
from ipaddress import IPv4Address, IPv6Address

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_RR
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptMTU,
    ICMPv6NDOptPrefixInfo,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.ipsec import AH, ESP
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw


def mac() -> str:
    """A random address."""
    return ":".join(f"{byte:02x}" for byte in random.randbytes(6))


def ipv4() -> str:
    """A random address."""
    return str(IPv4Address(random.randbytes(4)))


def ipv6() -> str:
    """A random address."""
    return str(IPv6Address(random.randbytes(16)))


def port() -> int:
    """A random 16-bit number."""
    return random.getrandbits(16)


def _payload() -> Packet:
    return Raw(random.randbytes(random.choice((0, 0, 1, 4, 18, 60, 200))))


def _transport() -> Packet:
    ports = {"sport": port(), "dport": port()}
    layer = random.choice((TCP, UDP, SCTP))
    extra = {"options": [("NOP", None)] * random.randrange(8)} if layer is TCP else {}
    return layer(**ports, **extra) / _payload()


def _over_ipv4() -> Packet:
    kind = random.randrange(5)
    if kind == 0:
        return ICMP(type=random.getrandbits(8), code=random.getrandbits(8)) / _payload()
    return Raw(random.randbytes(20)) if kind == 1 else _transport()


def _ipv4() -> Packet:
    options = [IPOption_RR(routers=["0.0.0.0"] * random.randrange(9))] if random.random() < 0.4 else []
    place = random.choice(({}, {}, {}, {"flags": "MF"}, {"frag": port() & 0x1FFF}, {"flags": "DF"}))
    head = IP(src=ipv4(), dst=ipv4(), tos=random.getrandbits(8), ttl=random.getrandbits(8), options=options, **place)
    if random.random() < 0.1:
        head.len = random.randrange(16, 64)
    upper = _over_ipv4()
    if isinstance(upper, Raw):
        head.proto = random.choice((1, 6, 17, 132, 58, 47, 2, random.getrandbits(8)))
    return head / upper


def option() -> Packet:
    """One of neighbour discovery."""
    return random.choice(
        (
            ICMPv6NDOptSrcLLAddr(lladdr=mac()),
            ICMPv6NDOptSrcLLAddr(lladdr=mac()),
            ICMPv6NDOptDstLLAddr(lladdr=mac()),
            ICMPv6NDOptDstLLAddr(lladdr=mac()),
            ICMPv6NDOptMTU(mtu=1500),
            ICMPv6NDOptPrefixInfo(prefix=ipv6()),
            Raw(b"\x0e\x01" + random.randbytes(6)),
        )
    )


def _icmpv6() -> Packet:
    neighbour = random.choice((ICMPv6ND_NS, ICMPv6ND_NA))(tgt=ipv6())
    upper = random.choice((neighbour, neighbour, neighbour, ICMPv6EchoRequest(), ICMPv6ND_RS()))
    if random.random() < 0.1:
        upper.code = 1
    for _ in range(random.randrange(4)):
        upper /= option()
    return upper


def _extension(kind: str) -> Packet:
    options = {"options": [PadN(optdata=random.randbytes(random.choice((4, 12, 20))))]}
    match kind:
        case "h":
            return IPv6ExtHdrHopByHop(**options)
        case "d":
            return IPv6ExtHdrDestOpt(**options)
        case "r":
            return IPv6ExtHdrRouting(addresses=[ipv6() for _ in range(random.randrange(3))])
        case "f":
            return IPv6ExtHdrFragment(offset=random.choice((0, 0, 0, 0, 5)), m=random.getrandbits(1))
        case "a":
            return AH(spi=1, seq=port(), icv=random.randbytes(random.choice((12, 16))))
    raise ValueError(kind)


def chain(layers: str, *, esp: bool) -> Packet:
    """IPv6 with extension headers by their letters, none a later fragment, and ESP or UDP behind them."""
    packet: Packet = IPv6(src=ipv6(), dst=ipv6())
    for kind in layers:
        packet /= _extension(kind) if kind != "f" else IPv6ExtHdrFragment(m=1)
    return packet / (ESP(spi=1, data=bytes(16)) if esp else UDP(sport=port(), dport=port()))


def _ipv6() -> Packet:
    addresses = {"src": ipv6(), "dst": ipv6()}
    head = IPv6(tc=random.getrandbits(8), fl=random.getrandbits(20), hlim=random.getrandbits(8), **addresses)
    if random.random() < 0.1:
        head.plen = random.randrange(80)
    upper = random.choice((_transport, _icmpv6, _icmpv6, _icmpv6, lambda: ESP(spi=1, data=random.randbytes(16))))()
    layers = random.choice(("", "", "", "", "h", "f", "hd", "hdrfad", "random", "random"))
    if layers == "random":
        layers = "".join(random.choice("hdrfa") for _ in range(random.randrange(1, 9)))
    packet: Packet = head
    for kind in layers:
        packet /= _extension(kind)
    if random.random() < 0.1:
        packet.lastlayer().nh = 59
        return packet / Raw(random.randbytes(8))
    return packet / upper


def _arp() -> Packet:
    wrong = random.choice(({}, {}, {}, {}, {"hwtype": 6}, {"ptype": 0x86DD}))
    packet = ARP(op=random.choice((1, 2, port())), hwsrc=mac(), hwdst=mac(), psrc=ipv4(), pdst=ipv4(), **wrong)
    return packet / _payload()


def _mpls() -> Packet:
    fields = {"cos": random.getrandbits(3), "s": random.getrandbits(1), "ttl": random.getrandbits(8)}
    below: Packet = Raw(random.randbytes(random.randrange(50)))
    if random.random() < 0.7:
        below = random.choice((_ipv4, _ipv4, _ipv6, _mpls))()
        fields["s"] = int(not isinstance(below, MPLS)) if random.random() < 0.8 else fields["s"]
    return MPLS(label=random.getrandbits(20), **fields) / below


def packet() -> Packet:
    """A whole packet."""
    kinds = {0x0800: _ipv4, 0x86DD: _ipv6, 0x0806: _arp, 0x8847: _mpls, 0x8848: _mpls, None: _payload}
    kind = random.choice((0x0800, 0x0800, 0x86DD, 0x86DD, 0x86DD, 0x0806, 0x8847, 0x8848, None))
    layer = kinds[kind]()
    number = kind or random.choice((0x88CC, 0x9100, 0x0600, 0x05FF, 0x8100))
    tags = random.choice((0, 0, 0, 1, 1, 2, 2, 3))
    if random.random() < 0.15:
        llc = LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(
            OUI=random.choice((0, 0, 0, 1)), code=random.choice((number, number, 0x0600, 0x05FF))
        )
        layer = random.choice((llc / layer, llc / layer, LLC(dsap=0x42, ssap=0x42, ctrl=3) / layer))
        number = min(len(layer), 1500)
        if not tags:
            return Dot3(src=mac(), dst=mac(), len=number) / layer
    names = [random.choice((Dot1Q, Dot1AD)) for _ in range(tags)]
    types = [*({Dot1Q: 0x8100, Dot1AD: 0x88A8}[name] for name in names), number]
    whole: Packet = Ether(src=mac(), dst=mac(), type=types[0])
    for name, following in zip(names, types[1:], strict=True):
        whole /= name(
            vlan=random.getrandbits(12), prio=random.getrandbits(3), dei=random.getrandbits(1), type=following
        )
    return whole / layer


def frame() -> bytes:
    """The bytes of a packet, now and then cut off, padded, damaged or none but noise; 1 at least."""
    if random.random() < 0.05:
        return random.randbytes(random.randrange(1, 260))
    data = bytearray(bytes(packet()))
    if random.random() < 0.2:
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(12, max(len(data), 13))] = random.getrandbits(8)
    if random.random() < 0.2:
        data = data[: random.randrange(1, len(data) + 1)]
    elif random.random() < 0.3:
        data += random.randbytes(random.randrange(1, 100))
    return bytes(data)
