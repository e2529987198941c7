"""What the parser has to say of a packet: each header read by scapy, and the rules of which ones are there."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    ICMPv6Unknown,
    IPv6,
    IPv6ExtHdrFragment,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet

Fields = dict[str, int]

# The structs of switch_pkg, the highest bits first.
MATCH = (
    *(("metadata", 64), ("tunnel_id", 64), ("in_port", 8), ("eth_dst", 48), ("eth_src", 48), ("eth_type", 16)),
    *(("vlan", 1), ("vlan_vid", 12), ("vlan_pcp", 3), ("l3", 1), ("l4", 1), ("nd", 1)),
    *(("ip_dscp", 6), ("ip_ecn", 2), ("ip_proto", 8), ("src", 128), ("dst", 128), ("l4_src", 16), ("l4_dst", 16)),
    *(("label", 20), ("target", 128), ("link", 48), ("exthdr", 9)),
)
LAYERS = (
    *(("cut", 1), ("later", 1), ("tags", 2), ("at_l3", 8), ("at_l4", 8)),
    *(("qinq", 2), ("dei", 1), ("inner", 16), ("ttl", 8), ("at_link", 8)),
    *(("below", 2), ("label_ttl", 8), ("l4_bytes", 16), ("routed", 1)),
)

DEPTH, DEPTH_NARROW = 206, 110  # bytes that are looked at
EXTENSIONS = 6

NONEXT, ESP, AUTH, DEST, FRAG, ROUTER, HOP, UNREP, UNSEQ = (1 << bit for bit in range(9))
LETTERS = {0: "h", 43: "r", 44: "f", 51: "a", 60: "d"}
BITS = {"h": 0, "r": ROUTER, "f": FRAG, "a": AUTH, "d": DEST, "e": ESP}
IN_ORDER = re.compile(r"h?d?r*f*a*(e?|d*)")  # destination options at their first place, their last one, or both


def unpack(number: int, struct: Iterable[tuple[str, int]]) -> Fields:
    """The members of a packed struct."""
    members = {}
    for name, width in reversed(list(struct)):
        members[name] = number & (1 << width) - 1
        number >>= width
    return members


def mac(text: str) -> int:
    """An address as a number."""
    return int(text.replace(":", ""), 16)


def expected(data: bytes, port: int, *, narrow: bool = False) -> Fields:
    """All members of match_t and layers_t."""
    reader = _Reader(data[: DEPTH_NARROW if narrow else DEPTH], narrow)
    reader.fields["in_port"] = port
    reader.ethernet()
    return reader.fields


def _icmp(head: bytes) -> Packet:
    return ICMP(head + bytes(12))  # scapy wants more of some types


class _Reader:
    def __init__(self, data: bytes, narrow: bool) -> None:
        self.data, self.narrow = data, narrow
        self.end = len(data)
        self.at = 0
        self.segments_left = 0  # of all routing headers together
        self.ip_end: int | None = None  # of the whole packet, of which there may be fewer bytes; None: of fragments
        self.fields: Fields = {name: 0 for name, _ in (*MATCH, *LAYERS)}

    def read(self, layer: Any, size: int) -> Any:
        """The next header, or None, which says that it is cut off."""
        if self.at + size > self.end:
            self.fields["cut"] = 1
            return None
        return layer(self.data[self.at : self.at + size])

    def ethernet(self) -> None:
        fields = self.fields
        frame = self.read(Ether, 14)
        if not frame:
            return
        self.at = 14
        kind = frame.len if isinstance(frame, Dot3) else frame.type
        fields |= {"eth_dst": mac(frame.dst), "eth_src": mac(frame.src)}
        while kind in (0x8100, 0x88A8) and fields["tags"] < 2:
            tag = self.read(Dot1Q, 4)
            if not tag:
                break
            if fields["tags"]:
                fields["inner"] = int.from_bytes(self.data[self.at : self.at + 2])
            else:
                fields |= {"vlan": 1, "vlan_vid": tag.vlan, "vlan_pcp": tag.prio, "dei": int(tag.dei)}
            fields["qinq"] |= (kind == 0x88A8) << fields["tags"]
            fields["tags"] += 1
            self.at += 4
            kind = tag.type
        if kind < 0x600:
            kind = self.frame_of_802_3()
        fields["eth_type"] = kind
        readers = {0x0800: self.ipv4}
        if not self.narrow:
            readers |= {0x0806: self.arp, 0x86DD: self.ipv6, 0x8847: self.mpls, 0x8848: self.mpls}
        if kind in readers:
            readers[kind]()

    def frame_of_802_3(self) -> int:
        if self.at + 8 > self.end:
            return 0x5FF
        llc = LLC(self.data[self.at : self.at + 3])
        snap = SNAP(self.data[self.at + 3 : self.at + 8])
        if (llc.dsap, llc.ssap, llc.ctrl, snap.OUI) != (0xAA, 0xAA, 3, 0) or snap.code < 0x600:
            return 0x5FF
        self.at += 8
        return int(snap.code)

    def l3(self, **fields: int) -> None:
        self.fields |= {"l3": 1, "at_l3": self.at, **fields}

    def arp(self) -> None:
        head = self.read(bytes, 28)
        if head and head[:6] == bytes(ARP(hwlen=6, plen=4))[:6]:  # scapy reads no others
            arp = ARP(head)
            addresses = {"src": int(IPv4Address(arp.psrc)), "dst": int(IPv4Address(arp.pdst))}
            self.l3(l4_src=arp.op, link=mac(arp.hwsrc), target=mac(arp.hwdst), **addresses)

    def mpls(self) -> None:
        label = self.read(MPLS, 4)
        if label:
            self.l3(label=label.label, ip_dscp=label.cos, ip_ecn=label.s, label_ttl=label.ttl)
            kind, ttl = self.below(label.s == 1, self.data[self.at + 4 :])
            self.fields |= {"below": kind, "ttl": ttl}

    def below(self, bottom: bool, rest: bytes) -> tuple[int, int]:
        """What lies behind a label: another one (1), IPv4 (2), IPv6 (3) or nothing that is known, and its TTL."""
        if not bottom:
            return (1, MPLS(rest[:4]).ttl) if len(rest) >= 4 else (0, 0)
        version = rest[0] >> 4 if rest else 0
        if version == 4 and len(rest) >= 20:
            ip = IP(rest[:20])
            if 20 <= 4 * ip.ihl <= min(len(rest), ip.len):
                return 2, ip.ttl
        if version == 6 and len(rest) >= 40:
            return 3, IPv6(rest[:40]).hlim
        return 0, 0

    def ipv4(self) -> None:
        ip = self.read(IP, 20)
        if not ip:
            return
        size = 4 * ip.ihl
        if size < 20 or self.at + size > self.end or ip.len < size:
            self.fields["cut"] = 1
            return
        addresses = {"src": int(IPv4Address(ip.src)), "dst": int(IPv4Address(ip.dst))}
        self.l3(ip_dscp=ip.tos >> 2, ip_ecn=ip.tos & 3, ip_proto=ip.proto, ttl=ip.ttl, **addresses)
        self.ip_end = None if ip.flags.MF else self.at + ip.len
        self.end = min(self.end, self.at + ip.len)
        self.at += size
        if ip.frag:
            self.fields["later"] = 1
        else:
            self.l4()

    def ipv6(self) -> None:
        ip = self.read(IPv6, 40)
        if not ip:
            return
        addresses = {"src": int(IPv6Address(ip.src)), "dst": int(IPv6Address(ip.dst))}
        self.l3(ip_dscp=ip.tc >> 2, ip_ecn=ip.tc & 3, ip_proto=ip.nh, label=ip.fl, ttl=ip.hlim, **addresses)
        self.at += 40
        self.ip_end = self.at + ip.plen
        self.end = min(self.end, self.at + ip.plen)
        found, whole = self.extensions()
        proto = self.fields["ip_proto"]
        found += "e" if whole and proto == 50 else ""
        bits = NONEXT if whole and proto == 59 else 0
        for letter in found:
            bits |= BITS[letter]
        bits |= HOP if found.startswith("h") else 0
        again = any(found.count(letter) > most for letter, most in {"r": 1, "f": 1, "a": 1, "d": 2}.items())
        bits |= UNREP if again or (found.startswith("h") and found.count("h") > 1) else 0
        bits |= 0 if IN_ORDER.fullmatch(found) else UNSEQ
        self.fields["exthdr"] = bits
        if whole:
            self.l4()

    def extensions(self) -> tuple[str, bool]:
        """The letters of extension headers, and whether what follows them can be read."""
        found = ""
        while (kind := self.fields["ip_proto"]) in LETTERS:
            if len(found) == EXTENSIONS:
                self.fields["cut"] = 1
                return found, False
            found += LETTERS[kind]
            if self.at + 8 > self.end:
                self.fields["cut"] = 1
                return found, False
            following, length = self.data[self.at : self.at + 2]
            size = {44: 8, 51: 4 * length + 8}.get(kind, 8 * length + 8)
            if self.at + size > self.end:
                self.fields["cut"] = 1
                return found, False
            if kind == 44:
                fragment = IPv6ExtHdrFragment(self.data[self.at : self.at + 8])
                if fragment.offset:
                    self.fields["later"] = 1
                    return found, False
                self.ip_end = None if fragment.m else self.ip_end
            if kind == 43:
                self.segments_left += IPv6ExtHdrRouting(self.data[self.at : self.at + 8]).segleft
            self.fields["ip_proto"] = following
            self.at += size
        return found, True

    def l4(self) -> None:
        over_ipv6 = self.fields["eth_type"] == 0x86DD
        known = {6: (TCP, 20), 17: (UDP, 8), 132: (SCTP, 12)}
        known |= {58: (ICMPv6Unknown, 8)} if over_ipv6 else {1: (_icmp, 8)}
        proto = self.fields["ip_proto"]
        if proto not in known:
            return
        header = self.read(*known[proto])
        if not header:
            return
        pair = (header.type, header.code) if proto in (1, 58) else (header.sport, header.dport)
        self.fields |= {"l4": 1, "at_l4": self.at, "l4_src": pair[0], "l4_dst": pair[1]}
        self.fields["routed"] = int(self.segments_left > 0)
        if self.ip_end is not None:
            self.fields["l4_bytes"] = self.ip_end - self.at
        if proto == 58 and pair in ((135, 0), (136, 0)):
            self.neighbour(pair[0])

    def neighbour(self, kind: int) -> None:
        message, option = {
            135: (ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr),
            136: (ICMPv6ND_NA, ICMPv6NDOptDstLLAddr),
        }[kind]
        found = self.read(message, 24)
        if not found:
            return
        self.fields |= {"nd": 1, "target": int(IPv6Address(found.tgt))}
        self.at += 24
        for _ in range(2):
            if self.at + 8 > self.end or self.data[self.at + 1] != 1:
                return
            if self.data[self.at] == option().type:
                self.fields["link"] = mac(option(self.data[self.at : self.at + 8]).lladdr)
                self.fields["at_link"] = self.at + 2
                return
            self.at += 8
