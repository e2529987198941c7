"""Sessions made with scapy, for machines where real programs can't be recorded: the same mix, the same for a seed."""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.traffic.capture import Traffic

CONTENTS = (
    "web sessions over IPv4 and IPv6",
    "bulk TCP transfers",
    "DNS",
    "ping and ping6",
    "ARP and neighbour discovery",
    "a call in VLAN 10",
    "fragmented datagrams",
    "multicast",
    "spanning tree",
    "connections refused",
)

_EPOCH = 1_700_000_000.0
_SEGMENT = {4: 1448, 6: 1428}  # bytes of payload in a full segment with timestamps, by IP version
_ROUND_TRIP = 0.0004  # seconds

Session = Iterator[tuple[float, bytes]]  # (seconds since the session began, frame)


def make(
    path: Path, packets: int, seed: int, remark: str = "", progress: Callable[[int], None] | None = None
) -> Traffic:
    """Write ``packets`` frames to a pcap file. Raises HeadraceError when the file can't be written."""
    from scapy.utils import RawPcapWriter

    frames = _frames(packets, seed, progress)
    try:
        with RawPcapWriter(str(path), linktype=1) as writer:
            writer.write_header(None)
            for time, frame in frames:
                whole = int(time)
                writer.write_packet(frame, sec=whole, usec=int((time - whole) * 1e6))
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    size = sum(len(frame) for _, frame in frames)
    seconds = frames[-1][0] - frames[0][0] if frames else 0.0
    return Traffic(path, "made", len(frames), size, seconds, CONTENTS, remark)


def _frames(packets: int, seed: int, progress: Callable[[int], None] | None) -> list[tuple[float, bytes]]:
    """Sessions that start at random times, their frames merged in order of time."""
    rng = random.Random(seed)
    kinds = [_web, _bulk, _dns, _ping, _resolution, _call, _large_datagram, _multicast, _spanning_tree, _refused]
    weights = [14, 1, 40, 10, 3, 1, 5, 3, 2, 5]
    frames: list[tuple[float, bytes]] = []
    start = _EPOCH
    while len(frames) < packets:
        start += rng.expovariate(300)
        frames += ((start + offset, frame) for offset, frame in rng.choices(kinds, weights)[0](rng))
        if progress is not None:
            progress(min(len(frames), packets))
    frames.sort(key=lambda timed: timed[0])
    return frames[:packets]


def _checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071); the sum of 16-bit words in one's complement is the number modulo 65535."""
    return 0xFFFF - int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF


class _Tcp:
    """A TCP connection between a client and a server: frames with running sequence numbers and right checksums.

    scapy builds one frame a direction; the fields that change are written into copies, since scapy needs half a
    millisecond a frame.
    """

    def __init__(self, rng: random.Random, port: int, version: int = 4) -> None:
        from scapy.layers.inet import IP, TCP
        from scapy.layers.inet6 import IPv6
        from scapy.layers.l2 import Ether

        self.version = version
        self.next = [rng.getrandbits(32), rng.getrandbits(32)]
        host = rng.randint(2, 250)
        ports = (rng.randint(32768, 60999), port)
        names = (f"10.0.0.{host}", "10.0.0.1") if version == 4 else (f"2001:db8::{host:x}", "2001:db8::1")
        macs = (f"02:00:00:00:00:{host:02x}", "02:00:00:00:00:01")
        self.templates = []
        for here, there in ((0, 1), (1, 0)):
            network = (IP if version == 4 else IPv6)(src=names[here], dst=names[there])
            options = [("NOP", None), ("NOP", None), ("Timestamp", (1, 1))]
            transport = TCP(sport=ports[here], dport=ports[there], window=502, options=options)
            self.templates.append(bytes(Ether(src=macs[here], dst=macs[there]) / network / transport))

    def send(self, side: int, flags: int, payload: bytes = b"") -> bytes:
        """The next frame from the client (side 0) or the server (1)."""
        frame = bytearray(self.templates[side] + payload)
        segment = 34 if self.version == 4 else 54
        length = len(frame) - segment
        struct.pack_into("!II", frame, segment + 4, self.next[side], self.next[1 - side] if flags & 0x10 else 0)
        frame[segment + 13] = flags
        struct.pack_into("!H", frame, segment + 16, 0)
        if self.version == 4:
            struct.pack_into("!H", frame, 16, length + 20)
            struct.pack_into("!H", frame, 24, 0)
            struct.pack_into("!H", frame, 24, _checksum(bytes(frame[14:34])))
            addresses = frame[26:34]
        else:
            struct.pack_into("!H", frame, 18, length)
            addresses = frame[22:54]
        pseudo = bytes(addresses) + struct.pack("!II", 6, length)
        struct.pack_into("!H", frame, segment + 16, _checksum(pseudo + bytes(frame[segment:])))
        self.next[side] = (self.next[side] + len(payload) + (1 if flags & 0x03 else 0)) & 0xFFFFFFFF
        return bytes(frame)

    def open(self) -> Iterator[bytes]:
        yield from (self.send(side, flags) for side, flags in ((0, 0x02), (1, 0x12), (0, 0x10)))

    def transfer(self, side: int, data: bytes) -> Iterator[bytes]:
        """Full segments, every second one acknowledged, the last one pushed."""
        size = _SEGMENT[self.version]
        starts = range(0, len(data), size)
        for number, start in enumerate(starts):
            last = start == starts[-1]
            yield self.send(side, 0x18 if last else 0x10, data[start : start + size])
            if number % 2 or last:
                yield self.send(1 - side, 0x10)

    def close(self) -> Iterator[bytes]:
        yield from (self.send(side, flags) for side, flags in ((0, 0x11), (1, 0x11), (0, 0x10)))


