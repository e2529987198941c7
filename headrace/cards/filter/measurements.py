"""Measurements: programs whose return value picks one of the card's 1,024 counters, and the names of those counters.

A measurement is an ordinary filter program in the slot that counts instead of capturing. The table at the end holds the
ready ones, in the language of `headrace.net.assembler`. `find` also takes a program of the user's own, or a
filter expression, which counts what doesn't match and what does.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.assembler import assemble

COUNTERS = 1024
OUT_OF_RANGE = COUNTERS  # the key for packets whose program returned more than the last counter's number

# Leaves the EtherType in A and the length of up to two VLAN tags in X: headers stand at [x + their usual place].
_UNTAG = """
            ldx #0
            ldh [12]
            jeq #0x8100, tag1
            jeq #0x88a8, tag1, type
    tag1:   ldx #4
            ldh [16]
            jeq #0x8100, tag2
            jeq #0x88a8, tag2, type
    tag2:   ldx #8
            ldh [20]
    type:
"""

# Goes to `first` with X so that the transport header of a packet of protocol P stands at [x + 14], and to `other`
# for every other packet and for later fragments.
_TRANSPORT = (
    _UNTAG
    + """
            jeq #0x800, ipv4
            jeq #0x86dd, ipv6, other
    ipv4:   ldb [x + 23]
            jne #P, other
            ldh [x + 20]
            jset #0x1fff, other
            stx M[0]
            ldb [x + 14]
            and #0xf
            lsh #2
            ldx M[0]
            add x
            tax
            ja first
    ipv6:   ldb [x + 20]
            jne #P, other
            txa
            add #40
            tax
    first:
"""
)


def _port_program(protocol: int, offset: int) -> str:
    return (
        _TRANSPORT.replace("#P", f"#{protocol}")
        + f"""
            ldh [x + {offset}]
            jge #1023, many
            ret a
    many:   ret #1023
    other:  ret #0
"""
    )


_ETHERTYPES = (
    (0x0800, "IPv4"),
    (0x86DD, "IPv6"),
    (0x0806, "ARP"),
    (0x8100, "VLAN (802.1Q)"),
    (0x88A8, "VLAN (802.1ad)"),
    (0x8847, "MPLS"),
    (0x8863, "PPPoE discovery"),
    (0x8864, "PPPoE session"),
    (0x88CC, "LLDP"),
    (0x888E, "802.1X"),
    (0x88E5, "MACsec"),
    (0x8808, "flow control"),
    (0x88F7, "PTP"),
    (0x8035, "RARP"),
)
_LENGTH_FIELD, _OTHER_TYPE = len(_ETHERTYPES) + 1, len(_ETHERTYPES) + 2


def _ethertype_program() -> str:
    tests = "".join(f"jeq #{number}, t{index}\n" for index, (number, _) in enumerate(_ETHERTYPES, start=1))
    returns = "".join(f"t{index}: ret #{index}\n" for index in range(1, len(_ETHERTYPES) + 1))
    return f"ldh [12]\n{tests} jle #1500, llc\n ret #{_OTHER_TYPE}\n llc: ret #{_LENGTH_FIELD}\n{returns}"


_PROTOCOLS = {
    0: "HOPOPT",
    1: "ICMP",
    2: "IGMP",
    4: "IPv4",
    6: "TCP",
    17: "UDP",
    41: "IPv6",
    43: "IPv6 routing",
    44: "IPv6 fragment",
    46: "RSVP",
    47: "GRE",
    50: "ESP",
    51: "AH",
    58: "ICMPv6",
    59: "IPv6 no next header",
    60: "IPv6 options",
    88: "EIGRP",
    89: "OSPF",
    103: "PIM",
    112: "VRRP",
    115: "L2TP",
    132: "SCTP",
    136: "UDP-Lite",
    256: "not IP",
}
_TCP_FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
_DSCP = {0: "best effort", 8: "CS1", 16: "CS2", 24: "CS3", 32: "CS4", 40: "CS5", 46: "EF", 48: "CS6", 56: "CS7"}
_DSCP |= {8 * c + 2 * d: f"AF{c}{d}" for c in range(1, 5) for d in range(1, 4)} | {64: "not IP"}


def _protocol_label(counter: int) -> str:
    return _PROTOCOLS.get(counter, f"protocol {counter}")


def _port_label(protocol: str) -> Callable[[int], str]:
    def label(counter: int) -> str:
        if counter == 0:
            return f"not {protocol.upper()}, or a later fragment"
        if counter == 1023:
            return "1023 and above"
        try:
            return f"{counter} {socket.getservbyport(counter, protocol)}"
        except OSError:
            return str(counter)

    return label


def _size_label(counter: int) -> str:
    return f"{counter * 16}-{counter * 16 + 15} bytes" if counter < COUNTERS - 1 else f"{counter * 16} bytes and more"


def _ethertype_label(counter: int) -> str:
    others = {0: "cut short", _LENGTH_FIELD: "802.3 length (LLC)", _OTHER_TYPE: "other"}
    return others[counter] if counter in others else _ETHERTYPES[counter - 1][1]


def _vlan_label(counter: int) -> str:
    return {0: "untagged", 1023: "VLAN 1023 and above"}.get(counter, f"VLAN {counter}")


def _dscp_label(counter: int) -> str:
    return _DSCP.get(counter, f"DSCP {counter}")


def _ttl_label(counter: int) -> str:
    return f"TTL {counter}" if counter < 256 else "not IP"


def _flags_label(counter: int) -> str:
    if counter == 256:
        return "not TCP, or a later fragment"
    return " ".join(name for bit, name in enumerate(_TCP_FLAGS) if counter >> bit & 1) or "no flags"


def _match_label(counter: int) -> str:
    return "match" if counter else "no match"


@dataclass(frozen=True)
class Measurement:
    """A program that returns a counter's number (0 to 1,023), and ``label``, which names a counter for a person."""

    name: str
    program: bpf.Filter
    help: str = ""
    label: Callable[[int], str] = str

    def describe(self, counter: int) -> str:
        """The name of a counter, `OUT_OF_RANGE` included."""
        return "out of range" if counter >= OUT_OF_RANGE else self.label(counter)


