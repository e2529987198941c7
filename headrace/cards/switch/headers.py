"""The headers of a packet as the switch reads and edits them, without the card: what ``trace`` follows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headrace.cards.switch.flows import Action, ActionKind
from headrace.cards.switch.openflow.oxm import VLAN_PRESENT, F

_DEPTH = 206
"""Bytes that the switch looks at."""
_TAGS = (0x8100, 0x88A8)
_MPLS = (0x8847, 0x8848)
_IPV4, _ARP, _IPV6, _NO_TYPE = 0x0800, 0x0806, 0x86DD, 0x05FF
_SNAP = bytes.fromhex("aaaa03000000")
_ARP_IPV4 = bytes.fromhex("000108000604")
_TCP, _UDP, _SCTP, _ICMP, _ICMPV6 = 6, 17, 132, 1, 58
_PORTS = {_TCP: (13, 14), _UDP: (15, 16), _SCTP: (17, 18), _ICMP: (19, 20), _ICMPV6: (29, 30)}
_SIZES = {_TCP: 20, _UDP: 8, _SCTP: 12, _ICMP: 8, _ICMPV6: 8}
_SOURCES = {_IPV4: 11, _IPV6: 26, _ARP: 22}
"""A field by which the header of each type can be told."""
_EXTENSIONS = 6
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _ESP, _AUTH, _NO_NEXT, _OPTIONS = 0, 43, 44, 50, 51, 59, 60
_NONEXT_BIT, _ESP_BIT, _DEST_BIT, _HOP_BIT, _UNREP_BIT, _UNSEQ_BIT = 1, 2, 8, 64, 128, 256
_EXTENSION_BITS = 124
"""The IP header doesn't name the upper protocol itself."""
_BITS = {_AUTH: 4, _FRAGMENT: 16, _ROUTING: 32}
_RANKS = {_ROUTING: 2, _FRAGMENT: 3, _AUTH: 4}


class TtlError(Exception):
    """A packet's time to live has run out."""