def _paced(rng: random.Random, frames: Iterator[bytes] | list[bytes], gap: float = _ROUND_TRIP / 4) -> Session:
    time = 0.0
    for frame in frames:
        yield time, frame
        time += rng.expovariate(1 / gap)


def _web(rng: random.Random) -> Session:
    connection = _Tcp(rng, rng.choice((80, 80, 443, 8080)), rng.choice((4, 4, 6)))
    yield from _paced(rng, itertools.chain(connection.open(), _visits(rng, connection), connection.close()))


def _visits(rng: random.Random, connection: _Tcp) -> Iterator[bytes]:
    for _ in range(rng.randint(1, 4)):
        yield from connection.transfer(0, b"GET /page HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n")
        body = rng.randbytes(rng.choice((300, 2_500, 6_000, 40_000)))
        yield from connection.transfer(1, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def _bulk(rng: random.Random) -> Session:
    connection = _Tcp(rng, 5201)
    data = bytes(rng.randint(50_000, 1_500_000))
    yield from _paced(rng, itertools.chain(connection.open(), connection.transfer(0, data), connection.close()), 2e-5)


def _refused(rng: random.Random) -> Session:
    connection = _Tcp(rng, rng.choice((21, 23, 139, 445, 3389)))
    yield from _paced(rng, [connection.send(0, 0x02), connection.send(1, 0x14)])


def _ends(rng: random.Random) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Ethernet addresses of a question and of its answer, and the host's number."""
    host = rng.randint(2, 250)
    client, server = f"02:00:00:00:00:{host:02x}", "02:00:00:00:00:01"
    return {"src": client, "dst": server}, {"src": server, "dst": client}, host


def _dns(rng: random.Random) -> Session:
    from scapy.layers.dns import DNS, DNSQR, DNSRR
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether

    there, back, host = _ends(rng)
    port, number = rng.randint(32768, 60999), rng.randrange(1 << 16)
    name = f"{rng.choice(('www', 'mail', 'cdn'))}.example.org"
    question = DNS(id=number, rd=1, qd=DNSQR(qname=name))
    answer = DNS(id=number, qr=1, ra=1, qd=DNSQR(qname=name), an=DNSRR(rrname=name, ttl=300, rdata="10.0.0.1"))
    yield 0.0, bytes(Ether(**there) / IP(src=f"10.0.0.{host}", dst="10.0.0.1") / UDP(sport=port, dport=53) / question)
    reply = Ether(**back) / IP(src="10.0.0.1", dst=f"10.0.0.{host}") / UDP(sport=53, dport=port) / answer
    yield rng.expovariate(1 / _ROUND_TRIP), bytes(reply)


def _ping(rng: random.Random) -> Session:
    from scapy.layers.inet import ICMP, IP
    from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6
    from scapy.layers.l2 import Ether

    there, back, host = _ends(rng)
    data, number = bytes(range(48)), rng.randrange(1 << 16)
    if rng.random() < 0.5:
        one, two = f"10.0.0.{host}", "10.0.0.1"
        yield 0.0, bytes(Ether(**there) / IP(src=one, dst=two) / ICMP(id=number) / data)
        yield _ROUND_TRIP, bytes(Ether(**back) / IP(src=two, dst=one) / ICMP(type=0, id=number) / data)
    else:
        one, two = f"2001:db8::{host:x}", "2001:db8::1"
        yield 0.0, bytes(Ether(**there) / IPv6(src=one, dst=two) / ICMPv6EchoRequest(id=number, data=data))
        yield _ROUND_TRIP, bytes(Ether(**back) / IPv6(src=two, dst=one) / ICMPv6EchoReply(id=number, data=data))


def _resolution(rng: random.Random) -> Session:
    from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
    from scapy.layers.l2 import ARP, Ether

    there, back, host = _ends(rng)
    asker: dict[str, Any] = {"hwsrc": there["src"], "psrc": f"10.0.0.{host}"}
    yield 0.0, _padded(Ether(src=there["src"], dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, pdst="10.0.0.1", **asker))
    reply = ARP(op=2, hwsrc=back["src"], psrc="10.0.0.1", hwdst=back["dst"], pdst=f"10.0.0.{host}")
    yield _ROUND_TRIP, _padded(Ether(**back) / reply)
    one, two = f"2001:db8::{host:x}", "2001:db8::1"
    ask = ICMPv6ND_NS(tgt=two) / ICMPv6NDOptSrcLLAddr(lladdr=there["src"])
    group = Ether(src=there["src"], dst="33:33:ff:00:00:01") / IPv6(src=one, dst="ff02::1:ff00:1", hlim=255)
    yield 2 * _ROUND_TRIP, bytes(group / ask)
    yield 3 * _ROUND_TRIP, bytes(Ether(**back) / IPv6(src=two, dst=one, hlim=255) / ICMPv6ND_NA(tgt=two, R=0))


def _padded(packet: Any) -> bytes:
    return bytes(packet).ljust(60, b"\0")


def _call(rng: random.Random) -> Session:
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Dot1Q, Ether

    there, _, _ = _ends(rng)
    for number in range(rng.randint(20, 200)):
        speech = struct.pack("!BBHII", 0x80, 0, number, number * 160, 42) + rng.randbytes(160)
        network = Dot1Q(vlan=10, prio=5) / IP(src="192.168.10.2", dst="192.168.10.1", tos=0xB8)
        yield number * 0.02, bytes(Ether(**there) / network / UDP(sport=16384, dport=16386) / speech)


def _large_datagram(rng: random.Random) -> Session:
    from scapy.layers import inet
    from scapy.layers.l2 import Ether

    there, _, host = _ends(rng)
    header = inet.IP(src=f"10.0.0.{host}", dst="10.0.0.1", id=rng.randrange(1 << 16))
    datagram = header / inet.UDP(sport=1023, dport=2049) / rng.randbytes(rng.randint(1600, 8000))
    fragment: Any = inet.fragment
    pieces = fragment(datagram, fragsize=1480)
    yield from _paced(rng, [bytes(Ether(**there) / piece) for piece in pieces], 2e-6)


def _multicast(rng: random.Random) -> Session:
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether

    there, _, host = _ends(rng)
    network = IP(src=f"10.0.0.{host}", dst="224.0.0.251", ttl=255)
    frame = (
        Ether(src=there["src"], dst="01:00:5e:00:00:fb") / network / UDP(sport=5353, dport=5353) / rng.randbytes(120)
    )
    yield 0.0, bytes(frame)


def _spanning_tree(_: random.Random) -> Session:
    from scapy.layers.l2 import LLC, STP, Dot3

    yield (
        0.0,
        _padded(Dot3(src="02:00:00:00:00:01", dst="01:80:c2:00:00:00") / LLC(dsap=0x42, ssap=0x42, ctrl=3) / STP()),
    )
