"""Random flows and packets for comparing OpenFlow 1.3 switches: what both are told is text that ovs-ofctl reads.

All basic match fields but PBB's, tunnels' and IPV6_EXTHDR, which Open vSwitch doesn't have, and masks where the
specification allows them. Left out is what it leaves open: flows of the same priority in a table, a TTL that ends, a
group that may choose, tags that aren't there. So is what Open vSwitch 3.1 does otherwise: it executes the action set of
a packet that no flow of a later table matches, and a first label that is pushed gets a value and a TC. Ports of SCTP
aren't set: the card leaves its CRC as it came. Values come from small pools, so that flows match.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

PORTS = 4

_MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02", "06:1a:2b:3c:4d:5e", "01:00:5e:00:00:fb", "ff:ff:ff:ff:ff:ff")
_V4 = ("10.0.0.1", "10.0.0.2", "10.1.0.1", "192.168.7.200", "224.0.0.251")
_V6 = ("fd00::1", "fd00::2", "fd00:0:0:7::1", "2001:db8:1:2:3:4:5:6", "ff02::1")
_PORTS = (9, 80, 443, 4096, 65535)
_VLANS = (1, 7, 100, 4094)
_LABELS = ("16", "17", "1048575")
_WIDE = 0xFFFF_FFFF_FFFF_FFFF

_L4 = {"tcp": "tcp", "udp": "udp", "sctp": "sctp"}
_V6_L4 = {"tcp6": "tcp", "udp6": "udp", "sctp6": "sctp"}


@dataclass(frozen=True)
class FlowSet:
    """Groups and flows, a line each, as ovs-ofctl's add-groups and add-flows read them."""

    groups: str
    flows: str


@dataclass(frozen=True)
class Packet:
    """A packet into a port."""

    in_port: int
    data: bytes


@dataclass(frozen=True)
class _Field:
    """A field of a match: ``values`` that it takes, and ``mask``, which gives one if it can have one."""

    name: str
    values: tuple[str, ...]
    mask: Callable[[random.Random], str] | None = None
    settable: bool = True


def _bits(width: int, count: int) -> Callable[[random.Random], str]:
    """Masks of few bits that aren't compared."""

    def mask(rng: random.Random) -> str:
        return hex((1 << width) - 1 & ~sum(1 << bit for bit in set(rng.choices(range(width), k=count))))

    return mask


def _mac_mask(rng: random.Random) -> str:
    return rng.choice(("ff:ff:ff:ff:ff:00", "01:00:00:00:00:00", "00:00:00:00:00:ff", "fe:ff:00:ff:00:ff"))


def _v4_mask(rng: random.Random) -> str:
    return rng.choice(("255.255.255.0", "255.0.0.0", "0.0.0.255", "240.255.0.255", "128.0.0.0"))


def _v6_mask(rng: random.Random) -> str:
    return rng.choice(("ffff:ffff:ffff:ffff::", "ff00::", "::ffff", "ffff::f:0:ff"))


_ETHERNET = (_Field("dl_dst", _MACS, _mac_mask), _Field("dl_src", _MACS[:3], _mac_mask))
_ARP = (
    _Field("arp_op", ("1", "2")),
    _Field("arp_spa", _V4, _v4_mask),
    _Field("arp_tpa", _V4, _v4_mask),
    _Field("arp_sha", _MACS[:3], _mac_mask),
    _Field("arp_tha", _MACS[:3], _mac_mask),
)
_TOS = (_Field("ip_dscp", ("0", "10", "46", "63")), _Field("nw_ecn", ("0", "1", "2", "3")))
_IPV4 = (_Field("nw_src", _V4, _v4_mask), _Field("nw_dst", _V4, _v4_mask), *_TOS)
_IPV6 = (
    _Field("ipv6_src", _V6, _v6_mask),
    _Field("ipv6_dst", _V6, _v6_mask),
    _Field("ipv6_label", ("0x0", "0x12345", "0xfffff"), _bits(20, 6)),
    *_TOS,
)
_MPLS = (_Field("mpls_label", _LABELS), _Field("mpls_tc", ("0", "3", "7")))
_ND = (_Field("nd_target", _V6[:4], _v6_mask),)