@dataclass(frozen=True)
class Headers:
    """Of a packet. ``tags``: TPID and TCI of each, the first one first; ``labels``: of MPLS; ``body``: the bytes behind
    them, of type ``eth_type`` unless there are labels; ``upper``: the fields of these, by number, and ``ttl``."""

    eth_dst: int = 0
    eth_src: int = 0
    tags: tuple[tuple[int, int], ...] = ()
    eth_type: int = 0
    labels: tuple[int, ...] = ()
    body: bytes = b""
    upper: dict[int, int] = field(default_factory=dict)
    ttl: int | None = None
    tunnel_id: int = 0

    @classmethod
    def read(cls, data: bytes) -> Headers:
        """Of a frame."""
        data = data[:_DEPTH]
        if len(data) < 14:
            return cls()
        at = 12
        tags: list[tuple[int, int]] = []
        while _word(data, at) in _TAGS and len(tags) < 2 and len(data) >= at + 6:
            tags.append((_word(data, at), _word(data, at + 2)))
            at += 4
        kind = _word(data, at)
        at += 2
        if kind < 0x600:
            kind = _NO_TYPE
            if data[at : at + 6] == _SNAP and len(data) >= at + 8:
                kind = max(_word(data, at + 6), _NO_TYPE)
                at += 8
        dst, src = int.from_bytes(data[:6], "big"), int.from_bytes(data[6:12], "big")
        return cls(dst, src, tuple(tags), kind)._with_body(data[at:])

    def _with_body(self, body: bytes) -> Headers:
        labels: list[int] = []
        while self.eth_type in _MPLS and len(body) >= 4 and not (labels and labels[-1] & 0x100):
            labels.append(int.from_bytes(body[:4], "big"))
            body = body[4:]
        kind = {4: _IPV4, 6: _IPV6}.get(body[0] >> 4, 0) if labels and body else self.eth_type
        upper, ttl = _read_upper(kind, body)
        return replace(self, labels=tuple(labels), body=body, upper={} if labels else upper, ttl=ttl)

    def fields(self) -> dict[int, int]:
        """All match fields that the packet has, by number, but port and metadata."""
        found = {F.ETH_DST: self.eth_dst, F.ETH_SRC: self.eth_src, F.ETH_TYPE: self.eth_type, F.VLAN_VID: 0}
        found[F.TUNNEL_ID] = self.tunnel_id
        if self.tags:
            tci = self.tags[0][1]
            found |= {F.VLAN_VID: VLAN_PRESENT | tci & 0xFFF, F.VLAN_PCP: tci >> 13}
        if self.labels:
            return found | {34: self.labels[0] >> 12, 35: self.labels[0] >> 9 & 7, 36: self.labels[0] >> 8 & 1}
        return found | self.upper

    def edited(self, action: Action) -> Headers:
        """What an action makes of them that is no output and no group. Raises TtlError."""
        value = action.value
        match action.kind:
            case ActionKind.SET_FIELD:
                return self._with_field(action.number, value)
            case ActionKind.PUSH_VLAN:
                return replace(self, tags=((value, self.tags[0][1] & 0xEFFF if self.tags else 0), *self.tags))
            case ActionKind.POP_VLAN:
                return replace(self, tags=self.tags[1:])
            case ActionKind.PUSH_MPLS:
                label = self.labels[0] & ~0x100 if self.labels else 0x100 | (self.ttl or 0)
                return replace(self, eth_type=value, labels=(label, *self.labels))
            case ActionKind.POP_MPLS:
                return self._without_label(value)
            case ActionKind.SET_NW_TTL if self._is_ip():
                return replace(self, ttl=value)
            case ActionKind.DEC_NW_TTL if self._is_ip():
                return replace(self, ttl=_less(self.ttl or 0))
            case ActionKind.SET_MPLS_TTL if self.labels:
                return self._with_label_ttl(0, value)
            case ActionKind.DEC_MPLS_TTL if self.labels:
                return self._with_label_ttl(0, _less(self.labels[0] & 0xFF))
            case ActionKind.COPY_TTL_OUT if len(self.labels) > 1:
                return self._with_label_ttl(0, self.labels[1] & 0xFF)
            case ActionKind.COPY_TTL_OUT if self.labels and self.ttl is not None:
                return self._with_label_ttl(0, self.ttl)
            case ActionKind.COPY_TTL_IN if len(self.labels) > 1:
                return self._with_label_ttl(1, self.labels[0] & 0xFF)
            case ActionKind.COPY_TTL_IN if self.labels and self.ttl is not None:
                return replace(self, ttl=self.labels[0] & 0xFF)
        return self

    def _is_ip(self) -> bool:
        return not self.labels and self.ttl is not None

    def _with_label_ttl(self, number: int, ttl: int) -> Headers:
        labels = list(self.labels)
        labels[number] = labels[number] & ~0xFF | ttl
        return replace(self, labels=tuple(labels))

    def _without_label(self, kind: int) -> Headers:
        if not self.labels:
            return self
        rest, bottom = self.labels[1:], self.labels[0] & 0x100
        if rest and kind in _MPLS:
            return replace(self, eth_type=kind, labels=rest)
        if _SOURCES.get(kind) in self.upper and bottom:  # it was read before the label was pushed
            return replace(self, eth_type=kind, labels=())
        body = b"".join(label.to_bytes(4, "big") for label in rest) + self.body
        below = replace(self, eth_type=kind)._with_body(body)
        return below if below.ttl is None or self.ttl is None or rest else replace(below, ttl=self.ttl)

    def _with_field(self, number: int, value: int) -> Headers:
        if number not in self.fields() or (number == 10 and self.upper.get(39, 0) & _EXTENSION_BITS):
            return self
        match number:
            case F.TUNNEL_ID:
                return replace(self, tunnel_id=value)
            case F.ETH_DST:
                return replace(self, eth_dst=value)
            case F.ETH_SRC:
                return replace(self, eth_src=value)
            case F.ETH_TYPE:
                return replace(self, eth_type=value)._with_body(self.body)
            case F.VLAN_VID | F.VLAN_PCP:
                (tpid, tci), *rest = self.tags or ((0, 0),)
                tci = tci & 0xF000 | value & 0xFFF if number == F.VLAN_VID else tci & 0x1FFF | value << 13
                return replace(self, tags=((tpid, tci), *rest)[: len(self.tags)])
            case F.MPLS_LABEL | F.MPLS_TC | F.MPLS_BOS:
                shift, ones = {F.MPLS_LABEL: (12, 0xFFFFF), F.MPLS_TC: (9, 7), F.MPLS_BOS: (8, 1)}[F(number)]
                label = self.labels[0] & ~(ones << shift) | value << shift
                return replace(self, labels=(label, *self.labels[1:]))
        return replace(self, upper=self.upper | {number: value})


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _less(ttl: int) -> int:
    if ttl <= 1:
        raise TtlError
    return ttl - 1


