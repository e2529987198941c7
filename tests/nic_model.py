"""What a NIC does with frames, from its documentation: who gets a copy, and by which queue pair."""

from __future__ import annotations

import ipaddress
import random
from dataclasses import dataclass, field
from typing import NamedTuple

TCP, UDP = 6, 17
ENTRIES = 64  # of an indirection table
BROADCAST = b"\xff" * 6
TAGS = (b"\x81\x00", b"\x88\xa8", b"\x91\x00")


class Made(NamedTuple):
    """A frame, and what is hashed of it."""

    data: bytes
    hashed: bytes


class Copy(NamedTuple):
    """Of a frame: to an Ethernet port, or to a queue pair of a function."""

    port: int | None
    function: int | None = None
    pair: int | None = None


@dataclass
class Function:
    """As software sets it."""

    mac: bytes
    vlan: int = 0
    uplink: int = 0
    promiscuous: bool = False
    enabled: bool = True
    pairs: list[int] = field(default_factory=lambda: [0] * ENTRIES)


def toeplitz(data: bytes, key: bytes) -> int:
    """The hash of receive side scaling, by its definition: bit by bit."""
    window = int.from_bytes(key, "big")
    places = 8 * len(key) - 32
    result = 0
    for i, bit in enumerate(f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}" if data else ""):
        if bit == "1":
            result ^= window >> places - i & 0xFFFF_FFFF
    return result


@dataclass
class NicModel:
    """``functions`` by number; the table of stations has the MAC of each in its VLAN, at its port."""

    functions: dict[int, Function]
    key: bytes

    def copies(self, made: Made, port: int | None = None, function: int | None = None) -> list[Copy]:
        """Of a frame that came from an Ethernet port or from a function."""
        data = made.data
        if len(data) < 14:
            return []
        if function is not None:
            sender = self.functions[function]
            if not sender.enabled:
                return []
            port = sender.uplink
        assert port is not None
        vlan = int.from_bytes(data[14:16], "big") & 0xFFF if data[12:14] in TAGS and len(data) >= 16 else 0
        group = bool(data[0] & 1)
        there = {
            number: one
            for number, one in self.functions.items()
            if one.enabled and one.uplink == port and number != function
        }
        known = [
            number
            for number, one in self.functions.items()
            if (one.mac, one.vlan, one.uplink) == (data[:6], vlan, port)
        ]
        if group:
            wanted = [number for number, one in there.items() if one.promiscuous or one.vlan == vlan]
        elif known:
            wanted = [number for number in known if number in there]
        elif function is None:
            wanted = [number for number, one in there.items() if one.promiscuous]
        else:
            wanted = []
        entry = toeplitz(made.hashed, self.key) % ENTRIES
        result = [Copy(None, number, self.functions[number].pairs[entry]) for number in sorted(wanted)]
        if function is not None and (group or not known):
            result.append(Copy(port))
        return result


def ip_frame(
    mac: bytes, vlan: int, source: str, destination: str, ports: tuple[int, int] | None, size: int = 0
) -> Made:
    """An IPv4 or IPv6 frame, of UDP with ports, of another protocol without."""
    ends = [ipaddress.ip_address(address) for address in (source, destination)]
    inner = b"".join(port.to_bytes(2, "big") for port in ports or ())
    addresses = ends[0].packed + ends[1].packed
    protocol = random.choice((TCP, UDP)) if ports else 1
    if ends[0].version == 4:
        head = bytes([0x45, 0]) + (20 + len(inner) + size).to_bytes(2, "big") + bytes(4) + bytes([64, protocol, 0, 0])
        kind = b"\x08\x00"
    else:
        head = b"\x60\0\0\0" + (len(inner) + size).to_bytes(2, "big") + bytes([protocol, 64])
        kind = b"\x86\xdd"
    return Made(head_of(mac, vlan) + kind + head + addresses + inner + random.randbytes(size), addresses + inner)


def plain_frame(mac: bytes, vlan: int, size: int) -> Made:
    """A frame of no IP, ``size`` bytes without its tag, 14 at least."""
    return Made(head_of(mac, vlan) + b"\x88\xb5" + random.randbytes(size - 14), b"")


def head_of(mac: bytes, vlan: int) -> bytes:
    """Addresses and, in a VLAN, its tag, in some frames with another one's behind it."""
    vlans = [vlan, *random.sample(range(1 << 12), random.randrange(2))] if vlan else []
    tags = [random.choice(TAGS) + (one | random.randrange(8) << 13).to_bytes(2, "big") for one in vlans]
    return mac + bytes([2]) + random.randbytes(5) + b"".join(tags)


def random_frame(macs: list[bytes], vlans: list[int], longest: int, shortest: int = 14) -> Made:
    """For one of these MACs or for a group, in one of these VLANs; so many bytes, without a tag."""
    mac = random.choice([*macs, BROADCAST, b"\x01\x00\x5e" + random.randbytes(3), b"\x06" + random.randbytes(5)])
    vlan = random.choice(vlans)
    if random.random() < 0.3:
        return plain_frame(mac, vlan, random.choice((shortest, 60, random.randint(shortest, longest - 4))))
    six = random.random() < 0.5
    ends = [str(ipaddress.ip_address(random.randbytes(16 if six else 4))) for _ in range(2)]
    ports = (random.getrandbits(16), random.getrandbits(16)) if random.random() < 0.7 else None
    return ip_frame(mac, vlan, ends[0], ends[1], ports, random.randint(max(0, shortest - 34), longest - 66))
