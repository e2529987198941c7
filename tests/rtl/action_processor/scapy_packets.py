"""Packets with checksums, what can be edited in them, and what scapy says that the checksums then are."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptMTU,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrRouting,
    IPv6ExtHdrSegmentRouting,
)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw
from switch_parser.oracle import expected

from headrace.cards.switch.layout import LAYERS, MATCH, Act

L4 = (TCP, UDP, ICMP, ICMPv6EchoRequest, ICMPv6ND_NS, ICMPv6ND_NA)


@dataclass
class Edit:
    """A word's op, and the same with scapy."""

    op: Act
    bits: int
    layer: Any
    name: str
    form: Callable[[int], Any] = int

    def draw(self) -> int:
        """A value. Scapy has more fields for other types of ICMP."""
        if self.name == "type":
            return random.choice((0, 8, 15, 16))
        return random.choice((0, (1 << self.bits) - 1, random.getrandbits(self.bits), random.getrandbits(self.bits)))

    def apply(self, packet: Packet, value: int) -> None:
        """To the headers that scapy has."""
        layer = packet[self.layer]
        if self.name in ("dscp", "ecn"):
            name = "tos" if self.layer is IP else "tc"
            old = getattr(layer, name)
            value = value << 2 | old & 3 if self.name == "dscp" else old & ~3 | value
            setattr(layer, name, value)
        elif self.name == "dec":
            name = "ttl" if self.layer is IP else "hlim"
            setattr(layer, name, getattr(layer, name) - 1)
        else:
            setattr(layer, self.name, self.form(value))


def _set(bits: int, layer: Any, name: str, form: Callable[[int], Any] = int) -> Edit:
    return Edit(Act.SET_FIELD, bits, layer, name, form)


def _mac(value: int) -> str:
    return value.to_bytes(6, "big").hex(":")


def _v4(value: int) -> str:
    return str(IPv4Address(value))


def _v6(value: int) -> str:
    return str(IPv6Address(value))


def _ports(layer: Any, first: int) -> dict[int, Edit]:
    return {first: _set(16, layer, "sport"), first + 1: _set(16, layer, "dport")}


# By the numbers of OXM; from 64 on what has none.
V4 = {8: _set(6, IP, "dscp"), 9: _set(2, IP, "ecn"), 11: _set(32, IP, "src", _v4), 12: _set(32, IP, "dst", _v4)}
V4 |= {64: Edit(Act.DEC_NW_TTL, 1, IP, "dec")}
V6 = {8: _set(6, IPv6, "dscp"), 9: _set(2, IPv6, "ecn"), 26: _set(128, IPv6, "src", _v6)}
V6 |= {27: _set(128, IPv6, "dst", _v6), 28: _set(20, IPv6, "fl"), 64: Edit(Act.SET_NW_TTL, 8, IPv6, "hlim")}

_FROM4 = {"src": "10.0.0.1", "dst": "192.168.3.4"}
_FROM6 = {"src": "2001:db8::1", "dst": "fe80::1234:5678"}
_DATA = Raw(b"odd number of bytes")

_VIA = ["2001:db8:7::1", "2001:db8::99:1"]
_ROUTING: dict[int, Callable[..., Packet]] = {
    0: IPv6ExtHdrRouting,
    2: lambda **options: IPv6ExtHdrRouting(type=2, **options),
    4: IPv6ExtHdrSegmentRouting,
}


def _routed(kind: int, left: int) -> Packet:
    """IPv6 with a routing header of a type, of two addresses (type 2: of one)."""
    return IPv6(**_FROM6) / _ROUTING[kind](addresses=_VIA[: 1 if kind == 2 else 2], segleft=left)