def _l4(name: str) -> tuple[_Field, ...]:
    ports = tuple(map(str, _PORTS))
    settable = name != "sctp"
    return (_Field(f"{name}_src", ports, None, settable), _Field(f"{name}_dst", ports, None, settable))


_SHAPES: dict[str, tuple[_Field, ...]] = {
    "": (),
    "dl_type=0x88b5": (),
    "arp": _ARP,
    "ip": _IPV4,
    "ipv6": _IPV6,
    **{shape: (*_IPV4, *_l4(name)) for shape, name in _L4.items()},
    **{shape: (*_IPV6, *_l4(name)) for shape, name in _V6_L4.items()},
    "icmp": (*_IPV4, _Field("icmp_type", ("0", "8", "3")), _Field("icmp_code", ("0", "1"))),
    "ip,nw_proto=47": _IPV4,
    "icmp6": (*_IPV6, _Field("icmpv6_type", ("128", "129", "135", "136"), settable=False)),
    "icmp6,icmpv6_type=135,icmpv6_code=0": (*_IPV6, *_ND, _Field("nd_sll", _MACS[:3])),
    "icmp6,icmpv6_type=136,icmpv6_code=0": (*_IPV6, *_ND, _Field("nd_tll", _MACS[:3])),
    "mpls,mpls_bos=1": _MPLS,
    "mpls,mpls_bos=0": _MPLS,
}
"""Prerequisites, as ovs-ofctl writes them, and the fields that they open."""
_COMMON = ("", "ip", "ipv6") * 5
_ROUTED = ("ip", "ipv6", "tcp", "udp", "sctp", "icmp")


