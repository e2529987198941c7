"""os-ken's tests of OpenFlow 1.3 switches, read from the JSON files in its package.

A test is a list of messages for the switch, a packet that comes in at port 1, and what becomes of it. See
``os_ken/tests/switch/tester.py`` for the format; packets are written there as Python expressions of os-ken's own packet
library, with ``randint`` where each packet of a load differs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netaddr
import os_ken
from os_ken.lib.packet import arp, ethernet, icmp, icmpv6, ipv4, ipv6, mpls, pbb, sctp, tcp, udp, vlan
from os_ken.ofproto import ofproto_parser

from headrace.evaluate.conformance.openflow import datapath

KINDS = ("match", "action", "group", "meter")


class _Sctp(sctp.sctp):  # type: ignore[misc]
    """With the checksum of RFC 9260: os-ken's is that of the bytes' text."""

    @classmethod
    def _checksum(cls, data: bytes) -> int:
        crc = 0xFFFF_FFFF
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (0x82F6_3B78 if crc & 1 else 0)
        return int.from_bytes((crc ^ 0xFFFF_FFFF).to_bytes(4, "little"), "big")


_NAMES = {
    name: getattr(module, name)
    for module, names in (
        (arp, "arp"),
        (ethernet, "ethernet"),
        (icmp, "icmp echo dest_unreach"),
        (icmpv6, "icmpv6 nd_neighbor nd_option_sla nd_option_tla"),
        (ipv4, "ipv4"),
        (ipv6, "ipv6 hop_opts auth"),
        (mpls, "mpls"),
        (pbb, "itag"),
        (sctp, "chunk_data"),
        (tcp, "tcp"),
        (udp, "udp"),
        (vlan, "vlan svlan"),
    )
    for name in names.split()
} | {"icmpv6echo": icmpv6.echo, "sctp": _Sctp, "netaddr": netaddr, "bytes": bytes, "__builtins__": {}}


@dataclass(frozen=True)
class Packet:
    """A packet as the file writes it, layer by layer."""

    layers: tuple[str, ...]

    @property
    def varies(self) -> bool:
        """Whether each packet of a load is another."""
        return any("randint" in layer for layer in self.layers)

    def frame(self, chance: random.Random) -> bytes:
        """The frame, without FCS."""
        packet = eval("/".join(self.layers), {**_NAMES, "randint": chance.randint})
        packet.serialize()
        return bytes(packet.data)


@dataclass(frozen=True)
class Egress:
    """The packet comes out of port 2 as this one."""

    packet: Packet


@dataclass(frozen=True)
class PacketIn:
    """The packet goes to the controller as this one, and not for want of a flow."""

    packet: Packet


@dataclass(frozen=True)
class TableMiss:
    """At least one of these tables looks the packet up, and none of them that does has a flow for it."""

    tables: tuple[int, ...]


@dataclass(frozen=True)
class Rate:
    """Frames of a port, all or those of one EtherType and DSCP: in kbit/s, of 1,024 bits as os-ken counts, or in
    packets/s."""

    port: int
    eth_type: int | None
    ip_dscp: int | None
    kbps: float | None
    pktps: float | None


@dataclass(frozen=True)
class Throughput:
    """As the packet comes in ``pktps`` times a second for ``seconds``, these rates come out."""

    pktps: float
    seconds: float
    rates: tuple[Rate, ...]


@dataclass(frozen=True)
class Case:
    """A test: what the switch is told, the packet, what must come of it."""

    kind: str
    file: str
    description: str
    prerequisite: tuple[Any, ...]
    ingress: Packet
    expected: Egress | PacketIn | TableMiss | Throughput

    @property
    def needs_pbb(self) -> bool:
        """Whether a packet or an action of it is of provider backbone bridges (IEEE 802.1ah)."""
        return any(word in repr(self) for word in ("itag(", "Pbb", "pbb_isid"))

    def messages(self) -> list[Any]:
        """What the switch is told, as new messages of os-ken."""
        return [ofproto_parser.ofp_msg_from_jsondict(datapath, message) for message in self.prerequisite]


def load(kinds: tuple[str, ...] = KINDS) -> list[Case]:
    """The tests of these kinds, all that the installed os-ken carries."""
    root = Path(os_ken.__file__).parent / "tests/switch/of13"
    return [
        case for kind in kinds for path in sorted((root / kind).rglob("*.json")) for case in _read(root, kind, path)
    ]


def _read(root: Path, kind: str, path: Path) -> Iterator[Case]:
    file = path.relative_to(root).with_suffix("").as_posix()
    for entry in json.loads(path.read_text()):
        if isinstance(entry, str):
            continue  # the file's title
        for test in entry["tests"]:
            ingress, expected = _expected(test)
            yield Case(kind, file, entry["description"], tuple(entry["prerequisite"]), ingress, expected)


def _expected(test: dict[str, Any]) -> tuple[Packet, Egress | PacketIn | TableMiss | Throughput]:
    ingress = test["ingress"]
    if isinstance(ingress, dict):
        load = ingress["packets"]
        rates = tuple(map(_rate, test["egress"]["throughput"]))
        return Packet(tuple(load["data"])), Throughput(load["pktps"], load["duration_time"], rates)
    packet = Packet(tuple(ingress))
    if "egress" in test:
        return packet, Egress(Packet(tuple(test["egress"])))
    if "PACKET_IN" in test:
        return packet, PacketIn(Packet(tuple(test["PACKET_IN"])))
    return packet, TableMiss(tuple(test["table-miss"]))


def _rate(entry: dict[str, Any]) -> Rate:
    fields = {tlv["OXMTlv"]["field"]: tlv["OXMTlv"]["value"] for tlv in entry["OFPMatch"]["oxm_fields"]}
    return Rate(
        fields.pop("in_port"),
        fields.pop("eth_type", None),
        fields.pop("ip_dscp", None),
        entry.get("kbps"),
        entry.get("pktps"),
    )