CHECKED: dict[str, tuple[Packet, dict[int, Edit]]] = {
    **{
        f"TCP, type {kind}, {left} left": (_routed(kind, left) / TCP(sport=9, dport=80) / _DATA, V6 | _ports(TCP, 13))
        for kind, left in ((0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (4, 0), (4, 1))
    },
    "UDP, type 4, 1 left": (_routed(4, 1) / UDP(sport=9, dport=9) / _DATA, V6 | _ports(UDP, 15)),
    "ICMPv6, type 0, 1 left": (_routed(0, 1) / ICMPv6EchoRequest() / _DATA, V6),
    "TCP over IPv4": (IP(**_FROM4) / TCP(sport=9, dport=80) / _DATA, V4 | _ports(TCP, 13)),
    "UDP over IPv4": (Dot1Q(vlan=3) / IP(tos=7, **_FROM4) / UDP(sport=9, dport=9) / _DATA, V4 | _ports(UDP, 15)),
    "ICMP": (IP(**_FROM4) / ICMP() / _DATA, V4 | {19: _set(8, ICMP, "type"), 20: _set(8, ICMP, "code")}),
    "TCP over IPv6": (IPv6(**_FROM6) / TCP(sport=9, dport=80) / _DATA, V6 | _ports(TCP, 13)),
    "UDP over IPv6": (IPv6(**_FROM6) / UDP(sport=9, dport=9) / _DATA, V6 | _ports(UDP, 15)),
    "ICMPv6": (IPv6(**_FROM6) / ICMPv6EchoRequest() / _DATA, V6 | {30: _set(8, ICMPv6EchoRequest, "code")}),
    "solicitation": (
        IPv6(**_FROM6) / ICMPv6ND_NS(tgt="2001:db8::7") / ICMPv6NDOptSrcLLAddr(lladdr="02:00:00:00:00:01"),
        V6 | {31: _set(128, ICMPv6ND_NS, "tgt", _v6), 32: _set(48, ICMPv6NDOptSrcLLAddr, "lladdr", _mac)},
    ),
    "advertisement": (
        IPv6(**_FROM6)
        / ICMPv6ND_NA(tgt="2001:db8::7")
        / ICMPv6NDOptMTU()
        / ICMPv6NDOptDstLLAddr(lladdr="02:00:00:00:00:01"),
        V6 | {31: _set(128, ICMPv6ND_NA, "tgt", _v6), 33: _set(48, ICMPv6NDOptDstLLAddr, "lladdr", _mac)},
    ),
}


def parsed(data: bytes) -> tuple[dict[str, int], dict[str, int]]:
    """What the parser tells of a packet with at most one tag: match_t and layers_t."""
    found = expected(data, 3)
    packet = Ether(data)
    layers = dict.fromkeys(LAYERS.members, 0) | {"tags": found["tags"]}
    layers |= {"l3": found["at_l3"], "l4": found["at_l4"], "routed": found["routed"]}
    layers["ttl"] = packet[IP].ttl if IP in packet else packet[IPv6].hlim
    if found["link"]:
        layers["link"] = data.index(found["link"].to_bytes(6, "big"), found["at_l4"])
    return {name: found[name] for name in MATCH.members}, layers


def rebuilt(packet: Packet) -> Packet:
    """The packet with its checksums computed anew."""
    fresh = packet.copy()
    for layer in (IP, *L4):
        if layer in fresh:
            fresh[layer].delfieldval("cksum" if layer not in (IP, TCP, UDP, ICMP) else "chksum")
    return type(fresh)(bytes(fresh))


def checksum(packet: Packet, name: str) -> int:
    """Of l3 (IPv6: 0) or l4."""
    if name == "l3":
        return int(packet[IP].chksum) if IP in packet else 0
    layer = next(packet[each] for each in L4 if each in packet)
    return int(layer.chksum if hasattr(layer, "chksum") else layer.cksum)


def updated(old: int, delta: int) -> int:
    """RFC 1624: HC' = ~(~HC + delta) in ones' complement, modulo 65535."""
    return (0xFFFF - (0xFFFF - old + delta)) % 0xFFFF
