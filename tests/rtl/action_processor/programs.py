"""Random packets, as the parser and the tables tell of them, and random programs of actions."""

import random
from dataclasses import dataclass, field
from typing import Any

from action_processor.model import ETH_ARP, ETH_IPV4, ETH_IPV6, Arrival, Values, word

from headrace.cards.switch.layout import LAYERS, MATCH, Act

PLAIN = [
    *(Act.NONE, Act.PUSH_VLAN, Act.POP_VLAN, Act.PUSH_MPLS, Act.POP_MPLS, Act.SET_NW_TTL, Act.DEC_NW_TTL),
    *(Act.SET_MPLS_TTL, Act.DEC_MPLS_TTL, Act.COPY_TTL_OUT, Act.COPY_TTL_IN, Act.OUTPUT, Act.OUTPUT, Act.CONTROLLER),
    *(Act.SAVE, Act.RESTORE, Act.METER, Act.METER, Act.COUNT, Act.COUNT, Act.CLEAR, Act.RESUBMIT, Act.CUSTOM, 25, 63),
    *[Act.SET_FIELD] * 20,
]
ADDRESSES = {ETH_IPV4: 32, ETH_IPV6: 128}


def few_bits(width: int) -> int:
    """Any number, now and then an extreme one."""
    return random.choice((0, (1 << width) - 1, *[random.getrandbits(width)] * 6))


def arrival(programs: list[int], first: int = 0, *, narrow: bool = False) -> Arrival:
    """A packet of any kind, as the parser or a narrow one tells of it."""
    kind = random.choice((ETH_IPV4, ETH_IPV4, ETH_IPV6, ETH_IPV6, ETH_IPV6, ETH_ARP, 0x8847, 0x8848, 0x88CC, 0x05FF))
    tags = random.choice((0, 0, 1, 2))
    fields = dict.fromkeys(MATCH.members, 0)
    layers = dict.fromkeys(LAYERS.members, 0) | {"tags": tags}
    fields |= {"in_port": random.choice((1, 2, 3, 64, 65, 255, 0)), "eth_type": kind}
    fields |= {"tunnel_id": random.choice((0, random.getrandbits(64)))}
    fields |= {"eth_dst": random.getrandbits(48), "eth_src": random.getrandbits(48)}
    if tags:
        fields |= {"vlan": 1, "vlan_vid": random.getrandbits(12), "vlan_pcp": random.getrandbits(3)}
        layers |= {"dei": random.getrandbits(1), "qinq": random.randrange(1 << tags)}
        layers["inner"] = random.getrandbits(16) if tags == 2 else 0
    snap = 8 if random.random() < 0.1 else 0
    known = (ETH_IPV4,) if narrow else (ETH_IPV4, ETH_IPV6, ETH_ARP, 0x8847, 0x8848)
    if kind in known and random.random() < 0.9:
        layers["l3"] = 14 + 4 * tags + snap
        fields |= {"l3": 1, "ip_dscp": few_bits(6), "ip_ecn": few_bits(2)}
        layers["ttl"] = random.choice((0, 1, 2, 64, 255, random.getrandbits(8)))
        if kind in ADDRESSES:
            fields |= {"ip_proto": random.choice((6, 17, 132, 58 if kind == ETH_IPV6 else 1, random.getrandbits(8)))}
            fields |= {name: few_bits(ADDRESSES[kind]) for name in ("src", "dst")}
            if kind == ETH_IPV6:
                fields |= {"label": few_bits(20), "exthdr": random.choice((0, 0, few_bits(9)))}
            upper(fields, layers)
        elif kind == ETH_ARP:
            fields |= {"ip_dscp": 0, "ip_ecn": 0, "l4_src": 1, "src": few_bits(32), "dst": few_bits(32)}
            fields |= {"target": few_bits(48), "link": few_bits(48)}
            layers["ttl"] = 0
        else:
            fields |= {"label": few_bits(20), "ip_dscp": few_bits(3), "ip_ecn": few_bits(1)}
            layers |= {"below": random.randrange(4), "label_ttl": random.choice((0, 1, 2, 64, 255, few_bits(8)))}
    return Arrival(fields, layers, random.getrandbits(17), random.getrandbits(64), first, programs)


