"""Edits of packets: what scapy makes of them, and the copy that tells the editor the same."""

import random
from dataclasses import dataclass, field
from ipaddress import ip_address

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP, TCP, UDP, in4_chksum
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6, in6_chksum
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.layers.sctp import SCTP, crc32c
from scapy.packet import Packet
from scapy.utils import checksum
from switch_parser import packets
from switch_parser.oracle import LAYERS as PARSED_LAYERS
from switch_parser.oracle import MATCH as PARSED_MATCH
from switch_parser.oracle import expected as parsed
from switch_parser.oracle import mac

from headrace.cards.switch.layout import COPY, EDIT, EDITED, LAYERS, MATCH, SENT, Struct

NAMES = {"at_l3": "l3", "at_l4": "l4", "at_link": "link"}  # of the parser's oracle, and of layers_t
CHECKSUM_AT = {6: 16, 17: 6, 1: 2, 58: 2}  # in the L4 header, by ip_proto
TAG = Struct(qinq=1, tci=16)


def fold(total: int) -> int:
    """The sum of 16-bit words in ones' complement, of their sum."""
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def difference(new: bytes, old: bytes) -> int:
    """What the words that changed add to a sum in ones' complement."""
    pairs = [(int.from_bytes(new[i : i + 2]), int.from_bytes(old[i : i + 2])) for i in range(0, len(old), 2)]
    return fold(sum(one + (other ^ 0xFFFF) for one, other in pairs if one != other))


