"""What OpenFlow says that actions do: programs run on a packet as lists of tags and labels and named fields."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.cards.switch.layout import ACTION, COPY, EDIT, EDITED, LAYERS, MATCH, Act, Struct

ETH_QINQ, ETH_IPV4, ETH_ARP, ETH_IPV6, ETH_MPLS = 0x88A8, 0x0800, 0x0806, 0x86DD, (0x8847, 0x8848)
WORDS_MAX = 1023
LEVELS = 2

Values = dict[str, int]

# Fields of OXM: the member that has it, its bits and the header that must be there.
FIELDS: dict[int, tuple[str, int, str]] = {
    **{3: ("eth_dst", 48, "eth"), 4: ("eth_src", 48, "eth"), 8: ("ip_dscp", 6, "ip"), 9: ("ip_ecn", 2, "ip")},
    **{10: ("ip_proto", 8, "proto"), 11: ("src", 32, "ipv4"), 12: ("dst", 32, "ipv4")},
    **{13: ("l4_src", 16, "tcp"), 14: ("l4_dst", 16, "tcp"), 15: ("l4_src", 16, "udp"), 16: ("l4_dst", 16, "udp")},
    **{17: ("l4_src", 16, "sctp"), 18: ("l4_dst", 16, "sctp"), 19: ("l4_src", 8, "icmp"), 20: ("l4_dst", 8, "icmp")},
    **{21: ("l4_src", 16, "arp"), 22: ("src", 32, "arp"), 23: ("dst", 32, "arp"), 24: ("link", 48, "arp")},
    **{25: ("target", 48, "arp"), 26: ("src", 128, "ipv6"), 27: ("dst", 128, "ipv6"), 28: ("label", 20, "ipv6")},
    **{29: ("l4_src", 8, "icmpv6"), 30: ("l4_dst", 8, "icmpv6"), 31: ("target", 128, "nd"), 32: ("link", 48, "sll")},
    **{33: ("link", 48, "tll"), 38: ("tunnel_id", 64, "eth")},
}
GROUPED = {"ip_dscp": "tos", "ip_ecn": "tos", "ip_proto": "proto", "eth_dst": "", "eth_src": "", "tunnel_id": ""}
ONCE = [
    *(Act.COPY_TTL_IN, Act.POP_VLAN, Act.POP_MPLS, Act.PUSH_MPLS, Act.PUSH_VLAN, Act.COPY_TTL_OUT, Act.DEC_NW_TTL),
    *(Act.DEC_MPLS_TTL, Act.SET_NW_TTL, Act.SET_MPLS_TTL, Act.SET_FIELD, Act.CUSTOM, Act.GROUP, Act.OUTPUT),
]  # in the order of OpenFlow 1.3.5, 5.10


def word(op: Act, value: int = 0, **members: int) -> Values:
    """A word of a program."""
    return dict.fromkeys(ACTION.members, 0) | {"op": op, "value": value} | members


@dataclass
class Arrival:
    """A packet as it comes to the block."""

    fields: Values
    layers: Values
    bytes: int
    metadata: int
    first: int
    programs: list[int]

    def headers(self) -> set[str]:
        """The headers that can be edited."""
        fields, found = self.fields, {"eth"}
        if fields["l3"]:
            kinds = {ETH_IPV4: {"ipv4", "ip"}, ETH_IPV6: {"ipv6", "ip"}, ETH_ARP: {"arp"}}
            found |= kinds.get(fields["eth_type"], set())
            passed_by = fields["exthdr"] & 0b1111100  # what tells the protocol is no extension header
            found |= {"proto"} if "ipv4" in found or ("ipv6" in found and not passed_by) else set()
        if fields["l4"]:
            found |= {{6: "tcp", 17: "udp", 132: "sctp", 1: "icmp", 58: "icmpv6"}[fields["ip_proto"]]}
        found |= {"routed"} if self.layers["routed"] else set()
        if fields["nd"]:
            found |= {"nd"}
            if self.layers["link"]:
                found |= {{135: "sll", 136: "tll"}[fields["l4_src"]]}
        return found


@dataclass
class Label:
    """An MPLS label."""

    label: int
    tc: int
    bos: int
    ttl: int

    def word(self) -> int:
        """As on the wire."""
        return self.label << 12 | self.tc << 9 | self.bos << 8 | self.ttl


@dataclass
class State:
    """A packet as edited so far."""

    values: Values
    ttl: int
    eth_type: int
    tags: list[tuple[int, int]]
    labels: list[Label]
    cut: int
    under: bool  # `ttl` is of what lies under the labels
    edited: set[str] = field(default_factory=set)


def arrived(packet: Arrival) -> State:
    """A packet that nothing is done to yet."""
    fields, layers = packet.fields, packet.layers
    tci = fields["vlan_pcp"] << 13 | layers["dei"] << 12 | fields["vlan_vid"]
    tags = [(layers["qinq"] & 1, tci), (layers["qinq"] >> 1, layers["inner"])][: layers["tags"]]
    ip = bool(fields["l3"]) and fields["eth_type"] in (ETH_IPV4, ETH_IPV6)
    state = State(dict(fields), layers["ttl"], fields["eth_type"], tags, [], 14 + 4 * len(tags), ip)
    if fields["l3"] and fields["eth_type"] in ETH_MPLS and layers["l3"] == state.cut:
        state.labels = [Label(fields["label"], fields["ip_dscp"] & 7, fields["ip_ecn"] & 1, layers["label_ttl"])]
        state.under = layers["below"] != 0
        state.cut += 4
    return state


def ones_sum(data: bytes) -> int:
    """Sum of 16-bit words in ones' complement."""
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def l3_words(state: State) -> bytes:
    """What can be edited of an IPv4 header, at even bytes."""
    values = state.values
    head = bytes((0, values["ip_dscp"] << 2 | values["ip_ecn"], state.ttl, values["ip_proto"]))
    return head + values["src"].to_bytes(4, "big") + values["dst"].to_bytes(4, "big")


