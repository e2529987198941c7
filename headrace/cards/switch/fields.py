"""The match fields of OpenFlow, by their numbers (OFPXMT_OFB_*), and where they lie in what the tables compare."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from headrace.cards.switch.flows import CONTROLLER, Match, RefusedError
from headrace.cards.switch.layout import MATCH

BAD_MATCH, BAD_FIELD = 4, 6

IN_PORT, IN_PHY_PORT, METADATA = 0, 1, 2
ETH_TYPE, VLAN_VID, VLAN_PCP = 5, 6, 7
TUNNEL_ID = 38
VID_PRESENT = 0x1000
HOST_PORT = 255
"""The controller, as a packet's port."""


class Field(NamedTuple):
    """A field of ``bits``; in ``layout.MATCH`` it is the low bits of ``member``, and there if the bit ``needs`` is set.
    ``settable``: SET_FIELD may name it."""

    name: str
    bits: int
    member: str
    needs: str = ""
    settable: bool = True


_PORTS = ("l4_src", "l4_dst")
FIELDS = {
    IN_PORT: Field("in_port", 8, "in_port", settable=False),  # of 32 on the wire
    IN_PHY_PORT: Field("in_phy_port", 8, "in_port", settable=False),
    METADATA: Field("metadata", 64, "metadata", settable=False),
    3: Field("eth_dst", 48, "eth_dst"),
    4: Field("eth_src", 48, "eth_src"),
    ETH_TYPE: Field("eth_type", 16, "eth_type"),
    VLAN_VID: Field("vlan_vid", 13, "vlan_vid"),  # and the bit above it, vlan
    VLAN_PCP: Field("vlan_pcp", 3, "vlan_pcp"),
    8: Field("ip_dscp", 6, "ip_dscp", "l3"),
    9: Field("ip_ecn", 2, "ip_ecn", "l3"),
    10: Field("ip_proto", 8, "ip_proto", "l3"),
    11: Field("ipv4_src", 32, "src", "l3"),
    12: Field("ipv4_dst", 32, "dst", "l3"),
    13: Field("tcp_src", 16, "l4_src", "l4"),
    14: Field("tcp_dst", 16, "l4_dst", "l4"),
    15: Field("udp_src", 16, "l4_src", "l4"),
    16: Field("udp_dst", 16, "l4_dst", "l4"),
    17: Field("sctp_src", 16, "l4_src", "l4"),
    18: Field("sctp_dst", 16, "l4_dst", "l4"),
    19: Field("icmpv4_type", 8, "l4_src", "l4"),
    20: Field("icmpv4_code", 8, "l4_dst", "l4"),
    21: Field("arp_op", 16, "l4_src", "l3"),
    22: Field("arp_spa", 32, "src", "l3"),
    23: Field("arp_tpa", 32, "dst", "l3"),
    24: Field("arp_sha", 48, "link", "l3"),
    25: Field("arp_tha", 48, "target", "l3"),
    26: Field("ipv6_src", 128, "src", "l3"),
    27: Field("ipv6_dst", 128, "dst", "l3"),
    28: Field("ipv6_flabel", 20, "label", "l3"),
    29: Field("icmpv6_type", 8, "l4_src", "l4"),
    30: Field("icmpv6_code", 8, "l4_dst", "l4"),
    31: Field("ipv6_nd_target", 128, "target", "nd"),
    32: Field("ipv6_nd_sll", 48, "link", "nd"),
    33: Field("ipv6_nd_tll", 48, "link", "nd"),
    34: Field("mpls_label", 20, "label", "l3"),
    35: Field("mpls_tc", 3, "ip_dscp", "l3"),
    36: Field("mpls_bos", 1, "ip_ecn", "l3"),
    TUNNEL_ID: Field("tunnel_id", 64, "tunnel_id"),
    39: Field("ipv6_exthdr", 9, "exthdr", "l3", settable=False),
}


class Key(NamedTuple):
    """What a table compares: words of ``layout.MATCH``."""

    value: int
    mask: int


@lru_cache(maxsize=256)
def _place(number: int) -> tuple[int, int]:
    """A field's bits in ``layout.MATCH``, shifted there, and their shift."""
    member = FIELDS[number].member
    shift = MATCH.pack(**{member: 1}).bit_length() - 1
    return ((1 << FIELDS[number].bits) - 1) << shift, shift


def key_of(match: Match) -> Key | None:
    """What a match compares, None if no packet can match. A packet without a field's header does not match.
    Raises RefusedError for a field that the switch doesn't know."""
    value = mask = 0
    possible = True
    for number, wanted, care in match:
        if number not in FIELDS:
            raise RefusedError(BAD_MATCH, BAD_FIELD, f"field {number} can't be matched")
        field = FIELDS[number]
        place, shift = _place(number)
        bits = place if care is None else care << shift & place
        if not bits:
            continue
        packets_have = port_in_match(wanted) if field.member == "in_port" else wanted
        possible &= packets_have >> field.bits == 0
        found = packets_have << shift & bits
        if field.needs:
            there = MATCH.pack(**{field.needs: 1})
            bits, found = bits | there, found | there
        possible &= not (value ^ found) & mask & bits
        value, mask = value | found, mask | bits
    return Key(value, mask) if possible else None


def port_in_match(port: int) -> int:
    """A port as packets have it, from what OpenFlow calls it."""
    return HOST_PORT if port == CONTROLLER else port
