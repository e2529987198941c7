"""What custom actions make of a packet: integers for the filter, zlib for the CRC, scapy for checksums."""

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from scapy.layers.inet import IP, UDP, IPOption_RR
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, PadN
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw

FIR, CRC = 1, 2
ONE = 1 << 30  # of a coefficient


@dataclass(frozen=True)
class Sent:
    """A packet and what is to be done with it."""

    data: bytes
    custom: int
    payload_at: int  # 0: there is no payload


class Filter:
    """y[n] = h[0] x[n] + ... + h[3] x[n-3], rounded and saturated."""

    def __init__(self, coefficients: Sequence[int], *, carry: bool) -> None:
        self.coefficients, self.carry = coefficients, carry
        self.history = [0] * (len(coefficients) - 1)  # the last sample first

    def run(self, payload: bytes) -> bytes:
        """The filtered payload of a packet; what is less than a sample at its end stays."""
        if not self.carry:
            self.history = [0] * len(self.history)
        found = b""
        for at in range(0, len(payload) - 3, 4):
            taps = [int.from_bytes(payload[at : at + 4], "big", signed=True), *self.history]
            total = sum(h * x for h, x in zip(self.coefficients, taps, strict=True))
            result = (total + ONE // 2) // ONE
            found += min(max(result, -(1 << 31)), (1 << 31) - 1).to_bytes(4, "big", signed=True)
            self.history = taps[:-1]
        return found + payload[len(found) :]


def with_crc(payload: bytes) -> bytes:
    """A payload with the CRC of the rest in its last 4 bytes."""
    if len(payload) < 4:
        return payload
    return payload[:-4] + zlib.crc32(payload[:-4]).to_bytes(4, "little")


def checksum(packet: bytes) -> int:
    """What scapy says that the UDP checksum of a packet must be."""
    layers = Ether(packet)
    del layers[UDP].chksum
    return int(Ether(bytes(layers))[UDP].chksum)


def expected(sent: Sent, filter_: Filter) -> bytes:
    """The packet as it goes out."""
    if not sent.custom or not sent.payload_at:
        return sent.data
    at, data = sent.payload_at, sent.data
    length = int.from_bytes(data[at - 4 : at - 2], "big") - 8
    payload, behind = data[at : at + length], data[at + length :]
    new = filter_.run(payload) if sent.custom & FIR else payload
    new = with_crc(new) if sent.custom & CRC and len(payload) == length else new
    old_sum = int.from_bytes(data[at - 2 : at], "big")
    result = data[:at] + new + behind
    if not old_sum:
        return result
    # Whatever is wrong in it stays wrong.
    cut_off = len(payload) < length
    change = words(payload) - words(new) if cut_off else checksum(result) - checksum(data)
    new_sum = (old_sum + change) % 0xFFFF or 0xFFFF
    return data[: at - 2] + new_sum.to_bytes(2, "big") + new + behind


def words(payload: bytes) -> int:
    """Sum of its 16-bit words."""
    payload += bytes(len(payload) % 2)
    return sum(int.from_bytes(payload[at : at + 2], "big") for at in range(0, len(payload), 2))


def udp(payload: bytes, custom: int, **header: int) -> Sent:
    """A packet with UDP over anything, with tags or none."""
    packet: Packet = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b")
    for _ in range(random.choice((0, 0, 1, 2))):
        packet /= random.choice((Dot1Q, Dot1AD))(vlan=random.getrandbits(12))
    if random.random() < 0.5:
        options = [IPOption_RR(routers=["0.0.0.0"] * random.randrange(9))] if random.random() < 0.3 else []
        packet /= IP(src="10.0.0.1", dst="10.0.0.2", options=options)
    else:
        packet /= IPv6(src="2001:db8::1", dst="2001:db8::2")
        for _ in range(random.choice((0, 0, 1, 4))):
            packet /= IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(random.choice((4, 28))))])
    data = bytes(packet / UDP(sport=1000, dport=9, **header) / Raw(payload))
    return Sent(data, custom, len(data) - len(payload))


def some_payload() -> bytes:
    """Samples of every size, in any number of bytes."""
    size = random.choice((0, 3, 4, 5, 18, 64, random.randrange(80), random.randrange(80), random.randrange(700)))
    return b"".join(
        random.choice((random.randbytes(4), bytes(4), b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff"))
        for _ in range(size // 4)
    ) + random.randbytes(size % 4)


def some_packet() -> Sent:
    """A packet of any kind: without a custom action, with a wrong checksum or none, padded, cut off."""
    sent = udp(some_payload(), random.choice((0, 0, FIR, CRC, FIR | CRC)))
    data, at = sent.data, sent.payload_at
    kind = random.random()
    if kind < 0.1:
        data = data[: at - 2] + bytes(2) + data[at:]
    elif kind < 0.2:
        data = data[: at - 2] + random.choice((b"\xff\xff", b"\0\1", random.randbytes(2))) + data[at:]
    kind = random.random()
    if kind < 0.2:
        data += random.randbytes(random.randrange(1, 70))
    elif kind < 0.3:
        data = data[: random.randrange(at, len(data) + 1)]
    elif kind < 0.35:
        return Sent(data, sent.custom, 0)
    return Sent(data, sent.custom, at)
