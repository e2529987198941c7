"""Random flows, groups and packets that have to do with each other. Flows keep to what OpenFlow demands of them: a
match has what its fields need, and an action finds the header that it edits."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from random import Random

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    IPv6ExtHdrSegmentRouting,
)
from scapy.layers.inet6 import IPv6 as IP6
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet as ScapyPacket
from scapy.packet import Raw

from headrace.cards.switch import flows
from headrace.cards.switch.flows import Action, ActionKind, Bucket, Flow, Group, GroupKind, Instructions, Match, Oxm

MACS = [0x02_00_00_00_00_01 + number for number in range(3)] + [0x33_33_00_00_00_01]
VIDS, LABELS, PORTS = [1, 2, 100], [16, 17, 1000], [9, 80, 1234]
V4 = [0x0A000001, 0x0A000002, 0x0A000105, 0xC0A80001]
V6 = [0x20010DB8 << 96 | number for number in (1, 2, 0x10001, 5)]
IPV4, ARP_TYPE, IPV6, MPLS_TYPE = 0x0800, 0x0806, 0x86DD, 0x8847
L4 = {6: (13, 14), 17: (15, 16), 132: (17, 18), 1: (19, 20), 58: (29, 30)}


def mac(number: int) -> str:
    """As scapy has it."""
    return number.to_bytes(6, "big").hex(":")


# ------------------------------------------------------------------------------------------------------- packets


def packet(rng: Random) -> bytes:
    """A whole one."""
    kind = rng.choice((IPV4, IPV4, IPV4, IPV6, IPV6, ARP_TYPE, MPLS_TYPE, 0x88B5))
    layer = {IPV4: _ipv4, IPV6: _ipv6, ARP_TYPE: _arp, MPLS_TYPE: _mpls}.get(kind, _raw)(rng)
    whole: ScapyPacket = Ether(src=mac(rng.choice(MACS)), dst=mac(rng.choice(MACS)), type=kind)
    tags = [rng.choice((Dot1Q, Dot1Q, Dot1AD)) for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))]
    kinds = [{Dot1Q: 0x8100, Dot1AD: 0x88A8}[tag] for tag in tags] + [kind]
    whole.type = kinds[0]
    for tag, following in zip(tags, kinds[1:], strict=True):
        whole /= tag(vlan=rng.choice(VIDS), prio=rng.randrange(8), dei=rng.randrange(2), type=following)
    return bytes(whole / layer)


def _raw(rng: Random) -> ScapyPacket:
    return Raw(rng.randbytes(rng.choice((4, 46, 100))))


def _transport(rng: Random, icmp: Callable[[Random], ScapyPacket]) -> ScapyPacket:
    ports = {"sport": rng.choice(PORTS), "dport": rng.choice(PORTS)}
    kind = rng.randrange(4)
    return icmp(rng) if kind == 3 else (TCP, UDP, SCTP)[kind](**ports) / _raw(rng)


def _ttl(rng: Random) -> int:
    return rng.choice((64, 64, 255, 2, 1))


def _ipv4(rng: Random) -> ScapyPacket:
    addresses = {"src": str(IPv4Address(rng.choice(V4))), "dst": str(IPv4Address(rng.choice(V4)))}
    place = rng.choice(({}, {}, {}, {"frag": 3, "proto": 17}, {"flags": "DF"}))
    head = IP(**addresses, tos=rng.choice((0, 0x28, 0xB9)), ttl=_ttl(rng), **place)
    return head / (_raw(rng) if "frag" in place else _transport(rng, lambda _: ICMP(type=8, code=0) / b"ping"))


def _icmpv6(rng: Random) -> ScapyPacket:
    kind = rng.randrange(3)
    target = str(IPv6Address(rng.choice(V6)))
    if kind == 0:
        return ICMPv6ND_NS(tgt=target) / ICMPv6NDOptSrcLLAddr(lladdr=mac(rng.choice(MACS)))
    if kind == 1:
        return ICMPv6ND_NA(tgt=target) / ICMPv6NDOptDstLLAddr(lladdr=mac(rng.choice(MACS)))
    return ICMPv6EchoRequest(data=b"ping")


def routing(rng: Random) -> ScapyPacket:
    """A routing header of IPv6, with the packet at its destination or not yet. Of type 0, 2 or 4."""
    kind, left = rng.choice((0, 2, 4)), rng.randrange(3)
    addresses = [str(IPv6Address(rng.choice(V6))) for _ in range(max(1, left))]
    if kind == 4:
        return IPv6ExtHdrSegmentRouting(addresses=addresses, segleft=left)
    return IPv6ExtHdrRouting(type=kind, addresses=addresses, segleft=left)


def _ipv6(rng: Random) -> ScapyPacket:
    addresses = {"src": str(IPv6Address(rng.choice(V6))), "dst": str(IPv6Address(rng.choice(V6)))}
    head: ScapyPacket = IP6(**addresses, tc=rng.choice((0, 0x28, 0xB9)), fl=rng.choice(LABELS), hlim=_ttl(rng))
    if rng.random() < 0.3:
        head /= rng.choice((IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt, lambda: routing(rng)))()
    return head / _transport(rng, _icmpv6)


def _arp(rng: Random) -> ScapyPacket:
    addresses = {"psrc": str(IPv4Address(rng.choice(V4))), "pdst": str(IPv4Address(rng.choice(V4)))}
    return ARP(op=rng.choice((1, 2)), hwsrc=mac(rng.choice(MACS)), hwdst=mac(rng.choice(MACS)), **addresses)


def _mpls(rng: Random) -> ScapyPacket:
    labels: ScapyPacket | None = None
    count = rng.choice((1, 1, 2))
    for number in range(1, count + 1):
        label = MPLS(label=rng.choice(LABELS), cos=rng.randrange(8), s=int(number == count), ttl=_ttl(rng))
        labels = label if labels is None else labels / label
    return labels / rng.choice((_ipv4, _ipv6, _ipv4))(rng)


# ------------------------------------------------------------------------------------------------------- matches


def match(rng: Random, table: int) -> Match:
    """Of a flow."""
    found: list[Oxm] = []

    def maybe(chance: float, *oxms: Oxm) -> None:
        if rng.random() < chance:
            found.extend(oxms)

    maybe(0.3, Oxm(0, rng.randrange(1, 4)))
    maybe(0.2, rng.choice((Oxm(3, rng.choice(MACS)), Oxm(3, 0x33_33 << 32, 0xFF_FF << 32))))
    maybe(0.15, Oxm(4, rng.choice(MACS)))
    if table:
        maybe(0.3, rng.choice((Oxm(2, rng.randrange(4)), Oxm(2, rng.choice((0, 16)), 16))))
        maybe(0.15, rng.choice((Oxm(38, rng.randrange(3)), Oxm(38, 1 << 63, 1 << 63))))
    vlan = rng.randrange(8)
    if vlan == 0:
        found.append(Oxm(6, 0))
    elif vlan < 4:
        tag = (Oxm(6, 0x1000, 0x1000), Oxm(6, 0x1000 | rng.choice(VIDS)), Oxm(6, 0x1000, 0x1001))[vlan - 1]
        found.append(tag)
        maybe(0.3, Oxm(7, rng.randrange(8)))
    kind = rng.choice((None, None, IPV4, IPV4, IPV6, ARP_TYPE, MPLS_TYPE))
    if kind is not None:
        found.append(Oxm(5, kind))
    if kind in (IPV4, IPV6):
        _match_ip(rng, kind, maybe, found)
    elif kind == ARP_TYPE:
        maybe(0.4, Oxm(21, rng.choice((1, 2))))
        maybe(0.3, Oxm(rng.choice((22, 23)), rng.choice(V4)))
        maybe(0.3, Oxm(rng.choice((24, 25)), rng.choice(MACS)))
    elif kind == MPLS_TYPE:
        maybe(0.5, Oxm(34, rng.choice(LABELS)))
        maybe(0.2, Oxm(35, rng.randrange(8)))
        maybe(0.3, Oxm(36, rng.randrange(2)))
    return tuple(found)


def _match_ip(rng: Random, kind: int, maybe: Callable[..., None], found: list[Oxm]) -> None:
    maybe(0.15, Oxm(8, rng.choice((10, 46, 0))))
    maybe(0.15, Oxm(9, rng.choice((0, 1))))
    addresses, values, wide = ((11, 12), V4, 24) if kind == IPV4 else ((26, 27), V6, 112)
    bits = 32 if kind == IPV4 else 128
    for number in addresses:
        mask = rng.choice((None, None, (1 << bits) - (1 << bits - wide)))
        value = rng.choice(values)
        maybe(0.25, Oxm(number, value if mask is None else value & mask, mask))
    if kind == IPV6:
        maybe(0.15, Oxm(28, rng.choice(LABELS)))
        maybe(0.15, Oxm(39, rng.choice((0, 64)), 64))
    proto = rng.choice((None, None, 6, 17, 132, 1 if kind == IPV4 else 58))
    if proto is None:
        return
    found.append(Oxm(10, proto))
    if proto == 58 and rng.random() < 0.5:
        solicit = rng.random() < 0.5
        found += [Oxm(29, 135 if solicit else 136), Oxm(30, 0)]
        maybe(0.4, Oxm(31, rng.choice(V6)))
        maybe(0.4, Oxm(32 if solicit else 33, rng.choice(MACS)))
    elif proto in (1, 58):
        maybe(0.4, Oxm(L4[proto][0], 8 if proto == 1 else 128))
    else:
        maybe(0.4, Oxm(L4[proto][0], rng.choice(PORTS)))
        maybe(0.4, Oxm(L4[proto][1], rng.choice(PORTS)))


# ------------------------------------------------------------------------------------------------------- actions


_LABEL_TTLS = (
    *(Action(ActionKind.DEC_MPLS_TTL), Action(ActionKind.SET_MPLS_TTL, 78)),
    *(Action(ActionKind.COPY_TTL_OUT), Action(ActionKind.COPY_TTL_IN)),
)


class ActionMaker:
    """Makes actions that suit packets of a match. ``ports``: of the switch; ``groups``: numbers to name; ``mpls``: with
    pops of labels, which may bring the packet anew."""

    def __init__(self, rng: Random, found: Match, ports: int, groups: list[int], mpls: bool = True) -> None:
        has = {oxm.field: oxm for oxm in found}
        self.rng, self.ports, self.groups, self.mpls = rng, ports, groups, mpls
        self.kind = has[5].value if 5 in has else None
        self.proto = has[10].value if 10 in has else None
        self.untagged = 6 in has and has[6].value == 0 and has[6].mask is None
        self.tagged = 6 in has and not self.untagged
        self.nd = has[29].value if 29 in has and 30 in has else None
        self.pushed = self.popped = False

    def some(self, most: int, edits_only: bool = False) -> list[Action]:
        """A few, in order."""
        return [self.one(edits_only) for _ in range(self.rng.randrange(most + 1))]

    def output(self) -> Action:
        """To one of all kinds of ports."""
        rng = self.rng
        port = rng.choice((*range(1, self.ports + 1), *range(1, self.ports + 1), flows.ALL, flows.IN_PORT, flows.FLOOD))
        if rng.random() < 0.15:
            return Action(ActionKind.OUTPUT, flows.CONTROLLER, rng.choice((0, 30, flows.MAX_LENGTH)))
        return Action(ActionKind.OUTPUT, port)

    def one(self, edits_only: bool = False) -> Action:
        """An action, after those that were made before."""
        rng = self.rng
        makers = [self._field, self._field, self._field, self._tag, self._label, self._ttl]
        if not edits_only:
            makers += [self.output, self.output, self.output, self.output]
            if self.groups:
                makers.append(lambda: Action(ActionKind.GROUP, rng.choice(self.groups)))
        action = None
        while action is None:
            action = rng.choice(makers)()
        return action

    def _tag(self) -> Action | None:
        if self.untagged:
            self.untagged, self.tagged = False, True
            return Action(ActionKind.PUSH_VLAN, self.rng.choice((0x8100, 0x88A8)))
        if self.tagged:
            self.tagged = False
            return Action(ActionKind.POP_VLAN)
        return None

    def _label(self) -> Action | None:
        if not self.pushed and not self.popped and self.rng.random() < 0.5:
            self.pushed, self.kind, self.proto, self.nd = True, MPLS_TYPE, None, None
            return Action(ActionKind.PUSH_MPLS, self.rng.choice((0x8847, 0x8848)))
        if self.mpls and self.kind == MPLS_TYPE and not self.pushed and not self.popped:
            self.popped, self.kind = True, self.rng.choice((IPV4, IPV4, IPV6, MPLS_TYPE))
            return Action(ActionKind.POP_MPLS, self.kind)
        return None

    def _ttl(self) -> Action | None:
        if self.kind in (IPV4, IPV6):
            return self.rng.choice((Action(ActionKind.DEC_NW_TTL), Action(ActionKind.SET_NW_TTL, 77)))
        if self.kind == MPLS_TYPE:
            return self.rng.choice(_LABEL_TTLS)
        return None

    def _field(self) -> Action:
        rng = self.rng
        fields = {3: MACS, 4: MACS, 38: [1, 2, (1 << 63) + 1]}
        if self.tagged:
            fields |= {6: [0x1000 | vid for vid in VIDS], 7: [0, 3, 7]}
        if self.kind in (IPV4, IPV6):
            fields |= {8: [0, 10, 46], 9: [0, 3]}
            fields |= {11: V4, 12: V4} if self.kind == IPV4 else {26: V6, 27: V6, 28: LABELS}
        elif self.kind == ARP_TYPE:
            fields |= {21: [1, 2], 22: V4, 23: V4, 24: MACS, 25: MACS}
        elif self.kind == MPLS_TYPE:
            fields |= {34: LABELS, 35: [0, 5]}
        if self.proto in (6, 17, 132):
            fields |= dict.fromkeys(L4[self.proto], PORTS)
        elif self.proto == 1:
            fields |= {19: [0, 3], 20: [0, 1]}
        if self.nd:
            fields |= {31: V6, 32 if self.nd == 135 else 33: MACS}
        number = rng.choice(list(fields))
        return Action(ActionKind.SET_FIELD, rng.choice(fields[number]), number)


def flow(rng: Random, table: int, priority: int, tables: int, ports: int, groups: list[int], mpls: bool = True) -> Flow:
    """A flow entry, with priority 0 a table miss. ``mpls``: it may pop labels, in the first table only: what earlier
    tables have written does not survive that."""
    found = () if priority == 0 else match(rng, table)
    return Flow(table, priority, found, instructions(rng, table, found, tables, ports, groups, mpls))


def instructions(
    rng: Random, table: int, found: Match, tables: int, ports: int, groups: list[int], mpls: bool = True
) -> Instructions:
    """For packets of a match."""
    maker = ActionMaker(rng, found, ports, groups, mpls and table == 0)
    goto = rng.randrange(table + 1, tables) if table + 1 < tables and rng.random() < 0.6 else None
    apply = tuple(maker.some(4)) if rng.random() < 0.8 else None
    write = None
    if rng.random() < 0.4 and not maker.popped:
        maker.popped = table != 0 or goto is not None  # no pop in what tables share
        write = (*maker.some(2, edits_only=True), maker.output())
        if groups and rng.random() < 0.3:
            write = (*write, Action(ActionKind.GROUP, rng.choice(groups)))
    metadata = rng.choice(((1, 3), (16, 16), (2, 0xFF))) if rng.random() < 0.3 and goto else None
    return Instructions(None, apply, rng.random() < 0.15, write, metadata, goto)


def group(rng: Random, number: int, ports: int, mpls: bool = True) -> Group:
    """Of any kind, for any packet; its buckets weigh the same. ``mpls``: they may pop labels."""
    kind = rng.choice(list(GroupKind))
    buckets = []
    for _ in range(1 if kind == GroupKind.INDIRECT else rng.randrange(1, 4)):
        maker = ActionMaker(rng, rng.choice(((), (Oxm(5, MPLS_TYPE),))), ports, [], mpls)
        watch = rng.randrange(1, ports + 1) if kind == GroupKind.FAST_FAILOVER else None
        weight = 5 if kind == GroupKind.SELECT else 0
        buckets.append(Bucket((*maker.some(2, edits_only=True), maker.output()), weight, watch))
    return Group(number, kind, tuple(buckets))
