"""Where the match fields of OpenFlow lie in what the tables compare."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from headrace.cards.switch.flows import CONTROLLER, Match
from headrace.cards.switch.layout import MATCH
from headrace.cards.switch.openflow.errors import BadMatch, refused
from headrace.cards.switch.openflow.oxm import FIELDS, F

HOST_PORT = 255
"""The controller, as a packet's port."""


class Place(NamedTuple):
    """A field is the low bits of ``member``, and there if the bit ``needs`` is set."""

    member: str
    needs: str = ""


PLACES: dict[int, Place] = {
    F.IN_PORT: Place("in_port"),
    F.IN_PHY_PORT: Place("in_port"),
    F.METADATA: Place("metadata"),
    F.ETH_DST: Place("eth_dst"),
    F.ETH_SRC: Place("eth_src"),
    F.ETH_TYPE: Place("eth_type"),
    F.VLAN_VID: Place("vlan_vid"),  # and the bit above it, vlan
    F.VLAN_PCP: Place("vlan_pcp"),
    F.IP_DSCP: Place("ip_dscp", "l3"),
    F.IP_ECN: Place("ip_ecn", "l3"),
    F.IP_PROTO: Place("ip_proto", "l3"),
    F.IPV4_SRC: Place("src", "l3"),
    F.IPV4_DST: Place("dst", "l3"),
    F.TCP_SRC: Place("l4_src", "l4"),
    F.TCP_DST: Place("l4_dst", "l4"),
    F.UDP_SRC: Place("l4_src", "l4"),
    F.UDP_DST: Place("l4_dst", "l4"),
    F.SCTP_SRC: Place("l4_src", "l4"),
    F.SCTP_DST: Place("l4_dst", "l4"),
    F.ICMPV4_TYPE: Place("l4_src", "l4"),
    F.ICMPV4_CODE: Place("l4_dst", "l4"),
    F.ARP_OP: Place("l4_src", "l3"),
    F.ARP_SPA: Place("src", "l3"),
    F.ARP_TPA: Place("dst", "l3"),
    F.ARP_SHA: Place("link", "l3"),
    F.ARP_THA: Place("target", "l3"),
    F.IPV6_SRC: Place("src", "l3"),
    F.IPV6_DST: Place("dst", "l3"),
    F.IPV6_FLABEL: Place("label", "l3"),
    F.ICMPV6_TYPE: Place("l4_src", "l4"),
    F.ICMPV6_CODE: Place("l4_dst", "l4"),
    F.IPV6_ND_TARGET: Place("target", "nd"),
    F.IPV6_ND_SLL: Place("link", "nd"),
    F.IPV6_ND_TLL: Place("link", "nd"),
    F.MPLS_LABEL: Place("label", "l3"),
    F.MPLS_TC: Place("ip_dscp", "l3"),
    F.MPLS_BOS: Place("ip_ecn", "l3"),
    F.TUNNEL_ID: Place("tunnel_id"),
    F.IPV6_EXTHDR: Place("exthdr", "l3"),
}

NARROW_FIELDS = frozenset(range(F.ICMPV4_CODE + 1)) - {F.METADATA}
"""Those of ``narrow_match_t``; of IP only IPv4's."""


class Key(NamedTuple):
    """What a table compares: words of ``layout.MATCH``."""

    value: int
    mask: int


@lru_cache(maxsize=256)
def _place(number: int) -> tuple[int, int, int]:
    """A field's bits in ``layout.MATCH``, shifted there, their shift, and the bit that says that it is there."""
    member, needs = PLACES[number]
    bits = MATCH.width_of(member) if member == "in_port" else FIELDS[F(number)].bits
    shift = MATCH.pack(**{member: 1}).bit_length() - 1
    return (1 << bits) - 1 << shift, shift, MATCH.pack(**{needs: 1}) if needs else 0


def key_of(match: Match) -> Key | None:
    """What a match compares, None if no packet can match. A packet without a field's header does not match.
    Raises RefusedError for a field that the switch doesn't know."""
    value = mask = 0
    possible = True
    for number, wanted, care in match:
        if number not in PLACES:
            raise refused(BadMatch.BAD_FIELD, f"field {number} can't be matched")
        place, shift, there = _place(number)
        bits = place if care is None else care << shift & place
        if not bits:
            continue
        packets_have = port_in_match(wanted) if PLACES[number].member == "in_port" else wanted
        possible &= not packets_have << shift & ~place
        found = packets_have << shift & bits | there
        bits |= there
        possible &= not (value ^ found) & mask & bits
        value, mask = value | found, mask | bits
    return Key(value, mask) if possible else None


def port_in_match(port: int) -> int:
    """A port as packets have it, from what OpenFlow calls it."""
    return HOST_PORT if port == CONTROLLER else port
