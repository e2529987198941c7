"""Match fields on the wire: OXM, section 7.2.3 of OpenFlow 1.3.5."""

from __future__ import annotations

import struct
from collections.abc import Container, Iterable
from enum import IntEnum
from typing import NamedTuple

from headrace.cards.switch.flows import Match, Oxm
from headrace.cards.switch.openflow.errors import BadAction, BadMatch, DecodeError

BASIC = 0x8000  # OFPXMC_OPENFLOW_BASIC
VLAN_PRESENT = 0x1000
_IPV4, _ARP, _IPV6, _MPLS = 0x0800, 0x0806, 0x86DD, (0x8847, 0x8848)
_MATCH_OXM = 1
_HEADER = struct.Struct("!I")
_LENGTHS = struct.Struct("!HH")


class F(IntEnum):
    """OFPXMT_OFB_*"""

    IN_PORT = 0
    IN_PHY_PORT = 1
    METADATA = 2
    ETH_DST = 3
    ETH_SRC = 4
    ETH_TYPE = 5
    VLAN_VID = 6
    VLAN_PCP = 7
    IP_DSCP = 8
    IP_ECN = 9
    IP_PROTO = 10
    IPV4_SRC = 11
    IPV4_DST = 12
    TCP_SRC = 13
    TCP_DST = 14
    UDP_SRC = 15
    UDP_DST = 16
    SCTP_SRC = 17
    SCTP_DST = 18
    ICMPV4_TYPE = 19
    ICMPV4_CODE = 20
    ARP_OP = 21
    ARP_SPA = 22
    ARP_TPA = 23
    ARP_SHA = 24
    ARP_THA = 25
    IPV6_SRC = 26
    IPV6_DST = 27
    IPV6_FLABEL = 28
    ICMPV6_TYPE = 29
    ICMPV6_CODE = 30
    IPV6_ND_TARGET = 31
    IPV6_ND_SLL = 32
    IPV6_ND_TLL = 33
    MPLS_LABEL = 34
    MPLS_TC = 35
    MPLS_BOS = 36
    TUNNEL_ID = 38
    IPV6_EXTHDR = 39


class Field(NamedTuple):
    """A match field: its width in bits, whether it may have a mask, and what must be matched before it: one of these
    values of another field."""

    bits: int
    maskable: bool = False
    needs: tuple[F, Container[int]] | None = None

    @property
    def bytes(self) -> int:
        """On the wire, without a mask."""
        return (self.bits + 7) // 8 if self.bits != 20 else 4

    @property
    def ones(self) -> int:
        """All bits of it."""
        return (1 << self.bits) - 1


def _ip(*protocols: int) -> tuple[F, Container[int]]:
    return F.IP_PROTO, protocols


_ANY_IP = (F.ETH_TYPE, (_IPV4, _IPV6))
_OF_IPV4 = (F.ETH_TYPE, (_IPV4,))
_OF_ARP = (F.ETH_TYPE, (_ARP,))
_OF_IPV6 = (F.ETH_TYPE, (_IPV6,))
_OF_MPLS = (F.ETH_TYPE, _MPLS)

FIELDS: dict[F, Field] = {
    F.IN_PORT: Field(32),
    F.IN_PHY_PORT: Field(32, needs=(F.IN_PORT, range(1 << 32))),
    F.METADATA: Field(64, True),
    F.ETH_DST: Field(48, True),
    F.ETH_SRC: Field(48, True),
    F.ETH_TYPE: Field(16),
    F.VLAN_VID: Field(13, True),
    F.VLAN_PCP: Field(3, needs=(F.VLAN_VID, range(VLAN_PRESENT, 2 * VLAN_PRESENT))),
    F.IP_DSCP: Field(6, needs=_ANY_IP),
    F.IP_ECN: Field(2, needs=_ANY_IP),
    F.IP_PROTO: Field(8, needs=_ANY_IP),
    F.IPV4_SRC: Field(32, True, _OF_IPV4),
    F.IPV4_DST: Field(32, True, _OF_IPV4),
    # Masks of ports are more than the specification asks for; Open vSwitch has them, for ranges.
    F.TCP_SRC: Field(16, True, _ip(6)),
    F.TCP_DST: Field(16, True, _ip(6)),
    F.UDP_SRC: Field(16, True, _ip(17)),
    F.UDP_DST: Field(16, True, _ip(17)),
    F.SCTP_SRC: Field(16, True, _ip(132)),
    F.SCTP_DST: Field(16, True, _ip(132)),
    F.ICMPV4_TYPE: Field(8, needs=_ip(1)),
    F.ICMPV4_CODE: Field(8, needs=_ip(1)),
    F.ARP_OP: Field(16, needs=_OF_ARP),
    F.ARP_SPA: Field(32, True, _OF_ARP),
    F.ARP_TPA: Field(32, True, _OF_ARP),
    F.ARP_SHA: Field(48, True, _OF_ARP),
    F.ARP_THA: Field(48, True, _OF_ARP),
    F.IPV6_SRC: Field(128, True, _OF_IPV6),
    F.IPV6_DST: Field(128, True, _OF_IPV6),
    F.IPV6_FLABEL: Field(20, True, _OF_IPV6),
    F.ICMPV6_TYPE: Field(8, needs=_ip(58)),
    F.ICMPV6_CODE: Field(8, needs=_ip(58)),
    F.IPV6_ND_TARGET: Field(128, True, (F.ICMPV6_TYPE, (135, 136))),
    F.IPV6_ND_SLL: Field(48, needs=(F.ICMPV6_TYPE, (135,))),
    F.IPV6_ND_TLL: Field(48, needs=(F.ICMPV6_TYPE, (136,))),
    F.MPLS_LABEL: Field(20, needs=_OF_MPLS),
    F.MPLS_TC: Field(3, needs=_OF_MPLS),
    F.MPLS_BOS: Field(1, needs=_OF_MPLS),
    F.TUNNEL_ID: Field(64, True),
    F.IPV6_EXTHDR: Field(9, True, _OF_IPV6),
}
"""All of OpenFlow 1.3 but PBB_ISID."""