def upper(fields: Values, layers: Values) -> None:
    """What lies behind an IP header."""
    protocols = {6, 17, 132, 58 if fields["eth_type"] == ETH_IPV6 else 1}
    if fields["ip_proto"] not in protocols or random.random() < 0.1:
        return
    layers["l4"] = layers["l3"] + 40
    layers["routed"] = int(fields["eth_type"] == ETH_IPV6 and random.random() < 0.2)
    width = 8 if fields["ip_proto"] in (1, 58) else 16
    fields |= {"l4": 1, "l4_src": few_bits(width), "l4_dst": few_bits(width)}
    if fields["ip_proto"] == 58 and random.random() < 0.7:
        fields |= {"nd": 1, "l4_src": random.choice((135, 136)), "l4_dst": 0, "target": few_bits(128)}
        if random.random() < 0.7:
            fields["link"] = few_bits(48)
            layers["link"] = layers["l4"] + 26


@dataclass
class Programs:
    """A memory of random programs. Those of tables and groups call, select and jump to others, never back."""

    size: int
    groups: int
    memory: dict[int, Values] = field(default_factory=dict)
    group_starts: dict[int, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.next = self.size - 1
        tails = [self.add(random.choice((1, 1, 2, 3, 20)), [], []) for _ in range(12)]
        for level in range(4):
            callees = list(self.group_starts)
            for _ in range(4):
                length = random.choice((1, 2, 4, 8))
                start = self.add(length, tails, callees if level else [])
                self.group_starts[random.choice([n for n in range(self.groups) if n not in self.group_starts])] = start
        numbers = [*self.group_starts, self.groups, 65535, random.randrange(self.groups)]
        lengths = [1] * 12 + [2, 2, 3, 4, 5, 7, 8, 9, 10, 12, 16, 17, 30]
        self.starts = [self.add(length, tails, numbers) for length in lengths * 3]

    def add(self, length: int, tails: list[int], groups: list[int]) -> int:
        """A program of some words, before those there are."""
        self.next -= length + random.choice((0, 0, 1, 5))
        start = self.next
        words = [self.any_word(tails, groups) for _ in range(length)]
        for i, this in enumerate(words):
            if this["op"] == Act.SELECT:  # among words that are there
                behind = length - 1 - i
                this["value"] = random.randrange(1, behind + 1) if behind else 0
                if not behind:
                    this["op"] = Act.NONE
        words[-1]["last"] = 1
        self.memory |= dict(enumerate(words, start))
        return start

    @staticmethod
    def any_word(tails: list[int], groups: list[int]) -> Values:
        """Of any op that makes sense there."""
        value = random.getrandbits(128)
        control: list[Any] = ([Act.JUMP, Act.SELECT, Act.UNLESS_LIVE] if tails else []) + [Act.GROUP] * bool(groups)
        op = random.choice(control) if control and random.random() < 0.15 else random.choice(PLAIN)
        match op:
            case Act.SET_FIELD:
                number = random.choice((*range(3, 39), random.getrandbits(6)))
                return random_keep(word(op, value, field=number, **random_out()))
            case Act.GROUP:
                return random_keep(word(op, random.choice(groups) | value & ~0xFFFF, **random_out()))
            case Act.JUMP:
                return word(op, random.choice(tails) | value & ~0xFFFF, **random_out())
            case Act.UNLESS_LIVE:
                port = random.choice((0, 1, 2, 5, 64, 65, 300))
                return word(op, random.choice(tails) | port << 16 | value & ~0xFFFFFFFF, **random_out())
            case Act.PUSH_VLAN:
                value = random.choice((0x8100, 0x88A8))
            case Act.PUSH_MPLS | Act.POP_MPLS:
                value = random.choice((0x8847, 0x8848, 0x0800, 0x86DD) if op == Act.POP_MPLS else (0x8847, 0x8848))
            case Act.SET_NW_TTL | Act.SET_MPLS_TTL:
                value = random.choice((1, 2, 64, 255))
            case Act.OUTPUT:
                value = random.choice((0, 1 << 64, 1 << random.randrange(64), 1 << random.randrange(4), value))
        return random_keep(word(op, value, field=random.getrandbits(6), **random_out()))


def random_out() -> Values:
    """Now and then a copy besides."""
    return {"out": 1, "port": random.choice((0, 1, 2, 63, random.randrange(64)))} if random.random() < 0.3 else {}


def random_keep(this: Values) -> Values:
    """Now and then for the action set."""
    return this | {"keep": int(random.random() < 0.2)}