@dataclass
class Plan:
    """A packet, and what is to become of it in a copy: `data` is the result, but for checksums."""

    packet: bytes
    port: int
    narrow: bool = False  # seen by a narrow parser
    dst: str = ""
    src: str = ""
    tags: list[Packet] = field(default_factory=list)
    kind: int = 0
    labels: list[Packet] = field(default_factory=list)
    cut: int = 14
    edited: set[str] = field(default_factory=set)
    fields: dict[str, int] = field(default_factory=dict)
    l3: bytes = b""  # the headers as they become
    l4: bytes = b""
    ttl: int = 0
    l3_delta: int = 0
    l4_delta: int = 0

    def __post_init__(self) -> None:
        self.seen = parsed(self.packet, self.port, narrow=self.narrow)
        self.fields = {name: self.seen[name] for name, _ in PARSED_MATCH}
        self.fields["tunnel_id"] = random.getrandbits(64)
        self.ttl = self.seen["ttl"]
        self.kind = self.seen["eth_type"]
        self.cut = 14 + 4 * self.seen["tags"]
        whole = Ether(self.packet) if len(self.packet) >= 14 else Ether(dst="0:0:0:0:0:0", src="0:0:0:0:0:0")
        self.dst, self.src = whole.dst, whole.src
        at = 12
        for _ in range(self.seen["tags"]):
            name = Dot1AD if self.packet[at : at + 2] == b"\x88\xa8" else Dot1Q
            tag = Dot1Q(self.packet[at + 2 : at + 6])
            self.tags.append(name(vlan=tag.vlan, prio=tag.prio, dei=tag.dei))
            at += 4
        if self.mpls:
            self.labels.append(MPLS(self.packet[self.cut : self.cut + 4]))
            self.cut += 4
        elif self.seen["l3"] and self.kind in (0x800, 0x806, 0x86DD):
            end = self.seen["at_l4"] or self.at + {0x800: 4 * (self.packet[self.at] & 15), 0x86DD: 40}.get(
                self.kind, 28
            )
            self.l3 = self.packet[self.at : end]
            self.l4 = self.packet[end:]

    @property
    def at(self) -> int:
        """Byte that the L3 header begins at."""
        return self.seen["at_l3"]

    @property
    def mpls(self) -> bool:
        """It came with a label, where actions expect one."""
        return self.seen["eth_type"] in (0x8847, 0x8848) and self.at == 14 + 4 * self.seen["tags"]

    # ---------------------------------------------------------------------------------------------------------- edits
    def addresses(self) -> None:
        """Others of Ethernet."""
        if random.getrandbits(1):
            self.dst = packets.mac()
        if random.getrandbits(1):
            self.src = packets.mac()

    def push_tag(self) -> None:
        """Another tag before those that are there."""
        if len(self.tags) < 3:
            tag = random.choice((Dot1Q, Dot1AD))
            self.tags.insert(0, tag(vlan=random.getrandbits(12), prio=random.getrandbits(3), dei=random.getrandbits(1)))

    def pop_tag(self) -> None:
        """No first tag."""
        del self.tags[:1]

    def push_label(self) -> None:
        """Another label before those that are there; not before LLC."""
        if len(self.labels) < 3 and self.at in (0, 14 + 4 * self.seen["tags"]) and self.kind != 0x5FF:
            self.kind = random.choice((0x8847, 0x8848))
            values = {"label": random.getrandbits(20), "cos": random.getrandbits(3), "ttl": random.getrandbits(8)}
            self.labels.insert(0, MPLS(s=int(not self.labels), **values))

    def pop_label(self) -> None:
        """No first label; those behind those that are known may go, too."""
        if self.labels:
            del self.labels[0]
            self.kind = random.choice((0x0800, 0x86DD, 0x8847, 0x88CC))
            more = 4 * random.randrange(8)
            if not self.labels and self.mpls and self.cut + more <= len(self.packet):
                self.cut += more
                if more:  # the TTL below is gone
                    self.edited.discard("ttl")
                    self.l3_delta = 0

    def set_label(self) -> None:
        """Other values of the first label."""
        if self.labels:
            self.labels[0].label, self.labels[0].ttl = random.getrandbits(20), random.getrandbits(8)

    def set_ttl_below(self) -> None:
        """Another TTL of what is below the label that came."""
        if self.mpls and self.seen["below"] and self.cut == self.at + 4:
            old = self.packet[self.cut :]
            self.ttl = random.getrandbits(8)
            self.edited.add("ttl")
            self.l3_delta = difference(self.below(), old[:20]) if self.seen["below"] == 2 else 0

    def below(self) -> bytes:
        """The 20 bytes below the label that came, but for the checksum."""
        place = {1: 3, 2: 8, 3: 7}[self.seen["below"]]
        new = bytearray(self.packet[self.at + 4 :][:20])
        new[place] = self.ttl
        return bytes(new)

    def set_l3(self) -> None:
        """Other values of the L3 header's fields."""
        if self.l3 and self.fields["eth_type"] == 0x806:
            self._arp()
        elif self.l3:
            self._ip()

    def _ip(self) -> None:
        wanted = {name for name in ("tos", "ttl", "src", "dst", "label", "proto") if random.getrandbits(1)}
        old = self.l3
        if self.fields["eth_type"] == 0x800:
            wanted.discard("label")
            head: Packet = IP(old)
            names = {"tos": "tos", "ttl": "ttl", "src": "src", "dst": "dst", "proto": "proto"}
            address = packets.ipv4
        else:
            head = IPv6(old[:40])
            names = {"tos": "tc", "ttl": "hlim", "src": "src", "dst": "dst", "proto": "nh", "label": "fl"}
            address = packets.ipv6
            if len(old) > 40:
                wanted.discard("proto")
        head.remove_payload()
        head.clear_cache()
        if bytes(head) != old[: len(bytes(head))]:
            return  # with options that scapy makes something else of
        values: dict[str, int | str] = {
            "tos": random.getrandbits(8),
            "ttl": random.getrandbits(8),
            "proto": random.choice((2, 47, 89)),
            "src": address(),
            "dst": address(),
            "label": random.getrandbits(20),
        }
        for name in wanted:
            setattr(head, names[name], values[name])
        made = bytes(head)
        self.l3 = made + old[len(made) :]
        self.edited |= wanted
        for name in wanted & {"src", "dst"}:
            self.fields[name] = int(ip_address(str(values[name])))
        if "tos" in wanted:
            self.fields["ip_dscp"], self.fields["ip_ecn"] = int(values["tos"]) >> 2, int(values["tos"]) & 3
        if "label" in wanted:
            self.fields["label"] = int(values["label"])
        if "proto" in wanted:
            self.fields["ip_proto"] = int(values["proto"])
        if "ttl" in wanted:
            self.ttl = int(values["ttl"])
        self.l3_delta = fold(self.l3_delta + difference(self.l3, old)) if self.fields["eth_type"] == 0x800 else 0
        if self.seen["at_l4"] and self.seen["ip_proto"] not in (1, 132):
            self.l4_delta = fold(self.l4_delta + difference(self._pseudo(self.l3), self._pseudo(old)))

    def _pseudo(self, l3: bytes) -> bytes:
        if self.fields["eth_type"] == 0x86DD:
            return l3[8:40] + bytes((0, l3[6] if len(l3) == 40 else 0))
        return l3[12:20] + bytes((0, l3[9]))

    def _arp(self) -> None:
        arp = ARP(self.l3)
        if random.getrandbits(1):
            arp.op = self.fields["l4_src"] = packets.port()
            self.edited.add("l4_src")
        for name, member in {"src": "psrc", "dst": "pdst"}.items():
            if random.getrandbits(1):
                address = packets.ipv4()
                setattr(arp, member, address)
                self.fields[name] = int(ip_address(address))
                self.edited.add(name)
        for name, member in {"link": "hwsrc", "target": "hwdst"}.items():
            if random.getrandbits(1):
                address = packets.mac()
                setattr(arp, member, address)
                self.fields[name] = mac(address)
                self.edited.add(name)
        self.l3 = bytes(arp)

    def set_l4(self) -> None:
        """Other values of the L4 header's fields."""
        if not self.seen["at_l4"]:
            return
        old, proto = self.l4, self.seen["ip_proto"]
        new = bytearray(old)
        one, other = packets.port(), packets.port()
        if proto in (1, 58):
            one, other = one & 0xFF, other & 0xFF
            pair = (one.to_bytes(1), other.to_bytes(1))
        else:
            head = {6: TCP, 17: UDP, 132: SCTP}[proto](sport=one, dport=other)
            pair = (bytes(head)[:2], bytes(head)[2:4])
        if random.getrandbits(1):
            new[: len(pair[0])] = pair[0]
            self.fields["l4_src"] = one
            self.edited.add("l4_src")
        if random.getrandbits(1):
            new[len(pair[0]) : 2 * len(pair[0])] = pair[1]
            self.fields["l4_dst"] = other
            self.edited.add("l4_dst")
        if self.fields["nd"]:
            solicits = self.seen["l4_src"] == 135
            if random.getrandbits(1):
                address = packets.ipv6()
                new[8:24] = bytes((ICMPv6ND_NS if solicits else ICMPv6ND_NA)(tgt=address))[8:24]
                self.fields["target"] = int(ip_address(address))
                self.edited.add("target")
            if self.seen["at_link"] and random.getrandbits(1):
                address, at = packets.mac(), self.seen["at_link"] - self.seen["at_l4"]
                option = ICMPv6NDOptSrcLLAddr if solicits else ICMPv6NDOptDstLLAddr
                new[at - 2 : at + 6] = bytes(option(lladdr=address))
                self.fields["link"] = mac(address)
                self.edited.add("link")
        self.l4 = bytes(new)
        if proto == 132:
            self.l4_delta ^= int.from_bytes(new[:4]) ^ int.from_bytes(old[:4])
        else:
            self.l4_delta = fold(self.l4_delta + difference(self.l4, old))

    # ------------------------------------------------------------------------------------------------------ the result
    def front(self) -> bytes:
        """What comes before the bytes from `cut` on."""
        front: Packet = Ether(dst=self.dst, src=self.src, type=self.kind)
        kind = self.kind
        if self.kind == self.seen["eth_type"] and not self.labels and len(self.packet) >= 14:
            kind = int.from_bytes(self.packet[12 + 4 * self.seen["tags"] :][:2])  # or the length of an 802.3 frame
        types = [*(0x88A8 if isinstance(tag, Dot1AD) else 0x8100 for tag in self.tags), kind]
        front.type = types[0]
        for tag, following in zip(self.tags, types[1:], strict=True):
            front /= type(tag)(vlan=tag.vlan, prio=tag.prio, dei=tag.dei, type=following)
        return bytes(front) + b"".join(bytes(label) for label in self.labels)

    def expected(self) -> bytes:
        """The copy's bytes, whose checksums are as far from right as they were."""
        if len(self.packet) < 14:
            return self.packet
        front = self.front()
        if self.mpls and "ttl" in self.edited:
            old, new = self.packet[self.cut :][:20], bytearray(self.below())
            if self.seen["below"] == 2:
                new[10:12] = moved(old[10:12], of_header(old), of_header(bytes(new)))
            return front + bytes(new) + self.packet[self.cut + 20 :]
        if not self.l3:
            return front + self.packet[self.cut :]
        before = self.packet[self.cut : self.at]  # LLC and SNAP
        l3, l4 = bytearray(self.l3), bytearray(self.l4)
        if self.fields["eth_type"] == 0x800:
            old = self.packet[self.at :][: len(l3)]
            l3[10:12] = moved(old[10:12], of_header(old), of_header(bytes(l3)))
        if self.seen["at_l4"] and (place := CHECKSUM_AT.get(self.seen["ip_proto"])):
            found = self.packet[self.seen["at_l4"] :]
            old_sum = self.of_l4(self.packet[self.at : self.seen["at_l4"]], found, place)
            new_sum = self.of_l4(bytes(l3), bytes(l4), place)
            result = moved(found[place : place + 2], old_sum, new_sum)
            if self.seen["ip_proto"] == 17:
                result = bytes(2) if not any(found[place : place + 2]) else result if any(result) else b"\xff\xff"
            l4[place : place + 2] = result
        if self.seen["at_l4"] and self.seen["ip_proto"] == 132 and self.seen["l4_bytes"]:
            old, new = (self.crc(bytes(data)) for data in (self.packet[self.seen["at_l4"] :], l4))
            l4[8:12] = (int.from_bytes(l4[8:12]) ^ old ^ new).to_bytes(4)
        return front + before + bytes(l3) + bytes(l4)

    def of_l4(self, l3: bytes, l4: bytes, place: int) -> int:
        """Scapy's checksum of what lies behind an IP header."""
        bare = l4[:place] + bytes(2) + l4[place + 2 :]
        if self.seen["ip_proto"] == 1:
            return checksum(bare)
        if self.fields["eth_type"] == 0x86DD:
            return in6_chksum(l3[6] if len(l3) == 40 else self.seen["ip_proto"], IPv6(l3[:40]), bare)
        head = IP(l3)
        head.len = None
        return in4_chksum(l3[9], head, bare)

    def crc(self, l4: bytes) -> int:
        """Scapy's checksum of SCTP; what is cut off counts as zeros."""
        whole = l4[:8] + bytes(4) + l4[12:]
        size = self.seen["l4_bytes"]
        return int(crc32c(whole[:size].ljust(size, b"\0")))

    def copy(self, **members: int) -> int:
        """The word that says it all to the editor."""
        tags = sum(
            TAG.pack(qinq=int(isinstance(tag, Dot1AD)), tci=int.from_bytes(bytes(tag)[:2])) << 17 * i
            for i, tag in enumerate(self.tags)
        )
        edit = EDIT.pack(
            fields=MATCH.pack(**self.fields | {"eth_dst": mac(self.dst), "eth_src": mac(self.src)}),
            l4_proto=self.seen["ip_proto"],
            layers=LAYERS.pack(**{NAMES.get(name, name): self.seen[name] for name, _ in PARSED_LAYERS}),
            ttl=self.ttl,
            eth_type=self.kind,
            tags=len(self.tags),
            tag=tags,
            labels=len(self.labels),
            label=sum(int.from_bytes(bytes(label)) << 32 * i for i, label in enumerate(self.labels)),
            cut=self.cut,
            edited=EDITED.pack(**dict.fromkeys(self.edited, 1)),
            l3_delta=self.l3_delta,
            l4_delta=self.l4_delta,
        )
        return COPY.pack(edit=edit, **members)

    def payload_at(self) -> int:
        """Byte of the copy that the payload of UDP begins at, or 0."""
        if not self.seen["at_l4"] or self.seen["ip_proto"] != 17:
            return 0
        return len(self.front()) + self.seen["at_l4"] + 8 - self.cut

    def sent(self, **members: int) -> int:
        """What goes with the copy."""
        same = {name: value for name, value in members.items() if name in SENT.members}
        return SENT.pack(in_port=self.port, tunnel_id=self.fields["tunnel_id"], payload_at=self.payload_at(), **same)


def of_header(head: bytes) -> int:
    """Scapy's checksum of an IPv4 header."""
    return checksum(head[:10] + bytes(2) + head[12:])


def moved(found: bytes, old: int, new: int) -> bytes:
    """A checksum after a change of what is right: as wrong as before."""
    told = int.from_bytes(found)
    if new == old:
        return found
    return (0xFFFF ^ fold((0xFFFF ^ told) + (0xFFFF ^ new) + old)).to_bytes(2)


EDITS = (
    *(Plan.addresses, Plan.push_tag, Plan.pop_tag, Plan.push_label, Plan.pop_label, Plan.set_label),
    *(Plan.set_ttl_below, Plan.set_l3, Plan.set_l3, Plan.set_l4, Plan.set_l4),
)


def random_plan(packet: bytes, port: int, *, narrow: bool = False) -> Plan:
    """Some edits of a packet, or none."""
    plan = Plan(packet, port, narrow)
    if len(packet) >= 14:
        for edit in random.choices(EDITS, k=random.randrange(5)):
            edit(plan)
    return plan