def _read_upper(kind: int, body: bytes) -> tuple[dict[int, int], int | None]:
    """The fields of ARP or IP and what is in it, and a TTL."""
    if kind == _ARP and len(body) >= 28 and body[:6] == _ARP_IPV4:
        places = {21: (6, 2), 24: (8, 6), 22: (14, 4), 25: (18, 6), 23: (24, 4)}
        return {number: _number(body, *place) for number, place in places.items()}, None
    if kind == _IPV4 and len(body) >= 20:
        size, total = 4 * (body[0] & 15), _word(body, 2)
        if size < 20 or len(body) < size or total < size:
            return {}, None
        found = {8: body[1] >> 2, 9: body[1] & 3, 10: body[9], 11: _number(body, 12, 4), 12: _number(body, 16, 4)}
        if not _word(body, 6) & 0x1FFF:
            found |= _read_transport(body[9], body[size:total], ipv6=False)
        return found, body[8]
    if kind == _IPV6 and len(body) >= 40:
        traffic = _word(body, 0) >> 4 & 0xFF
        found = {8: traffic >> 2, 9: traffic & 3, 28: _number(body, 0, 4) & 0xFFFFF}
        found |= {26: _number(body, 8, 16), 27: _number(body, 24, 16)}
        return found | _read_extensions(body[6], body[40 : 40 + _word(body, 4)]), body[7]
    return {}, None


def _read_extensions(proto: int, data: bytes) -> dict[int, int]:
    """Extension headers in the order of RFC 2460: each has a rank; options for the destination have two."""
    bits = rank = options = 0
    for _ in range(_EXTENSIONS):
        new = _RANKS.get(proto, 0)
        if proto == _HOP_BY_HOP:
            bits |= (_UNREP_BIT if bits & _HOP_BIT else 0) | (_UNSEQ_BIT if bits & 0x7F else _HOP_BIT)
        elif proto == _OPTIONS:
            new = 6 if rank else 1
            bits |= _DEST_BIT | (_UNREP_BIT if options == 2 else 0)
            options = min(options + 1, 2)
        elif proto in _BITS:
            bits |= _BITS[proto] | (_UNREP_BIT if bits & _BITS[proto] else 0)
        else:
            break
        bits |= _UNSEQ_BIT if new < rank else 0
        rank = max(rank, new)
        length = data[1] if len(data) > 1 else 0
        size = {_FRAGMENT: 8, _AUTH: 4 * length + 8}.get(proto, 8 * length + 8)
        if size > len(data) or (proto == _FRAGMENT and _word(data, 2) >> 3):
            return {10: proto, 39: bits}
        proto, data = data[0], data[size:]
    bits |= _NONEXT_BIT if proto == _NO_NEXT else 0
    if proto == _ESP:
        bits |= _ESP_BIT | (_UNSEQ_BIT if rank == 6 else 0)
    return {10: proto, 39: bits} | _read_transport(proto, data, ipv6=True)


def _read_transport(proto: int, data: bytes, ipv6: bool) -> dict[int, int]:
    if proto not in _SIZES or len(data) < _SIZES[proto] or proto == (_ICMP if ipv6 else _ICMPV6):
        return {10: proto}
    if proto not in (_ICMP, _ICMPV6):
        return {10: proto} | dict(zip(_PORTS[proto], (_word(data, 0), _word(data, 2)), strict=True))
    found = {10: proto} | dict(zip(_PORTS[proto], data[:2], strict=True))
    if ipv6 and data[0] in (135, 136) and data[1] == 0 and len(data) >= 24:
        found[31] = _number(data, 8, 16)
        number, wanted = (32, b"\1\1") if data[0] == 135 else (33, b"\2\1")
        places = (24, 32) if data[25:26] == b"\1" else (24,)
        for at in places:
            if data[at : at + 2] == wanted and len(data) >= at + 8:
                found[number] = _number(data, at + 2, 6)
                break
    return found