UNSETTABLE = frozenset((F.IN_PORT, F.IN_PHY_PORT, F.METADATA, F.IPV6_EXTHDR))


class _Known(NamedTuple):
    number: int
    bytes: int
    masked: bool
    ones: int
    needs: tuple[F, Container[int]] | None


def header(number: int, masked: bool = False) -> int:
    """The 32 bits that a field begins with."""
    size = FIELDS[F(number)].bytes
    return BASIC << 16 | number << 9 | masked << 8 | size << masked


_KNOWN: dict[int, _Known] = {
    header(number, masked): _Known(int(number), field.bytes, masked, field.ones, field.needs)
    for number, field in FIELDS.items()
    for masked in (False, True)[: 1 + field.maskable]
}


def decode_match(data: bytes, at: int) -> tuple[Match, int]:
    """A match, its fields in the order of their numbers, with masks only where bits are left out; and where it ends,
    with its padding. Raises DecodeError."""
    if len(data) < at + 4:
        raise DecodeError(BadMatch.BAD_LEN, "no match")
    kind, length = _LENGTHS.unpack_from(data, at)
    if kind != _MATCH_OXM:
        raise DecodeError(BadMatch.BAD_TYPE, f"match of type {kind}")
    end = at + length
    padded = at + (length + 7) // 8 * 8
    if length < 4 or padded > len(data):
        raise DecodeError(BadMatch.BAD_LEN, f"match of {length} bytes")
    at += 4
    values: dict[int, int] = {}
    match: list[Oxm] = []
    while at < end:
        if at + 4 > end:
            raise DecodeError(BadMatch.BAD_LEN, "a field ends early")
        (word,) = _HEADER.unpack_from(data, at)
        known = _KNOWN.get(word)
        if known is None:
            raise _unknown(word)
        number, size, masked, ones, needs = known
        at += 4
        if at + (size << masked) > end:
            raise DecodeError(BadMatch.BAD_LEN, f"field {number} ends early")
        value = int.from_bytes(data[at : at + size], "big")
        at += size
        mask = ones
        if masked:
            mask = int.from_bytes(data[at : at + size], "big")
            at += size
            if mask > ones:
                raise DecodeError(BadMatch.BAD_MASK, f"field {number} has no such bits")
            if value & ~mask:
                raise DecodeError(BadMatch.BAD_WILDCARDS, f"field {number} has bits outside of its mask")
        if value > ones:
            raise DecodeError(BadMatch.BAD_VALUE, f"field {number} is {value}")
        if number in values:
            raise DecodeError(BadMatch.DUP_FIELD, f"field {number} twice")
        if needs is not None and values.get(needs[0], -1) not in needs[1]:
            raise DecodeError(BadMatch.BAD_PREREQ, f"field {number} without field {needs[0]}")
        values[number] = value
        if mask:
            match.append(Oxm(number, value, None if mask == ones else mask))
    match.sort()
    return tuple(match), padded


def _unknown(word: int) -> DecodeError:
    kind, number, masked = word >> 16, word >> 9 & 0x7F, word >> 8 & 1
    if kind != BASIC or number not in FIELDS:
        return DecodeError(BadMatch.BAD_FIELD, f"field {number} of class {kind:#x}")
    if masked and not FIELDS[F(number)].maskable:
        return DecodeError(BadMatch.BAD_MASK, f"field {number} has no mask")
    return DecodeError(BadMatch.BAD_LEN, f"field {number} of {word & 0xFF} bytes")


def decode_field_to_set(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Number and value of the field of a SET_FIELD action, which must end at ``end`` with its padding. Raises
    DecodeError."""
    (word,) = _HEADER.unpack_from(data, at)
    known = _KNOWN.get(word)
    if known is None or known.masked or known.number in UNSETTABLE:
        plain = word >> 16 == BASIC and word >> 9 & 0x7F in FIELDS and not word & 0x100 and known is None
        code = BadAction.BAD_SET_LEN if plain else BadAction.BAD_SET_TYPE
        raise DecodeError(code, f"set-field with header {word:#010x}")
    at += 4
    if not 0 <= end - at - known.bytes < 8:
        raise DecodeError(BadAction.BAD_LEN, "set-field's length is not its field's")
    value = int.from_bytes(data[at : at + known.bytes], "big")
    if value > known.ones:
        raise DecodeError(BadAction.BAD_SET_ARGUMENT, f"set-field of field {known.number} to {value}")
    return known.number, value


def encode(oxm: Oxm) -> bytes:
    """One field."""
    number, value, mask = oxm
    size = FIELDS[F(number)].bytes
    word = _HEADER.pack(header(number, mask is not None))
    return word + value.to_bytes(size, "big") + (b"" if mask is None else mask.to_bytes(size, "big"))


def encode_match(match: Iterable[Oxm]) -> bytes:
    """A match with its padding."""
    fields = b"".join(map(encode, match))
    length = 4 + len(fields)
    return _LENGTHS.pack(_MATCH_OXM, length) + fields + bytes(-length % 8)
