"""A packet as OpenFlow's actions see it: what it has to match, and its bytes when its headers are edited. Checksums are
kept as RFC 1624 says: one that came wrong stays wrong by as much. That of a packet which a routing header sends on is
of its final destination, not of the one that it has now (RFC 8200, 8.1). Which headers are there the parser's oracle
says."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from scapy.layers.sctp import crc32c
from switch_parser.oracle import expected

VLAN_TYPES, MPLS_TYPES = (0x8100, 0x88A8), (0x8847, 0x8848)
IPV4, ARP, IPV6 = 0x0800, 0x0806, 0x86DD
ICMP, TCP, UDP, ICMPV6, SCTP = 1, 6, 17, 58, 132
PORT_FIELDS = {TCP: (13, 14), UDP: (15, 16), SCTP: (17, 18), ICMP: (19, 20), ICMPV6: (29, 30)}
SUM_AT = {TCP: 16, UDP: 6, ICMP: 2, ICMPV6: 2}
ARP_PLACES = {21: (6, 2), 24: (8, 6), 22: (14, 4), 25: (18, 6), 23: (24, 4)}
ADDRESSES = {11: (12, 4), 12: (16, 4), 26: (8, 16), 27: (24, 16)}


class TtlError(Exception):
    """Its time to live has run out."""


def adjusted(checksum: int, old: bytes, new: bytes) -> int:
    """A checksum when 16-bit words of what it covers change: RFC 1624, equation 3."""
    total = ~checksum & 0xFFFF
    for before, after in zip(words(old), words(new), strict=True):
        total += (~before & 0xFFFF) + after
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def words(data: bytes) -> tuple[int, ...]:
    """Of 16 bits."""
    return struct.unpack(f">{len(data) // 2}H", data)


@lru_cache(10_000)  # the same bytes are read in each table, and before and behind it
def _parsed(data: bytes) -> Mapping[str, int]:
    return MappingProxyType(expected(data, 0))


@dataclass(frozen=True)
class Packet:
    """An Ethernet frame of 14 bytes at least. ``kind``: its type field or, of 802.3, length, LLC and SNAP; ``labels``:
    of MPLS, the first one first; ``body``: the bytes behind them."""

    dst: int
    src: int
    tags: tuple[tuple[int, int], ...]  # TPID, TCI
    kind: bytes
    eth_type: int
    labels: tuple[int, ...]
    body: bytes
    tunnel_id: int = 0

    @classmethod
    def read(cls, data: bytes) -> Packet:
        """Reads a frame, two tags at most."""
        at, tags = 12, []
        found = _parsed(data)
        for _ in range(found["tags"]):
            tags.append(struct.unpack_from(">HH", data, at))
            at += 4
        end = at + 2
        if found["eth_type"] != int.from_bytes(data[at:end], "big"):
            end += 8 if data[end : end + 6] == bytes.fromhex("aaaa03000000") else 0
        dst, src = (int.from_bytes(data[start : start + 6], "big") for start in (0, 6))
        packet = cls(dst, src, tuple(tags), data[at:end], found["eth_type"], (), data[end:])
        return packet._with_labels()

    def _with_labels(self) -> Packet:
        labels, body = [], self.body
        while self.eth_type in MPLS_TYPES and len(body) >= 4 and not (labels and labels[-1] >> 8 & 1):
            labels.append(int.from_bytes(body[:4], "big"))
            body = body[4:]
        return replace(self, labels=tuple(labels), body=body)

    def __bytes__(self) -> bytes:
        addresses = self.dst.to_bytes(6, "big") + self.src.to_bytes(6, "big")
        tags = b"".join(struct.pack(">HH", *tag) for tag in self.tags)
        return addresses + tags + self.kind + self._label_bytes(self.labels) + self.body

    @staticmethod
    def _label_bytes(labels: tuple[int, ...]) -> bytes:
        return b"".join(label.to_bytes(4, "big") for label in labels)

    # ------------------------------------------------------------------------------------------------- what it has

    def layers(self) -> Mapping[str, int]:
        """What the parser's oracle says of the header behind tags and labels; places are the body's."""
        if self.labels or self.eth_type < 0x600 or self.eth_type in VLAN_TYPES:
            return _parsed(bytes(12) + b"\xff\xff")
        found = _parsed(bytes(12) + self.eth_type.to_bytes(2, "big") + self.body)
        return found | {"at_l3": found["at_l3"] - 14, "at_l4": found["at_l4"] - 14}

    def fields(self) -> dict[int, int]:
        """Every match field that the packet has, by number."""
        found = {3: self.dst, 4: self.src, 5: self.eth_type, 6: 0, 38: self.tunnel_id}
        if self.tags:
            found |= {6: self.tags[0][1] & 0xFFF | 0x1000, 7: self.tags[0][1] >> 13}
        if self.labels:
            label = self.labels[0]
            return found | {34: label >> 12, 35: label >> 9 & 7, 36: label >> 8 & 1}
        layers = self.layers()
        if not layers["l3"]:
            return found
        if self.eth_type == ARP:
            names = {21: "l4_src", 22: "src", 23: "dst", 24: "link", 25: "target"}
            return found | {number: layers[name] for number, name in names.items()}
        found |= {8: layers["ip_dscp"], 9: layers["ip_ecn"], 10: layers["ip_proto"]}
        if self.eth_type == IPV4:
            found |= {11: layers["src"], 12: layers["dst"]}
        else:
            found |= {26: layers["src"], 27: layers["dst"], 28: layers["label"], 39: layers["exthdr"]}
        if layers["l4"]:
            found |= dict(zip(PORT_FIELDS[layers["ip_proto"]], (layers["l4_src"], layers["l4_dst"]), strict=True))
        if layers["nd"]:
            found[31] = layers["target"]
            if layers["link"]:
                found[32 if layers["l4_src"] == 135 else 33] = layers["link"]
        return found

    # ------------------------------------------------------------------------------------------------ tags, labels

    def push_vlan(self, tpid: int) -> Packet:
        """A tag with VID and PCP of the first one, or 0."""
        tci = self.tags[0][1] & 0xEFFF if self.tags else 0
        return replace(self, tags=((tpid, tci), *self.tags))

    def pop_vlan(self) -> Packet:
        """Without its first tag."""
        return replace(self, tags=self.tags[1:])

    def _typed(self, eth_type: int) -> Packet:
        return replace(self, eth_type=eth_type, kind=self.kind[:-2] + eth_type.to_bytes(2, "big"))

    def push_mpls(self, eth_type: int) -> Packet:
        """A label with number and TC of the first one, or 0; the TTL is that of what is below."""
        label = self.labels[0] & ~0x100 if self.labels else 0x100 | (self.ttl() or 0)
        return replace(self._typed(eth_type), labels=(label, *self.labels))

    def pop_mpls(self, eth_type: int) -> Packet:
        """Without its first label; what is behind it is of that type."""
        if not self.labels:
            return self
        body = self._label_bytes(self.labels[1:]) + self.body
        return replace(self._typed(eth_type), labels=(), body=body)._with_labels()

    # --------------------------------------------------------------------------------------------------------- TTL

    def ttl(self) -> int | None:
        """Of its IP header; None: it has none, or labels."""
        at = self._ttl_at()
        return None if at is None or self.labels else self.body[at]

    def _ttl_at(self) -> int | None:
        """Where it lies in the body. What is below labels is told by its version."""
        if self.labels:
            if not self.labels[-1] >> 8 & 1 or not self.body:
                return None
            kind = {4: IPV4, 6: IPV6}.get(self.body[0] >> 4, 0)
            return replace(self, labels=(), eth_type=kind)._ttl_at()
        return {IPV4: 8, IPV6: 7}.get(self.eth_type) if self.layers()["l3"] else None

    def set_nw_ttl(self, ttl: int) -> Packet:
        """Of its IP header."""
        at = self._ttl_at()
        return self if at is None or self.labels else self._put_ttl(at, ttl)

    def _put_ttl(self, at: int, ttl: int) -> Packet:
        return self._put(at, bytes([ttl]), header=at == 8)

    def dec_nw_ttl(self) -> Packet:
        """Raises TtlError."""
        ttl = self.ttl()
        if ttl is None:
            return self
        if ttl <= 1:
            raise TtlError
        return self.set_nw_ttl(ttl - 1)

    def set_mpls_ttl(self, ttl: int) -> Packet:
        """Of its first label."""
        return self._with_label(0, 0xFF, ttl)

    def dec_mpls_ttl(self) -> Packet:
        """Raises TtlError."""
        if not self.labels:
            return self
        if self.labels[0] & 0xFF <= 1:
            raise TtlError
        return self.set_mpls_ttl((self.labels[0] & 0xFF) - 1)

    def copy_ttl_out(self) -> Packet:
        """To the first label, from the second one or the IP header."""
        if len(self.labels) > 1:
            return self.set_mpls_ttl(self.labels[1] & 0xFF)
        at = self._ttl_at()
        return self if at is None or not self.labels else self.set_mpls_ttl(self.body[at])

    def copy_ttl_in(self) -> Packet:
        """The other way."""
        if len(self.labels) > 1:
            return self._with_label(1, 0xFF, self.labels[0] & 0xFF)
        at = self._ttl_at()
        return self if at is None or not self.labels else self._put_ttl(at, self.labels[0] & 0xFF)

    def _with_label(self, number: int, mask: int, value: int) -> Packet:
        labels = list(self.labels)
        if number < len(labels):
            labels[number] = labels[number] & ~mask | value
        return replace(self, labels=tuple(labels))

    # ------------------------------------------------------------------------------------------------------ fields

    def set_field(self, number: int, value: int) -> Packet:
        """One that the packet does not have stays away."""
        if number not in self.fields():
            return self
        if number in (3, 4):
            return replace(self, dst=value) if number == 3 else replace(self, src=value)
        if number == 38:
            return replace(self, tunnel_id=value)
        if number == 5:
            return replace(
                self._typed(value), labels=(), body=self._label_bytes(self.labels) + self.body
            )._with_labels()
        if number in (6, 7):
            return self._with_tci(*((0xFFF, value & 0xFFF) if number == 6 else (0xE000, value << 13)))
        if number in (34, 35, 36):
            shift, bits = {34: (12, 20), 35: (9, 3), 36: (8, 1)}[number]
            return self._with_label(0, (1 << bits) - 1 << shift, value << shift)
        if self.eth_type == ARP:
            at, size = ARP_PLACES[number]
            return self._put(at, value.to_bytes(size, "big"))
        return self._set_ip(number, value)

    def _with_tci(self, mask: int, bits: int) -> Packet:
        if not self.tags:
            return self
        (tpid, tci), *rest = self.tags
        return replace(self, tags=((tpid, tci & ~mask | bits), *rest))

    def _set_ip(self, number: int, value: int) -> Packet:
        layers = self.layers()
        v4, at = self.eth_type == IPV4, layers["at_l4"]
        if number in (8, 9):
            mask, bits = (0xFC, value << 2) if number == 8 else (0x03, value)
            shift = 0 if v4 else 4
            word = int.from_bytes(self.body[:2], "big") & ~(mask << shift) | bits << shift
            return self._put(0, word.to_bytes(2, "big"), header=v4)
        if number == 10:
            return self._put(9 if v4 else 6, bytes([value]), header=v4, transport=True)
        if number == 28:
            word = int.from_bytes(self.body[:4], "big") & ~0xFFFFF | value
            return self._put(0, word.to_bytes(4, "big"))
        if number in ADDRESSES:
            place, size = ADDRESSES[number]
            covered = layers["ip_proto"] != ICMP and not (number == 27 and layers["routed"])
            return self._put(place, value.to_bytes(size, "big"), header=v4, transport=covered)
        if number == 31:
            return self._put(at + 8, value.to_bytes(16, "big"), transport=True)
        if number in (32, 33):
            first = self.body[at + 24] == (1 if number == 32 else 2)
            return self._put(at + (26 if first else 34), value.to_bytes(6, "big"), transport=True)
        size = 1 if number in (19, 20, 29, 30) else 2
        second = number in (14, 16, 18, 20, 30)
        return self._put(at + size * second, value.to_bytes(size, "big"), transport=True)

    def _put(self, at: int, new: bytes, *, header: bool = False, transport: bool = False) -> Packet:
        """Bytes of the body, with IPv4's checksum and that of TCP, UDP, ICMP, ICMPv6 or SCTP."""
        start, end = at & ~1, at + len(new) + 1 & ~1
        body = bytearray(self.body)
        body[at : at + len(new)] = new
        old, changed = self.body[start:end], bytes(body[start:end])
        if header:
            struct.pack_into(">H", body, 10, adjusted(*struct.unpack_from(">H", body, 10), old, changed))
        layers = self.layers() if transport else {}
        if layers.get("l4") and layers["ip_proto"] == SCTP and at >= layers["at_l4"]:
            _sum_sctp(body, self.body, layers["at_l4"], 4 * (body[0] & 15) if self.eth_type == IPV4 else 40)
        elif layers.get("l4") and layers["ip_proto"] in SUM_AT:
            place = layers["at_l4"] + SUM_AT[layers["ip_proto"]]
            (before,) = struct.unpack_from(">H", body, place)
            after = adjusted(before, old, changed)
            if layers["ip_proto"] == UDP:
                after = (after or 0xFFFF) if before else 0
            struct.pack_into(">H", body, place, after)
        return replace(self, body=bytes(body))


def _sum_sctp(body: bytearray, old: bytes, at: int, header: int) -> None:
    """Its CRC is linear: what has changed is added."""
    end = int.from_bytes(old[2:4], "big") if header != 40 else 40 + int.from_bytes(old[4:6], "big")
    crcs = [crc32c(data[at : at + 8] + bytes(4) + data[at + 12 : end]) for data in (bytes(body), old)]
    (before,) = struct.unpack_from(">I", body, at + 8)
    struct.pack_into(">I", body, at + 8, before ^ crcs[0] ^ crcs[1])