def random_flow_set(rng: random.Random, tables: int = 4, flows: int = 40, groups: int = 4) -> FlowSet:
    """Flows, about so many, over so many tables, and groups that they use."""
    writer = _Writer(rng, tables, range(1, groups + 1))
    lines = []
    for table in range(tables):
        found = _family(rng) if rng.random() < 0.6 else []
        count = max(1, flows // tables - len(found) // 2)
        found += [_match(rng, rng.choice((*_SHAPES, *_COMMON))) for _ in range(count)]
        priorities = rng.sample(range(1, 60_000), len(found))
        flows_here = list(zip(priorities, found, strict=True))
        if writer.sets or rng.random() < 0.8:  # what is done with all others
            flows_here.append((0, _Match("", "", None)))
        for priority, match in flows_here:
            lines.append(f"table={table},priority={priority},{match.text}actions={writer.instructions(match, table)}\n")
    return FlowSet("".join(f"{_group(rng, number, writer.sets)}\n" for number in writer.groups), "".join(lines))


@dataclass(frozen=True)
class _Match:
    """A match; ``vlan``: whether it says that there is a tag, or none."""

    text: str
    shape: str
    vlan: bool | None

    @property
    def fields(self) -> list[_Field]:
        """Those that can be set, beside Ethernet's."""
        return [field for field in _SHAPES[self.shape] if field.settable]

    @property
    def ttl(self) -> str | None:
        """The one that it has, if any, as actions call it."""
        if self.shape.startswith("mpls"):
            return "mpls_ttl"
        return "ttl" if self.shape.startswith(_ROUTED) else None


def _match(rng: random.Random, shape: str) -> _Match:
    words = [shape] if shape else []
    vlan = None
    if rng.random() < 0.1:
        words.append(f"in_port={rng.randint(1, PORTS)}")
    if rng.random() < 0.1:
        mask = rng.choice((0xF, 0xF0, 0xFF, _WIDE))
        words.append(f"metadata={hex(rng.choice((0, 1, 0x10, 0x21)) & mask)}/{hex(mask)}")
    if rng.random() < 0.35:
        vlan = rng.random() < 0.6
        words.append(_vlan(rng) if vlan else "vlan_vid=0")
    fields = (*_ETHERNET, *_SHAPES[shape])
    for field in rng.sample(fields, k=min(rng.choice((0, 1, 1, 2, 3)), len(fields))):
        mask_of = field.mask if rng.random() < 0.5 else None
        words.append(f"{field.name}={rng.choice(field.values)}" + (f"/{mask_of(rng)}" if mask_of else ""))
    return _Match("".join(f"{word}," for word in words), shape, vlan)


def _vlan(rng: random.Random) -> str:
    kind = rng.randrange(3)
    if kind == 0:
        return "vlan_vid=0x1000/0x1000"
    number = 0x1000 | rng.choice(_VLANS)
    if kind == 1:
        return f"vlan_vid={hex(number)},vlan_pcp={rng.choice((0, 5))}"
    return f"vlan_vid={hex(number & 0x100F)}/0x100f"


def _family(rng: random.Random) -> list[_Match]:
    """Flows that compare the same fields, each of them exactly."""
    shape = rng.choice([shape for shape, fields in _SHAPES.items() if fields])
    fields = rng.sample((*_ETHERNET, *_SHAPES[shape]), k=rng.randint(1, 3))
    found = {",".join(f"{field.name}={rng.choice(field.values)}" for field in fields) for _ in range(12)}
    return [_Match(f"{shape},{each},", shape, None) for each in sorted(found)]


class _Writer:
    """Instructions of flows of one set. Either a flow pushes two tags, or one and the action set another; tags are
    taken off by flows or by the action set. ``sets``: there are action sets, and no labels that come and go nor select
    groups, on which Open vSwitch 3.1 aborts then."""

    def __init__(self, rng: random.Random, tables: int, groups: Sequence[int]) -> None:
        self.groups = groups
        self._rng, self._tables = rng, tables
        self._pushes = rng.choice((1, 2))
        self._pops_last = rng.random() < 0.5
        self.sets = rng.random() < 0.6

    def instructions(self, match: _Match, table: int) -> str:
        """Of a flow in a table."""
        rng = self._rng
        words, labelled = self._list(match, rng.randint(0, 5)) if rng.random() < 0.8 else ([], False)
        if rng.random() < 0.1:
            words.append("clear_actions")
        if self.sets and rng.random() < 0.35:
            words.append(f"write_actions({','.join(self._set(match, labelled))})")
        if table + 1 < self._tables and rng.random() < 0.6:
            if rng.random() < 0.3:
                mask = rng.choice((0xF, 0xF0, _WIDE))
                words.append(f"write_metadata:{hex(rng.choice((1, 0x10, 0x21)) & mask)}/{hex(mask)}")
            words.append(f"goto_table:{rng.randint(table + 1, self._tables - 1)}")
        return ",".join(words) or "drop"

    def _list(self, match: _Match, count: int) -> tuple[list[str], bool]:
        """Actions in any order, with outputs between them: each copy has the edits so far; and whether an MPLS label
        comes or goes, behind which flow and packet no longer fit."""
        rng = self._rng
        words: list[str] = []
        tags, pushes, labelled = int(match.vlan or False), self._pushes, False
        for _ in range(count):
            kinds = ["output", "output", "ethernet"]
            if not labelled:
                kinds += ["field"] * 3 if match.fields else []
                kinds += ["ttl"] if match.ttl else []
                kinds += ["label"] if match.ttl and not self.sets else []
            kinds += ["push"] * 2 if match.vlan is False and pushes else []
            kinds += ["vlan"] if tags else []
            kinds += ["pop"] if tags and not self._pops_last else []
            kinds += ["group"] if self.groups else []
            kind = rng.choice(kinds)
            if kind == "output":
                words.append(_output(rng))
            elif kind == "ethernet":
                words.append(_set_field(rng, rng.choice(_ETHERNET)))
            elif kind == "field":
                words.append(_set_field(rng, rng.choice(match.fields)))
            elif kind == "ttl":
                words.append(
                    rng.choice((f"dec_{match.ttl}", "set_mpls_ttl:20" if "mpls" in match.shape else "mod_nw_ttl:20"))
                )
            elif kind == "label":
                words += self._label(match)
                labelled = True
            elif kind == "push":
                words += [f"push_vlan:{rng.choice(('0x8100', '0x88a8'))}", _tag(rng)]
                tags, pushes = tags + 1, pushes - 1
            elif kind == "pop":
                words.append("pop_vlan")
                tags -= 1
            elif kind == "vlan":
                words.append(rng.choice((_tag(rng), f"set_field:{rng.randrange(8)}->vlan_pcp")))
            else:
                words.append(f"group:{rng.choice(self.groups)}")
        return [*words, *([_output(rng)] if rng.random() < 0.7 else [])], labelled

    def _label(self, match: _Match) -> list[str]:
        """A label more, or one less."""
        if match.ttl == "mpls_ttl" and self._rng.random() < 0.7:
            return ["pop_mpls:0x0800" if match.shape == "mpls,mpls_bos=1" else "pop_mpls:0x8847"]
        label = [f"set_field:{self._rng.choice(_LABELS)}->mpls_label"]
        if match.ttl == "ttl":  # a first label
            return ["push_mpls:0x8847", *label, f"set_field:{self._rng.randrange(8)}->mpls_tc"]
        return ["push_mpls:0x8847", *(label if self._rng.random() < 0.7 else [])]

    def _set(self, match: _Match, labelled: bool) -> list[str]:
        """An action set: one of a kind."""
        rng = self._rng
        words = [_set_field(rng, rng.choice(_ETHERNET if labelled else (*_ETHERNET, *match.fields)))]
        if match.vlan is False and self._pushes == 1 and rng.random() < 0.5:
            words += ["push_vlan:0x8100", _tag(rng)]
        if match.vlan and self._pops_last:
            words.append("pop_vlan")
        if match.ttl and not labelled and rng.random() < 0.3:
            words.append(f"dec_{match.ttl}")
        if self.groups and rng.random() < 0.2:
            words.append(f"group:{rng.choice(self.groups)}")
        if rng.random() < 0.8:
            words.append(_output(rng))
        return words


def _set_field(rng: random.Random, field: _Field) -> str:
    return f"set_field:{rng.choice(field.values)}->{field.name}"


def _tag(rng: random.Random) -> str:
    return f"set_field:{0x1000 | rng.choice(_VLANS)}->vlan_vid"


def _output(rng: random.Random) -> str:
    return rng.choice((*(f"output:{port}" for port in range(1, PORTS + 1)), "in_port", "all"))


def _group(rng: random.Random, number: int, sets: bool) -> str:
    kind = rng.choice(("all", "indirect", "fast_failover", *(() if sets else ("select",))))
    buckets = []
    for _ in range(1 if kind in ("indirect", "select") else rng.randint(1, 3)):
        words = [_set_field(rng, rng.choice(_ETHERNET))] if rng.random() < 0.6 else []
        watch = "watch_port:1," if kind == "fast_failover" else ""
        buckets.append(f"bucket={watch}actions={','.join([*words, f'output:{rng.randint(1, PORTS)}'])}")
    return f"group_id={number},type={kind},{','.join(buckets)}"


def random_packet(rng: random.Random) -> Packet:
    """A whole packet of any of the kinds that flows of ``random_flow_set`` tell apart, with 0 to 2 VLAN tags."""
    from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
    from scapy.packet import Raw

    packet: Any = Ether(dst=rng.choice(_MACS), src=rng.choice(_MACS[:3]))
    tags = rng.choice((0, 0, 0, 1, 1, 2))
    for number in range(tags):
        tag = Dot1AD if tags == 2 and number == 0 and rng.random() < 0.5 else Dot1Q
        packet /= tag(vlan=rng.choice(_VLANS), prio=rng.choice((0, 5)))
    kind = rng.choice(("arp", "ipv4", "ipv4", "ipv4", "ipv6", "ipv6", "ipv6", "mpls", "other"))
    if kind == "other":
        packet.lastlayer().type = 0x88B5
        packet /= Raw(rng.randbytes(rng.randint(60, 200)))
    else:
        packet /= {"arp": _arp, "ipv4": _ipv4, "ipv6": _ipv6, "mpls": _mpls}[kind](rng)
    return Packet(rng.randint(1, PORTS), bytes(packet))


def _arp(rng: random.Random) -> Any:
    from scapy.layers.l2 import ARP
    from scapy.packet import Raw

    hardware: Any = {"hwsrc": rng.choice(_MACS[:3]), "hwdst": rng.choice(_MACS[:3])}
    return ARP(op=rng.choice((1, 2)), psrc=rng.choice(_V4), pdst=rng.choice(_V4), **hardware) / Raw(bytes(40))


def _ipv4(rng: random.Random) -> Any:
    from scapy.layers.inet import ICMP, IP, IPOption_Router_Alert
    from scapy.packet import Raw

    packet = IP(
        src=rng.choice(_V4), dst=rng.choice(_V4), tos=_tos(rng), ttl=rng.randint(10, 255), id=rng.randrange(1 << 16)
    )
    if rng.random() < 0.2:
        packet.options = [IPOption_Router_Alert()]
    if rng.random() < 0.1:
        packet.proto = 47
        return packet / Raw(rng.randbytes(80))
    if rng.random() < 0.2:
        return packet / ICMP(type=rng.choice((0, 8, 3)), code=rng.choice((0, 1))) / Raw(rng.randbytes(60))
    transport = _transport(rng)
    if transport.name == "UDP" and rng.random() < 0.3:
        transport.chksum = 0  # not computed
    return packet / transport


def _ipv6(rng: random.Random) -> Any:
    from scapy.layers import inet6

    packet = inet6.IPv6(src=rng.choice(_V6[:4]), dst=rng.choice(_V6), tc=_tos(rng), hlim=rng.randint(10, 255))
    packet.fl = rng.choice((0, 0x12345, 0xFFFFF))
    if rng.random() < 0.2:
        packet /= inet6.IPv6ExtHdrHopByHop(options=[inet6.RouterAlert()])
    if rng.random() < 0.1:
        packet /= inet6.IPv6ExtHdrDestOpt(options=[inet6.PadN(optdata=bytes(4))])
    if rng.random() < 0.4:
        return packet / _icmpv6(rng)
    return packet / _transport(rng)


def _icmpv6(rng: random.Random) -> Any:
    from scapy.layers import inet6

    target, link = rng.choice(_V6[:4]), rng.choice(_MACS[:3])
    kind = rng.randrange(3)
    if kind == 0:
        echo = rng.choice((inet6.ICMPv6EchoRequest, inet6.ICMPv6EchoReply))
        return echo(data=rng.randbytes(60))
    if kind == 1:
        return inet6.ICMPv6ND_NS(tgt=target) / inet6.ICMPv6NDOptSrcLLAddr(lladdr=link)
    return inet6.ICMPv6ND_NA(tgt=target) / inet6.ICMPv6NDOptDstLLAddr(lladdr=link)


def _mpls(rng: random.Random) -> Any:
    from scapy.contrib.mpls import MPLS

    count = rng.randint(1, 2)
    labels = [MPLS(label=int(rng.choice(_LABELS)), cos=rng.choice((0, 3, 7)), ttl=64, s=0) for _ in range(count)]
    labels[-1].s = 1
    return (labels[0] if count == 1 else labels[0] / labels[1]) / _ipv4(rng)


def _transport(rng: random.Random) -> Any:
    from scapy.layers.inet import TCP, UDP
    from scapy.layers.sctp import SCTP, SCTPChunkData
    from scapy.packet import Raw

    ports: Any = {"sport": rng.choice(_PORTS), "dport": rng.choice(_PORTS)}
    kind = rng.randrange(3)
    if kind == 2:
        return SCTP(**ports) / SCTPChunkData(data=rng.randbytes(60))
    return (TCP if kind else UDP)(**ports) / Raw(rng.randbytes(rng.randint(40, 200)))


def _tos(rng: random.Random) -> int:
    return rng.choice((0, 10, 46, 63)) << 2 | rng.randrange(4)
