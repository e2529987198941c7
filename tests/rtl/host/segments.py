"""TCP segmentation as a driver may ask for it, and as Linux does it (tcp_gso_segment, inet_gso_segment); headers are
read and written, and all checksums calculated, by scapy."""

from ipaddress import IPv4Address
from typing import Any

from scapy.layers.inet import IP, TCP, UDP, IPOption_Router_Alert, IPOption_Timestamp
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop, PadN
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw

Rng = Any  # random, or a generator of its own
TCPV4, TCPV6, ECN = 1, 4, 0x80
HEADERS = 126  # bytes among which they are looked for
SEGMENTS = 1024  # of a frame, at most
IP_OPTIONS: list[list[Any]] = [[], [], [], [IPOption_Router_Alert()], [IPOption_Timestamp(length=36)]]
TCP_OPTIONS: list[list[Any]] = [
    [],
    [("NOP", None), ("NOP", None), ("Timestamp", (1, 2))],
    [("SAck", (1, 2, 3, 4, 5, 6)), ("Timestamp", (3, 4))],
]


def segments(data: bytes, kind: int, size: int, most: int) -> list[bytes] | None:
    """The frames that a frame becomes; None: it is dropped."""
    frame = Ether(data)
    layer: Packet = frame.payload
    for _ in range(2):
        layer = layer.payload if isinstance(layer, Dot1Q) else layer
    outer = layer
    if kind & ~ECN == TCPV4:
        known = isinstance(outer, IP) and not outer.frag and not outer.flags.MF
        inner = outer.payload
    else:
        known = kind & ~ECN == TCPV6 and isinstance(outer, IPv6)
        inner = outer.payload.payload if isinstance(outer.payload, IPv6ExtHdrHopByHop) else outer.payload
    if not known or not isinstance(inner, TCP) or not size:
        return None
    payload = bytes(inner.payload)
    header = len(data) - len(payload)
    if len(payload) > SEGMENTS * size or header > HEADERS or not payload or header + min(size, len(payload)) > most:
        return None
    found = []
    first, flags, number = inner.seq, int(inner.flags), outer.id if isinstance(outer, IP) else 0
    for at in range(0, len(payload), size):
        last = at + size >= len(payload)
        inner.remove_payload()
        inner.add_payload(Raw(payload[at : at + size]))
        inner.seq = (first + at) & 0xFFFF_FFFF
        inner.flags = flags & ~(0 if last else 0x09) & ~(0x80 if at else 0)
        inner.chksum = None
        if isinstance(outer, IP):
            outer.id = (number + at // size) & 0xFFFF
            outer.len = outer.chksum = None
        else:
            outer.plen = None
        found.append(bytes(frame))
    return found


def some_headers(rng: Rng, v6: bool) -> Packet:
    """Of a frame that may be cut."""
    frame: Packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    for _ in range(rng.choice((0, 0, 1, 2))):
        frame /= rng.choice((Dot1Q, Dot1AD))(vlan=rng.randrange(4096))
    if v6:
        frame /= IPv6(src="2001:db8::1", dst=f"2001:db8::{rng.getrandbits(16):x}", tc=rng.getrandbits(8))
        if rng.random() < 0.1:
            frame /= IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(4))])
    else:
        source = str(IPv4Address(rng.getrandbits(32)))
        frame /= IP(src=source, id=rng.choice((rng.getrandbits(16), 65535)), options=rng.choice(IP_OPTIONS), flags="DF")
    sequence = rng.choice((rng.getrandbits(32), (1 << 32) - 1000))
    return frame / TCP(seq=sequence, ack=rng.getrandbits(32), flags=rng.getrandbits(8), options=rng.choice(TCP_OPTIONS))


def some_request(rng: Rng, longest: int, most: int) -> tuple[bytes, int, int]:
    """A frame to cut, how, and into segments of how many bytes of data; a few can't be cut."""
    v6 = rng.random() < 0.5
    headers = some_headers(rng, v6)
    size = rng.choice((536, rng.randrange(1, 100), rng.randrange(1, most - 54), most - len(headers)))
    count = rng.choice((1, size, size + 1, 2 * size, rng.randrange(1, 5 * size), rng.randrange(1, 4000)))
    count = min(count, longest - len(headers), 40 * size)
    kind = (TCPV6 if v6 else TCPV4) | rng.choice((0, ECN))
    wrong = rng.random()
    if wrong < 0.02:
        size = 0
    elif wrong < 0.04:
        kind ^= TCPV4 ^ TCPV6
    elif wrong < 0.06:
        headers = Ether() / (IPv6(src="::1", dst="::2") if v6 else IP()) / UDP()
    elif wrong < 0.08:
        headers[TCP].options = [("NOP", None)] * 40
    elif wrong < 0.1:
        count, size = most + 100, most
    elif wrong < 0.12 and v6:
        headers = Ether() / IPv6(src="::1", dst="::2") / IPv6ExtHdrDestOpt() / TCP()
    elif wrong < 0.14 and not v6:
        headers[IP].flags = "MF"
    elif wrong < 0.16:
        count = 0
    data = bytes(headers / Raw(rng.randbytes(max(count, 0))))
    if 0.16 < wrong < 0.18:
        data = data[: rng.randrange(15, len(headers))]
    return data, kind, size
