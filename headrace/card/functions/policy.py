"""What a virtual function may send and is to receive, in the words of ``ip link set DEV vf N``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.errors import HeadraceError

MOST_RATE = 1_000_000
_MOST_VLAN = 4094  # 4095 is reserved (IEEE 802.1Q, table 9-2)
_MOST_QOS = 7
_FRACTION = 1 << 19  # of a ns, in the register of a byte's time
_BYTE_NS = 8000  # at 1 Mbit/s
_GROUP = 1 << 40
_NO_MAC = "00:00:00:00:00:00"
_SWITCHES = {"on": True, "off": False}
_STATES = ("auto", "enable", "disable")
_CUSTOMER, _SERVICE = "802.1Q", "802.1ad"
_TAGS = {kind.lower(): kind for kind in (_CUSTOMER, _SERVICE)}


class PolicyDrops(NamedTuple):
    """Frames dropped: sent from another MAC address, or with a tag where there is a port VLAN; received of another VLAN
    than that, or for another station."""

    spoofed: int
    tagged: int
    filtered_vlan: int
    filtered_mac: int


@dataclass(frozen=True)
class Policy:
    """``mac``: the function's own; None: it has none, and receives frames to any station. ``vlan``: its port VLAN: its
    frames bear that tag, of priority ``qos`` and of ``proto``, 802.1Q or 802.1ad, outside of it; 0: none. ``rate`` of
    what it sends in Mbit/s; 0: no limit. ``spoofcheck``: it sends from its own MAC address only. ``trust``: it receives
    frames to any station. ``link_state``: its link is up while somebody drives it (``auto``), always (``enable``), or
    never (``disable``)."""

    mac: str | None = None
    vlan: int = 0
    qos: int = 0
    proto: str = _CUSTOMER
    rate: int = 0
    spoofcheck: bool = False
    trust: bool = False
    link_state: str = "auto"

    def check(self) -> None:
        """Raises HeadraceError for what can't be."""
        if self.mac is not None:
            parse_mac(self.mac)
        _within("vlan", self.vlan, _MOST_VLAN)
        _within("qos", self.qos, _MOST_QOS)
        _within("rate", self.rate, MOST_RATE)
        if self.proto not in _TAGS.values():
            raise HeadraceError(f"proto {self.proto}: neither {_CUSTOMER} nor {_SERVICE}", 2)
        if self.link_state not in _STATES:
            raise HeadraceError(f"state {self.link_state}: not auto, enable or disable", 2)
        for word, value, usual in (("qos", self.qos, 0), ("proto", self.proto, _CUSTOMER)):
            if value != usual and not self.vlan:
                raise HeadraceError(f"{word} {value}: there is no port VLAN to whose tag it could belong", 2)
        if self.spoofcheck and self.mac is None:
            raise HeadraceError("spoofcheck on: the function needs a MAC address, by mac ADDR", 2)

    @property
    def down(self) -> bool:
        """Whether its link is never up."""
        return self.link_state == "disable"

    @property
    def words(self) -> tuple[int, int, int]:
        """The registers ``mac`` and ``rules`` (``regs/host.rdl``)."""
        number = 0 if self.mac is None else parse_mac(self.mac)
        mac = int.from_bytes(number.to_bytes(6, "big"), "little")
        rules = self.vlan | self.qos << 16 | self.spoofcheck << 24 | self.trust << 25
        rules |= (self.proto == _SERVICE) << 26
        return mac & 0xFFFF_FFFF, mac >> 32, rules

    @property
    def byte_time(self) -> int:
        """The register of that name."""
        return (_BYTE_NS * _FRACTION + self.rate // 2) // self.rate if self.rate else 0


def parse_mac(text: str) -> int:
    """A station's MAC address as a number. Raises HeadraceError for what is none, or is a group's."""
    if not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", text):
        raise HeadraceError(f"mac {text}: not six bytes in hexadecimal digits, as in 02:00:00:00:00:01", 2)
    mac = int(text.replace(":", ""), 16)
    if not mac:
        raise HeadraceError(f"mac {text}: nobody's address", 2)
    if mac & _GROUP:
        raise HeadraceError(f"mac {text}: the address of a group, not of a station", 2)
    return mac


def parse_settings(words: Sequence[str]) -> dict[str, Any]:
    """What the words of a command line set of a policy, such as ``mac 02:00:00:00:00:01 vlan 7 qos 3 spoofcheck on``.
    Raises HeadraceError for words that aren't any."""
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name = _NAMES.get(word)
        if name is None:
            raise HeadraceError(f"{word}: none of mac, vlan, rate, state, spoofcheck, trust", 2)
        if not rest:
            raise HeadraceError(f"{word}: its value is missing", 2)
        if name in found:
            raise HeadraceError(f"{word}: is given twice", 2)
        value = rest.pop(0)
        if name in _REFUSED:
            usual, reason = _REFUSED[name]
            if value != usual:
                raise HeadraceError(f"{word} {value}: operation not supported: {reason}", 2)
            found[name] = value
        elif name == "mac":
            found["mac"] = None if value == _NO_MAC else value.lower()
        elif name in ("spoofcheck", "trust"):
            if value not in _SWITCHES:
                raise HeadraceError(f"{word} {value}: neither on nor off", 2)
            found[name] = _SWITCHES[value]
        elif name == "link_state":
            found[name] = value
        else:
            found[name] = _number(word, value)
            if name == "vlan":
                found |= _tag(rest)
    if not found:
        raise HeadraceError(
            "nothing to set: mac ADDR, vlan ID [qos Q] [proto P], rate MBIT, state S, spoofcheck or trust on|off", 2
        )
    return {name: value for name, value in found.items() if name not in _REFUSED}


def _tag(rest: list[str]) -> dict[str, Any]:
    """What words behind a VLAN's number say of its tag; takes them from ``rest``."""
    found: dict[str, Any] = {}
    while rest and rest[0] in ("qos", "proto") and rest[0] not in found:
        word = rest.pop(0)
        if not rest:
            raise HeadraceError(f"{word}: its value is missing", 2)
        value = rest.pop(0)
        found[word] = _number(word, value) if word == "qos" else _TAGS.get(value.lower(), value)
    return {"qos": 0, "proto": _CUSTOMER} | found


_REFUSED = {  # what ip link has beside; of each the value that changes nothing, and why there is no other
    "min_tx_rate": ("0", "the card keeps no bandwidth for a function"),
    "query_rss": ("off", "drivers can't set how the card spreads packets over queues, so that there is nothing to ask"),
    "node_guid": ("", "the card is Ethernet, not InfiniBand"),
    "port_guid": ("", "the card is Ethernet, not InfiniBand"),
}
_NAMES = {name: name for name in ("mac", "vlan", "rate", "spoofcheck", "trust", *_REFUSED)}
_NAMES |= {"max_tx_rate": "rate", "spoofchk": "spoofcheck", "state": "link_state"}  # as ip link has them


def _number(word: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or len(value) > 9:
        raise HeadraceError(f"{word} {value}: not a number", 2)
    return int(value)


def _within(name: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise HeadraceError(f"{name} {value}: not 0 to {most}", 2)