def l4_words(state: State, headers: set[str]) -> bytes:
    """What can be edited of what an L4 checksum is of, at even bytes."""
    values = state.values
    if headers & {"icmp", "icmpv6"}:
        data = bytes((values["l4_src"], values["l4_dst"]))
    else:
        data = values["l4_src"].to_bytes(2, "big") + values["l4_dst"].to_bytes(2, "big")
    if "icmp" in headers:
        return data
    destination = 0 if "routed" in headers else values["dst"]
    data += bytes((0, values["ip_proto"])) + values["src"].to_bytes(16, "big") + destination.to_bytes(16, "big")
    return data + values["target"].to_bytes(16, "big") + values["link"].to_bytes(6, "big")


class Over(Exception):
    """The packet has ended."""


@dataclass
class Surroundings:
    """What the block knows beside the packet."""

    memory: dict[int, Values]
    groups: dict[int, int]
    enabled: int
    live: int
    quiet: int
    meter: Callable[[int], tuple[bool, int]]  # of a number: drops, raises


class Run:
    """A packet's programs, run. `copies` are those that go somewhere."""

    def __init__(self, packet: Arrival, around: Surroundings, flow_hash: int) -> None:
        self.packet, self.around, self.hash = packet, around, flow_hash
        self.headers = packet.headers()
        self.before, self.state = arrived(packet), arrived(packet)
        self.saved: State | None = None
        self.kept: dict[tuple[Act, int], tuple[Values, int]] = {}
        self.keeping = True
        self.origin = self.custom = self.words = 0
        self.copies: list[dict[str, Any]] = []
        self.meters: list[tuple[int, int]] = []
        self.counts: list[tuple[int, int]] = []
        try:
            for start in [packet.first, *packet.programs]:
                if start:
                    self.origin = start
                    self.program(start, 0)
            self.action_set()
        except Over:
            pass

    def program(self, at: int, level: int) -> None:
        """A program from a word on, to its end."""
        while True:
            this = self.around.memory[at]
            following = at + 1
            if this["keep"]:
                self.keep(this)
                self.count_word()
            elif this["op"] in (Act.GROUP, Act.JUMP, Act.SELECT, Act.UNLESS_LIVE):
                self.out(this)
                self.count_word()
                value = this["value"]
                match this["op"]:
                    case Act.GROUP:
                        self.group(this, level)
                    case Act.JUMP:
                        at = value & 0xFFFF
                        continue
                    case Act.SELECT:
                        at = following + (self.hash * (value & 0xFFFF) >> 16)
                        continue
                    case Act.UNLESS_LIVE:
                        port = value >> 16 & 0xFFFF
                        if not 1 <= port <= 64 or not self.around.live >> (port - 1) & 1:
                            at = value & 0xFFFF
                            continue
            else:
                self.action(this)
                self.count_word()
            if this["last"]:
                return
            at = following

    def count_word(self) -> None:
        """A word is done."""
        self.words += 1
        if self.words == WORDS_MAX:
            raise Over

    def group(self, this: Values, level: int) -> None:
        """What a group does; one that a program's last word calls stands for the rest of the program."""
        start = self.around.groups.get(this["value"] & 0xFFFF, 0)
        if start and (this["last"] or level < LEVELS):
            self.program(start, level + (0 if this["last"] else 1))

    def keep(self, this: Values) -> None:
        """A word for the action set."""
        op = Act.OUTPUT if this["op"] == Act.CONTROLLER else this["op"]
        number = this["field"] if op == Act.SET_FIELD else 0
        if op in ONCE and number < 40 and self.keeping:
            self.kept[Act(op), number] = (this, self.origin)

    def action_set(self) -> None:
        """What was kept, in its order."""
        self.keeping = False
        if any(op == Act.GROUP for op, _ in self.kept):
            self.kept.pop((Act.OUTPUT, 0), None)
        for key in sorted(self.kept, key=lambda key: (ONCE.index(key[0]), key[1])):
            this, self.origin = self.kept[key]
            if key[0] == Act.GROUP:
                self.out(this)
                self.count_word()
                self.group(this | {"last": 1}, 0)
            else:
                self.action(this)
                self.count_word()

    def emit(self, ports: int = 0, host: bool = False, resubmit: bool = False, **members: int) -> None:
        """A copy of the packet as it is."""
        in_port = self.packet.fields["in_port"]
        if 1 <= in_port <= 64 and self.around.quiet >> (in_port - 1) & 1:
            host = False
        ports &= self.around.enabled
        if ports or host or resubmit:
            told = {"ports": ports, "host": int(host), "resubmit": int(resubmit), "custom": self.custom}
            told |= members | {"metadata": self.packet.metadata}
            self.copies.append({"edit": self.edit(), **told, **({"origin": self.origin} if host else {})})

    def in_port_bit(self) -> int:
        """In a bitmap of ports."""
        return 1 << (self.packet.fields["in_port"] - 1) & (1 << 64) - 1 if self.packet.fields["in_port"] else 0

    def out(self, this: Values) -> None:
        """A word's `out`."""
        if this["out"]:
            self.emit(1 << this["port"] & ~self.in_port_bit())

    def expire(self) -> None:
        """A TTL has run out."""
        self.emit(host=True, max_bytes=0xFFFF, reason=2)
        raise Over

    def top_is_ip(self) -> bool:
        """Nothing is before the IP header."""
        return "ip" in self.headers and not self.state.labels

    def action(self, this: Values) -> None:
        """A word that changes the packet or makes copies of it."""
        state, value = self.state, this["value"]
        tags, labels = state.tags, state.labels
        match this["op"]:
            case Act.SET_FIELD:
                self.set_field(this["field"], value)
            case Act.PUSH_VLAN if len(tags) < 3:
                tags.insert(0, (int(value & 0xFFFF == ETH_QINQ), tags[0][1] & 0xEFFF if tags else 0))
            case Act.POP_VLAN if tags:
                tags.pop(0)
            case Act.PUSH_MPLS if len(labels) < 3:
                below = labels[0] if labels else Label(0, 0, 0, state.ttl if self.top_is_ip() else 0)
                bottom = not labels and state.eth_type not in ETH_MPLS
                labels.insert(0, Label(below.label, below.tc, int(bottom), below.ttl))
                state.eth_type = value & 0xFFFF
            case Act.POP_MPLS if labels:
                labels.pop(0)
                state.eth_type = value & 0xFFFF
            case Act.POP_MPLS if state.eth_type in ETH_MPLS and arrived(self.packet).labels and state.cut + 4 <= 252:
                state.cut += 4
                state.under = False
                state.edited.discard("ttl")
                state.eth_type = value & 0xFFFF
            case Act.SET_NW_TTL if self.top_is_ip():
                self.set_ttl(value & 0xFF)
            case Act.DEC_NW_TTL if self.top_is_ip():
                if state.ttl <= 1:
                    self.expire()
                self.set_ttl(state.ttl - 1)
            case Act.SET_MPLS_TTL if labels:
                labels[0].ttl = value & 0xFF
            case Act.DEC_MPLS_TTL if labels:
                if labels[0].ttl <= 1:
                    self.expire()
                labels[0].ttl -= 1
            case Act.COPY_TTL_OUT if labels:
                if len(labels) > 1:
                    labels[0].ttl = labels[1].ttl
                elif state.under:
                    labels[0].ttl = state.ttl
            case Act.COPY_TTL_IN if labels:
                if len(labels) > 1:
                    labels[1].ttl = labels[0].ttl
                elif state.under:
                    self.set_ttl(labels[0].ttl)
            case Act.OUTPUT:
                ports = value & (1 << 64) - 1 & ~self.in_port_bit()
                self.emit(ports | (self.in_port_bit() if value >> 64 & 1 else 0))
            case Act.CONTROLLER:
                self.emit(host=True, max_bytes=value & 0xFFFF, reason=value >> 16 & 0xFF)
            case Act.RESUBMIT:
                self.emit(resubmit=True, next=value & 15, program_at=value >> 16 & 0xFFFF)
            case Act.SAVE:
                self.saved = copy.deepcopy(state)
            case Act.RESTORE if self.saved:
                self.state = copy.deepcopy(self.saved)
            case Act.METER:
                self.meter(value & 0xFFFF)
            case Act.COUNT:
                self.counts.append((value & 0xFFFF, self.packet.bytes))
            case Act.CLEAR if self.keeping:
                self.kept.clear()
            case Act.CUSTOM:
                self.custom = value & 0xFF
        self.out(this)

    def set_ttl(self, ttl: int) -> None:
        """Of the IP header."""
        self.state.ttl = ttl
        self.state.edited.add("ttl")

    def set_field(self, number: int, value: int) -> None:
        """By the number of OXM."""
        state = self.state
        if number == 5:
            state.eth_type = value & 0xFFFF
        elif number in (6, 7) and state.tags:
            qinq, tci = state.tags[0]
            state.tags[0] = (qinq, tci & 0xF000 | value & 0xFFF if number == 6 else tci & 0x1FFF | (value & 7) << 13)
        elif number in (34, 35, 36) and state.labels:
            name, bits = {34: ("label", 20), 35: ("tc", 3), 36: ("bos", 1)}[number]
            setattr(state.labels[0], name, value & (1 << bits) - 1)
        elif number in FIELDS:
            name, bits, header = FIELDS[number]
            if header in self.headers:
                state.values[name] = value & (1 << bits) - 1
                state.edited |= {GROUPED.get(name, name)} - {""}

    def meter(self, number: int) -> None:
        """Drop, or a higher precedence of assured forwarding (RFC 2597)."""
        self.meters.append((number, self.packet.bytes))
        drops, raises = self.around.meter(number)
        if drops:
            raise Over
        dscp = self.state.values["ip_dscp"]
        classes = {8 * group + 2 * precedence for group in (1, 2, 3, 4) for precedence in (1, 2, 3)}
        if "ip" in self.headers and raises and dscp in classes:
            self.state.values["ip_dscp"] = dscp & 0b111000 | min(3, (dscp >> 1 & 3) + raises) << 1
            self.state.edited.add("tos")

    def edit(self) -> dict[str, Any]:
        """The packet as it is, as edit_t has it."""
        state = self.state
        tags = sum((qinq << 16 | tci) << 17 * i for i, (qinq, tci) in enumerate(state.tags))
        labels = sum(label.word() << 32 * i for i, label in enumerate(state.labels))
        l3 = l4 = None
        below_ipv4 = bool(arrived(self.packet).labels) and self.packet.layers["below"] == 2
        if ("ipv4" in self.headers or below_ipv4) and state.edited & {"tos", "ttl", "proto", "src", "dst"}:
            l3 = (ones_sum(l3_words(state)) - ones_sum(l3_words(self.before))) % 0xFFFF
        parts = {"l4_src", "l4_dst", "target", "link"} | (set() if "icmp" in self.headers else {"src", "dst", "proto"})
        if "sctp" in self.headers:
            ports = [each.values["l4_src"] << 16 | each.values["l4_dst"] for each in (state, self.before)]
            l4 = ports[0] ^ ports[1] or None
        if self.headers & {"tcp", "udp", "icmp", "icmpv6"} and state.edited & parts:
            after, before = (l4_words(each, self.headers) for each in (state, self.before))
            l4 = (ones_sum(after) - ones_sum(before)) % 0xFFFF
        return {
            "fields": state.values | {"metadata": 0},
            "layers": self.packet.layers,
            "l4_proto": self.packet.fields["ip_proto"],
            "ttl": state.ttl,
            "eth_type": state.eth_type,
            "tags": len(state.tags),
            "tag": tags,
            "labels": len(state.labels),
            "label": labels,
            "cut": state.cut,
            "edited": {name: int(name in state.edited) for name in EDITED.members},
            "l3_delta": l3,
            "l4_delta": l4,
        }


def told(raw: int) -> dict[str, Any]:
    """A copy_t, in the same form; deltas modulo 65535 but that of SCTP, None: none."""
    found: dict[str, Any] = dict(COPY.unpack(raw))
    edit: dict[str, Any] = dict(EDIT.unpack(found["edit"]))
    parts: dict[str, Struct] = {"fields": MATCH, "layers": LAYERS, "edited": EDITED}
    edit |= {name: struct.unpack(edit[name]) for name, struct in parts.items()}
    sctp = edit["fields"]["l4"] and edit["l4_proto"] == 132
    edit["l3_delta"] = edit["l3_delta"] % 0xFFFF if edit["l3_delta"] else None
    edit["l4_delta"] = (edit["l4_delta"] if sctp else edit["l4_delta"] % 0xFFFF) if edit["l4_delta"] else None
    return found | {"edit": edit}