@dataclass(frozen=True)
class _Ready:
    help: str
    text: str
    label: Callable[[int], str]
    linktype: int | None = bpf.DLT_EN10MB  # that the program is for; None: any


READY: dict[str, _Ready] = {
    "ip-proto": _Ready(
        "IP protocol (IPv6: the first next header)",
        _UNTAG
        + """
            jeq #0x800, ipv4
            jeq #0x86dd, ipv6
            ret #256
    ipv4:   ldb [x + 23]
            ret a
    ipv6:   ldb [x + 20]
            ret a
""",
        _protocol_label,
    ),
    "tcp-dport": _Ready("TCP destination port, up to 1022", _port_program(6, 16), _port_label("tcp")),
    "tcp-sport": _Ready("TCP source port, up to 1022", _port_program(6, 14), _port_label("tcp")),
    "udp-dport": _Ready("UDP destination port, up to 1022", _port_program(17, 16), _port_label("udp")),
    "udp-sport": _Ready("UDP source port, up to 1022", _port_program(17, 14), _port_label("udp")),
    "size": _Ready(
        "length on the wire without FCS, in steps of 16 bytes",
        """
            ld len
            rsh #4
            jge #1023, last
            ret a
    last:   ret #1023
""",
        _size_label,
        linktype=None,
    ),
    "ethertype": _Ready("what the frame says it carries", _ethertype_program(), _ethertype_label),
    "vlan-id": _Ready(
        "VLAN of the outer tag, up to 1022",
        """
            ldh [12]
            jeq #0x8100, tag
            jeq #0x88a8, tag
            ret #0
    tag:    ldh [14]
            and #0xfff
            jge #1023, last
            ret a
    last:   ret #1023
""",
        _vlan_label,
    ),
    "dscp": _Ready(
        "differentiated services code point",
        _UNTAG
        + """
            jeq #0x800, ipv4
            jeq #0x86dd, ipv6
            ret #64
    ipv4:   ldb [x + 15]
            rsh #2
            ret a
    ipv6:   ldh [x + 14]
            rsh #6
            and #0x3f
            ret a
""",
        _dscp_label,
    ),
    "ttl": _Ready(
        "time to live or hop limit",
        _UNTAG
        + """
            jeq #0x800, ipv4
            jeq #0x86dd, ipv6
            ret #256
    ipv4:   ldb [x + 22]
            ret a
    ipv6:   ldb [x + 21]
            ret a
""",
        _ttl_label,
    ),
    "tcp-flags": _Ready(
        "TCP flags",
        _TRANSPORT.replace("#P", "#6")
        + """
            ldb [x + 27]
            ret a
    other:  ret #256
""",
        _flags_label,
    ),
}


def find(text: str) -> Measurement:
    """The measurement that a user asks for.

    ``text`` is the name of a ready one, ``@FILE`` or the path of a file with a program (what ``tcpdump -ddd`` or
    ``-dd`` prints, or assembler), or else a filter expression: its matches go to counter 1, the rest to counter 0.
    The ready ones are for Ethernet, ``size`` is for any link type.
    Raises FilterError, or HeadraceError where the file can't be read.
    """
    if text in READY:
        ready = READY[text]
        program = replace(assemble(ready.text, text), linktype=ready.linktype)
        return Measurement(text, program, ready.help, ready.label)
    if text.startswith("@"):
        return Measurement(text[1:], _load(text[1:]))
    if re.search(r"[./]", text) and Path(text).is_file():
        return Measurement(text, _load(text))
    return Measurement(text or "every packet", bpf.Expression(text, snaplen=1), "", _match_label)


def _load(path: str) -> bpf.Program:
    try:
        text = Path(path).read_text(errors="replace")
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    return bpf.parse_program(text, path) or assemble(text, path)
