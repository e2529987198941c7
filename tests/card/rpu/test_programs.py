"""The programs that come with Headrace: what they do with packets, seen by scapy, and their cycles."""

from __future__ import annotations

import random
import re
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest
from rpu_model import PMEM, Unit
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw

from headrace.cards.rpu import elf, program, tables

Build = Callable[..., Path]
Sent = list[tuple[int, bytes]]


def started(made: Path, **options: object) -> Unit:
    """A unit whose program waits for packets."""
    unit = Unit(made, **options)  # type: ignore[arg-type]
    assert unit.run(3_000_000, lambda: any(kind == 3 for kind, _, _ in unit.sent))
    unit.run(3000)
    unit.sent = [sent for sent in unit.sent if sent[0] != 3]
    return unit


def passed(unit: Unit, packets: list[tuple[bytes, int]], cycles: int = 3000) -> Sent:
    """What the unit sends for packets, each in its own time, dropped ones as b""; no slot stays taken."""
    got: Sent = []
    for packet, port in packets:
        before = len(unit.sent)
        unit.arrive(packet, port)
        assert unit.run(cycles, lambda before=before: len(unit.sent) == before + 1), "a packet is sent, or dropped"
        unit.run(30)
        got.append(unit.packet(before))
    assert unit.active == 0 and not unit.received
    return got


def cycles_a_packet(unit: Unit, packet: bytes, count: int = 16) -> float:
    """With packets waiting all the time."""
    unit.sent.clear(), unit.sent_at.clear()
    for _ in range(count):
        unit.arrive(packet, 0)
    assert unit.run(100_000, lambda: len(unit.sent) == count)
    return (unit.sent_at[-1] - unit.sent_at[3]) / (count - 4)


def frame(packet: Packet) -> bytes:
    return bytes(packet).ljust(60, b"\0")


class Table:
    """accel_blacklist, as its head says."""

    def __init__(self, prefixes: list[IPv4Network]) -> None:
        self.prefixes, self.address = prefixes, IPv4Address(0)

    def write(self, offset: int, size: int, value: int) -> None:
        assert (offset, size) == (0, 4)
        self.address = IPv4Address(value.to_bytes(4, "little"))

    def read(self, offset: int, size: int) -> int:
        assert offset == 4 and size in (1, 4)
        return int(any(self.address in prefix for prefix in self.prefixes))


class Crc:
    """accel_crc32, as its head says."""

    def __init__(self) -> None:
        self.unit: Unit | None = None
        self.results: list[int] = []
        self.addr = 0
        self.deepest = 0

    def write(self, offset: int, size: int, value: int) -> None:
        assert self.unit is not None and offset in (8, 0x14) and size == 4
        if offset == 8:
            self.addr = value & 0xFFFFFF
        else:
            self.results.append(zlib.crc32(self.unit.pmem[self.addr : self.addr + value]))
            self.deepest = max(self.deepest, len(self.results))
            assert len(self.results) <= 8 and value <= 0xFFFF

    def read(self, offset: int, size: int) -> int:
        assert offset == 0x10 and size == 4
        return self.results.pop(0)


class Matcher:
    """accel_matcher, as its head says, by bytes.find."""

    def __init__(self, patterns: list[tables.Pattern]) -> None:
        self.patterns = patterns
        self.unit: Unit | None = None
        self.entries: list[tuple[int, int]] = []
        self.addr = 0

    def matches(self, data: bytes) -> list[tuple[int, int]]:
        found = []
        for number, (content, nocase) in enumerate(self.patterns, 1):
            where, text, at = data.lower() if nocase else data, content.lower() if nocase else content, -1
            while (at := where.find(text, at + 1)) >= 0:
                found.append((number, at + len(text)))
        return sorted(found, key=lambda each: (each[1], each[0]))

    def write(self, offset: int, size: int, value: int) -> None:
        assert self.unit is not None and offset in (8, 0x2C) and size == 4
        if offset == 8:
            self.addr = value & 0xFFFFFF
            return
        assert value <= 0xFFFF and sum(pattern == 0 for pattern, _ in self.entries) < 8
        self.entries += [*self.matches(bytes(self.unit.pmem[self.addr : self.addr + value])), (0, value)]

    def read(self, offset: int, size: int) -> int:
        if offset == 0:
            return int(bool(self.entries))
        assert offset == 0x24 and size == 4
        pattern, position = self.entries.pop(0)
        return pattern | position << 16


@pytest.mark.parametrize("name", sorted(program.programs()))
def test_programs_build_for_the_core_without_a_warning_of_any_kind(
    build: Build, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "FLAGS", (*program.FLAGS, "-Wall", "-Wextra", "-Wshadow", "-Wundef"))
    made = build(name)
    read = elf.read(made)
    assert read.used("dmem") < 6 << 10
    command = ["riscv64-unknown-elf-objdump", "-d", "-M", "no-aliases", str(made)]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert not re.search(r"\t(c\.|mul|div|rem|amo|lr\.|sc\.|f[ls]w|fld)", code), "nothing beyond the core"
    text = program.programs()[name].read_text()
    assert text.startswith("// SPDX-License-Identifier: Apache-2.0\n") and max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(("defines", "turned", "cycles"), [([], 1, 6.25), (["SAME_PORT"], 0, 5.25)])
def test_forwarder(build: Build, defines: list[str], turned: int, cycles: float) -> None:
    made = build("forwarder", defines=defines)
    packets = [(bytes([n]) * (60 + 50 * n), n % 2) for n in range(20)]
    assert passed(started(made), packets) == [(port ^ turned, packet) for packet, port in packets]
    unit = started(made)
    for packet, port in packets:
        unit.arrive(packet, port)
    unit.run(500)
    assert [unit.packet(n) for n in range(20)] == [(port ^ turned, packet) for packet, port in packets]
    assert cycles_a_packet(started(made), b"x" * 60) == pytest.approx(cycles, abs=0.1)


def test_drop(build: Build) -> None:
    unit = started(build("drop"))
    assert passed(unit, [(b"x" * size, 0) for size in (60, 1500, 9000)]) == [(0, b"")] * 3
    unit.run(100)
    assert (unit.out(0x40), unit.out(0x44)) == (3, 60 + 1500 + 9000)


@pytest.mark.parametrize(("size", "count", "port"), [(46, 5, 0), (60, 100, 1), (1500, 60, 2), (9600, 20, 0)])
def test_generator(build: Build, size: int, count: int, port: int) -> None:
    made = build("generator", defines=[f"SIZE={size}", f"COUNT={count}", f"PORT={port}"])
    unit = Unit(made, core_id=7)
    seen: list[bytes] = []
    while len(seen) < count:
        assert unit.run(3_000_000, lambda: len(unit.sent) >= len(seen) + 1)
        kind, low, high = unit.sent[-1]
        if kind == 3:
            unit.sent.clear()
            continue
        assert (kind, low) == (0, port << 24 | size) and high >= PMEM + (512 << 10)
        seen.append(unit.packet(-1)[1])
        unit.sent.append(unit.sent[-1])
        unit.sent = unit.sent[: len(seen)]
    for number, data in enumerate(seen):
        packet = Ether(data)
        assert len(data) == size and packet[IP].len == size - 14 and packet[UDP].len == size - 34
        assert packet[IP].src == "192.0.2.7" and bytes(packet[UDP].payload)[:4] == number.to_bytes(4, "big")
        checked = packet[IP].chksum
        del packet[IP].chksum
        assert Ether(bytes(packet))[IP].chksum == checked
    unit.run(1000)
    assert len(unit.sent) == count, "no more than that"
    unit.arrive(b"x" * 60, 0)
    assert unit.run(200, lambda: len(unit.sent) == count + 1) and unit.packet(-1) == (0, b"")


def firewall_traffic(listed: list[IPv4Network]) -> list[tuple[bytes, int, bool]]:
    """Packets, ports, and whether they are to be dropped."""
    chance = random.Random(3)
    made = []
    for number in range(60):
        bad = number % 5 < 2
        while True:
            prefix = chance.choice(listed)
            address = prefix[chance.randrange(prefix.num_addresses)] if bad else IPv4Address(chance.getrandbits(32))
            if any(address in each for each in listed) == bad:
                break
        inner = IP(src=str(address), dst="10.0.0.1") / chance.choice([UDP(), TCP(), ICMP()]) / Raw(b"x" * number * 20)
        tags: Packet = Ether()
        for _ in range(number // 2 % 3):
            tags = tags / chance.choice([Dot1Q(vlan=5), Dot1AD(vlan=6)])
        made.append((frame(tags / inner), number % 2, bad))
    for other in (ARP(psrc=str(listed[0][0])), IPv6(), Dot1Q() / ARP(), Dot1Q() / Dot1Q() / Dot1Q() / IP()):
        made.append((frame(Ether() / other), 1, False))
    return made


LISTED = [
    IPv4Network(text) for text in ("203.0.113.0/24", "198.51.100.7/32", "128.0.0.0/9", "9.9.9.0/30", "77.0.0.0/8")
]


@pytest.mark.parametrize("software", [False, True], ids=["accelerated", "software"])
def test_firewall(build: Build, tmp_path: Path, software: bool) -> None:
    if software:
        (tmp_path / "table.c").write_text(tables.c_table("blacklist_words", tables.blacklist_words(LISTED, 256)))
        options = {"defines": ['TABLE="table.c"', "BLACKLIST_CAPACITY=256"], "includes": [tmp_path]}
        unit = started(build("firewall_software", **options))
    else:
        unit = started(build("firewall"), accelerator=Table(LISTED))
    traffic = firewall_traffic(LISTED)
    got = passed(unit, [(packet, port) for packet, port, _ in traffic])
    assert got == [(port ^ 1, b"" if bad else packet) for packet, port, bad in traffic]
    unit.run(50)
    assert unit.out(0x40) == sum(bad for _, _, bad in traffic)


def test_firewall_under_load_gives_each_packet_its_own_verdict(build: Build) -> None:
    unit = started(build("firewall"), accelerator=Table(LISTED))
    traffic = firewall_traffic(LISTED)
    for begin in range(0, len(traffic), 32):
        part = traffic[begin : begin + 32]
        unit.sent.clear()
        for packet, port, _ in part:
            unit.arrive(packet, port)
        assert unit.run(20_000, lambda part=part: len(unit.sent) == len(part))
        assert [unit.packet(n) for n in range(len(part))] == [(p ^ 1, b"" if bad else data) for data, p, bad in part]
    good = frame(Ether() / IP(src="1.2.3.4"))
    assert cycles_a_packet(unit, good) <= 18.5
    assert cycles_a_packet(unit, frame(Ether() / IP(src="77.1.2.3"))) <= 18.5


def test_firewall_that_drops_others(build: Build) -> None:
    unit = started(build("firewall", defines=["DROP_OTHERS"]), accelerator=Table(LISTED))
    others = [(frame(Ether() / other), 0) for other in (ARP(), IPv6(), IP(src="1.2.3.4"))]
    assert [data for _, data in passed(unit, others)] == [b"", b"", others[2][0]]


def test_flows(build: Build) -> None:
    made = build("flows", defines=["ENTRIES=256"])
    unit, chance = started(made), random.Random(9)
    kinds = [
        Ether() / IP(src=f"10.{n // 4}.0.{n // 4 * 7 % 250}", dst="192.0.2.1") / layer(sport=1000 + n, dport=n % 3 + 80)
        for n in range(40)
        for layer in (TCP, UDP)
    ]
    kinds += [Ether() / ARP(), Ether() / IP() / ICMP(), Ether() / IPv6() / UDP(), Ether() / IP(frag=5) / UDP()]
    packets: Counter[tuple[object, ...]] = Counter()
    sizes: Counter[tuple[object, ...]] = Counter()
    traffic = []
    for _ in range(300):
        packet = chance.choice(kinds)
        data = frame(packet / Raw(b"y" * chance.randrange(400)))
        traffic.append((data, chance.randrange(2)))
        if IP in packet and packet[IP].frag == 0 and packet[IP].proto in (6, 17):
            key = (packet[IP].src, packet[IP].dst, packet.sport, packet.dport, packet[IP].proto)
            packets[key] += 1
            sizes[key] += len(data)
    assert passed(unit, traffic) == [(port ^ 1, data) for data, port in traffic]
    read, found, lost = elf.read(made), {}, unit.word(elf.read(made).address("crowded"))
    for n in range(256):
        offset = read.address("flows") - PMEM + 32 * n
        entry = unit.pmem[offset : offset + 32]
        if entry[12]:
            ports = (int.from_bytes(entry[8:10], "big"), int.from_bytes(entry[10:12], "big"))
            key = (str(IPv4Address(bytes(entry[:4]))), str(IPv4Address(bytes(entry[4:8]))), *ports, entry[12])
            found[key] = [int.from_bytes(entry[i : i + 4], "little") for i in (16, 20, 24, 28)]
    assert all(found[key][:2] == [packets[key], sizes[key]] and found[key][2] <= found[key][3] for key in found)
    missing = sum(packets[key] for key in packets if key not in found)
    assert missing == lost and len(found) >= 0.9 * len(packets)


def test_flows_differ_in_each_of_their_fields(build: Build) -> None:
    made = build("flows", defines=["ENTRIES=4"])
    flows = [
        IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=5, dport=6),
        IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=5, dport=7),
        IP(src="10.0.0.1", dst="10.0.0.3") / TCP(sport=5, dport=6),
        IP(src="10.0.0.4", dst="10.0.0.2") / TCP(sport=5, dport=6),
        IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=5, dport=6),
    ]
    for left_out in range(1, 5):
        unit = started(made)
        for n in [0, *(n for n in range(1, 5) if n != left_out)] * 3 + [left_out]:
            passed(unit, [(frame(Ether() / flows[n]), 0)])
        start = elf.read(made).address("flows") - PMEM
        assert [unit.pmem[start + 32 * n + 16] for n in range(4)] == [3] * 4
        assert unit.word(elf.read(made).address("crowded")) == 1, "the last one finds no place"


@pytest.mark.parametrize("software", [False, True], ids=["accelerated", "software"])
def test_crc(build: Build, software: bool) -> None:
    accelerator = Crc()
    unit = started(build("crc", defines=["SOFTWARE"] if software else []), accelerator=accelerator)
    accelerator.unit = unit
    chance, traffic, expected = random.Random(4), [], []
    for number in range(24):
        data = chance.randbytes(chance.randint(56, 400))
        data += zlib.crc32(data).to_bytes(4, "little")
        if number % 4 == 1:
            place = chance.randrange(len(data))
            data = data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
        traffic.append((data, number % 2))
        expected.append((number % 2 ^ 1, b"" if number % 4 == 1 else data))
    assert passed(unit, traffic, 50_000) == expected
    unit.sent.clear()
    for data, port in traffic:
        unit.arrive(data, port)
    assert unit.run(500_000, lambda: len(unit.sent) == 24)
    assert [unit.packet(n) for n in range(24)] == expected
    unit.run(100)
    assert (unit.out(0x40), unit.out(0x44)) == (36, 12)
    assert software or accelerator.deepest == 8, "jobs overlap"


PATTERNS = [
    tables.Pattern(b"/etc/passwd"), tables.Pattern(b"select ", True), tables.Pattern(b"\x90\x90\x90\x90"),
    tables.Pattern(b"cmd.exe", True), tables.Pattern(b"\0\0\0\0"),
]  # fmt: skip


# Headers, and how many of their last bytes are searched, too: those of what is neither TCP nor UDP
IPV6_HEADERS = [
    (IPv6() / UDP(), 0),
    (IPv6() / TCP(options=[("NOP", None)] * 4), 0),
    (IPv6() / ICMPv6EchoRequest(), 8),
    (IPv6() / IPv6ExtHdrHopByHop() / UDP(), 0),
    (IPv6() / IPv6ExtHdrDestOpt() / IPv6ExtHdrRouting(addresses=["2001:db8::1"] * 5) / TCP(), 0),
    (IPv6() / IPv6ExtHdrFragment() / UDP(), 0),
    (IPv6() / IPv6ExtHdrHopByHop() / IPv6ExtHdrFragment(offset=10, nh=6), 0),
    (IPv6() / AH(payloadlen=1, nh=17) / UDP(), 0),
]


@pytest.mark.parametrize("software", [False, True], ids=["accelerated", "software"])
def test_intrusion(build: Build, tmp_path: Path, software: bool) -> None:
    matcher = Matcher(PATTERNS)
    if software:
        words = tables.matcher_words(PATTERNS, 64)
        (tmp_path / "table.c").write_text(tables.c_table("matcher_words", words))
        defines = ["SOFTWARE", 'TABLE="table.c"', "MATCHER_ROWS=64"]
        made = build("intrusion", defines=defines, includes=[tmp_path])
    else:
        made = build("intrusion")
    unit = started(made, accelerator=matcher)
    matcher.unit, chance, traffic, alerts = unit, random.Random(6), [], []
    for number in range(40):
        payload = bytearray(chance.choices(range(1, 120), k=chance.choice([0, 1, 5, 18, 30, 200])))
        if number % 3 == 0 and len(payload) > 5:
            text = chance.choice([b"/etc/passwd", b"SeLeCt ", b"CMD.exe", b"\x90" * 6])
            place = chance.randrange(len(payload) - 4)
            payload[place:place] = text
        options = [("NOP", None)] * chance.choice([0, 4, 8])
        layer = chance.choice([TCP(options=options), UDP(), ICMP()])
        ip = IP(options=[b"\x01" * 4] * chance.choice([0, 0, 3])) if number % 4 == 0 else IP()
        whole: Packet = Ether()
        for _ in range(number % 3):
            whole = whole / Dot1Q(vlan=4)
        data = frame(whole / ip / layer / Raw(bytes(payload)))
        searched = bytes(Ether(data)[IP].payload)[: Ether(data)[IP].len - 4 * Ether(data)[IP].ihl]
        if not isinstance(layer, ICMP):
            searched = searched[20 + len(options) if isinstance(layer, TCP) else 8 :]
        found = matcher.matches(searched)
        alerts += [(pattern, position, len(data)) for pattern, position in found]
        traffic.append((data, number % 2, 2 if found else number % 2 ^ 1))
    for number, (headers, transport) in enumerate(IPV6_HEADERS * 2):
        whole = Ether()
        for _ in range(number % 3):
            whole = whole / Dot1Q(vlan=4)
        payload = chance.choice([b"cmd.exe", b"<<select >>", b"\x90" * 40 + b"cmd", b"clean", b""])
        searched = bytes(headers / Raw(payload))[len(bytes(headers)) - transport :]
        found = matcher.matches(searched)
        alerts += [(pattern, position, len(frame(whole / headers / payload))) for pattern, position in found]
        traffic.append((frame(whole / headers / Raw(payload)), 0, 2 if found else 1))
    cut = bytes(Ether() / IP(len=24) / Raw(b"cmd.")).ljust(60, b"\0")
    cut_6 = bytes(Ether() / IPv6(plen=3, nh=59) / Raw(b"cmd.exe")).ljust(60, b"\0")
    short = bytes(Ether() / IPv6() / TCP() / Raw(b"cmd.exe"))[:70]
    for other in (frame(Ether() / ARP()), cut, cut_6, short):
        traffic.append((other, 0, 1))
    got = passed(unit, [(data, port) for data, port, _ in traffic], 200_000)
    assert got == [(to, data) for data, _, to in traffic]
    unit.run(100)
    assert alerts and (unit.out(0x40), unit.out(0x44)) == (len(alerts), sum(to == 2 for _, _, to in traffic))
    base = elf.read(made).address("alerts")
    newest = range(max(0, len(alerts) - 64), len(alerts))
    ring = [tuple(unit.word(base + 4 + 16 * (n % 64) + 4 * i) for i in range(3)) for n in newest]
    assert unit.word(base) == len(alerts) and ring == alerts[newest[0] :]
    for begin in range(0, len(traffic), 16):  # all at once
        unit.sent.clear()
        for data, port, _ in traffic[begin : begin + 16]:
            unit.arrive(data, port)
        part = traffic[begin : begin + 16]
        assert unit.run(2_000_000, lambda part=part: len(unit.sent) == len(part))
        assert [unit.packet(n) for n in range(len(part))] == [(to, data) for data, _, to in part]


def test_latency(build: Build) -> None:
    made = build("latency", defines=["INTERVAL=3000", "SIZE=100"])
    unit, read = started(made, core_id=3), elf.read(made)
    times: list[int] = []

    def field(number: int) -> int:
        return unit.word(read.address("latency") + 4 * number)

    base = field(1)
    for turn in range(12):
        before = len(unit.sent)
        assert unit.run(20_000, lambda before=before: len(unit.sent) > before)
        port, probe = unit.packet(before)
        sent = int.from_bytes(probe[26:30], "little")
        assert (port, len(probe), probe[12:14]) == (0, 100, b"\x88\xb5")
        unit.run(100 + 137 * turn)
        began = unit.cycle
        unit.arrive(probe, 1)
        assert unit.run(2000, lambda before=before: len(unit.sent) == before + 2)
        assert unit.packet(before + 1)[1] == b"", "its own probes end here"
        unit.run(300)
        times.append(field(4))
        assert 0 <= times[-1] - (began - sent) < 30
        other = probe[:18] + b"\x09" + probe[19:] if turn % 2 else b"z" * 64
        unit.arrive(other, 1)
        assert unit.run(2000, lambda before=before: len(unit.sent) == before + 3)
        assert unit.packet(before + 2) == (0, other), "other packets go on"
    assert field(1) - base == len(times) and field(2) == min(times) and field(3) == max(times)
    assert field(5) + (field(6) << 32) == sum(times)
    buckets = Counter(time // 8 for time in times)
    assert [field(8 + n) for n in range(256)] == [buckets[n] for n in range(256)]
    assert field(7) == sum(count for bucket, count in buckets.items() if bucket >= 256)


@pytest.mark.parametrize("servers", [1, 3, 4])
def test_balancer(build: Build, servers: int) -> None:
    made = build("balancer", defines=[f"SERVERS={servers}"])
    units = [started(made, core_id=core) for core in (0, 5)]
    chance, used = random.Random(8), Counter[str]()
    for number in range(60):
        client, port = str(IPv4Address(chance.getrandbits(32))), chance.randrange(1024, 65536)
        layer = chance.choice([TCP, UDP])
        payload = Raw(chance.randbytes(chance.randrange(100)))
        ask = Ether() / IP(src=client, dst="198.51.100.80") / layer(sport=port, dport=80) / payload
        if layer is UDP and number % 5 == 0:
            ask[UDP].chksum = 0
        answers = [passed(unit, [(bytes(ask), 0)]) for unit in units]
        assert answers[0] == answers[1], "each unit gives a client the same server"
        ((to, data),) = answers[0]
        there = Ether(data)
        server = there[IP].dst
        used[server] += 1
        assert to == 1 and IPv4Address(server) in [IPv4Address("10.0.0.1") + n for n in range(servers)]
        expected = ask.copy()
        expected[IP].dst = server
        assert data == bytes(expected), "scapy makes the same packet, with its checksums"
        back = Ether() / IP(src=server, dst=client) / layer(sport=80, dport=port) / payload
        ((to, data),) = passed(units[0], [(bytes(back), 1)])
        expected = back.copy()
        expected[IP].src = "198.51.100.80"
        assert (to, data) == (0, bytes(expected))
    assert len(used) == servers
    others = [
        frame(Ether() / other)
        for other in (ARP(), IP(dst="198.51.100.81") / TCP(), IP(dst="198.51.100.80") / ICMP(), IPv6() / UDP())
    ] + [frame(Ether() / IP(src="10.0.1.0") / UDP())]
    assert passed(units[0], [(data, n % 2) for n, data in enumerate(others)]) == [
        (n % 2 ^ 1, data) for n, data in enumerate(others)
    ]


def test_interconnect(build: Build) -> None:
    made = build("interconnect", defines=["UNITS=4"])
    for core, port in ((1, 0), (0, 1)):
        first, second = started(made, core_id=core), started(made, core_id=core + 2)
        packet = bytes(range(60))
        slot = first.arrive(packet, port)
        assert first.run(500, lambda first=first: bool(first.sent))
        assert first.sent[0][:2] == (2, (core + 2) << 24 | slot << 16 | 60)
        second.arrive(first.packet(0)[1], 3)
        assert second.run(500, lambda second=second: bool(second.sent))
        port_out, data = second.packet(0)
        assert port_out == port ^ 1 and data[:11] + data[12:] == packet[:11] + packet[12:]


def test_broadcast(build: Build) -> None:
    unit = started(build("broadcast"), core_id=2)
    assert unit.broadcast == [(0x806008, 0)]
    unit.dmem[0x6000:0x6040] = b"".join((1000 * n if n != 2 else 0).to_bytes(4, "little") for n in range(16))
    packets = [(bytes([n]) * 60, n % 2) for n in range(5)]
    assert passed(unit, packets) == [(port ^ 1, packet) for packet, port in packets]
    unit.run(2000)
    assert unit.broadcast[1:] == [(0x806008, n) for n in range(1, 6)]
    assert (unit.out(0x40), unit.out(0x44)) == (5, 1000 * (sum(range(16)) - 2) + 5)


def test_basic(build: Build) -> None:
    packets = [(bytes([n]) * 60, n % 2) for n in range(5)]
    assert passed(started(build("basic")), packets) == [(port, packet) for packet, port in packets]


@pytest.mark.parametrize("functions", [1, 2])
def test_nic(build: Build, functions: int) -> None:
    unit = started(build("nic", defines=[f"FUNCTIONS={functions}"]))
    other = {0: 2, 2: 0, 1: 10, 10: 1}
    packets = [(bytes([n]) * 60, (0, 2, 1, 10, 18)[n % 5]) for n in range(20)]
    there = [(packet, port) for packet, port in packets if port in ((0, 2), (0, 1, 2, 10))[functions - 1]]
    found = [sent for sent in passed(unit, packets) if sent[1]]
    assert found == [(other[port], packet) for packet, port in there]


def test_every_program_is_evicted(build: Build) -> None:
    for name in sorted(program.programs()):
        unit = Unit(build(name), accelerator=Table([]))
        unit.run(200_000, lambda unit=unit: unit.mask == 0x30)
        unit.run(500)
        unit.flags |= 1 << 5
        assert unit.run(5000, lambda unit=unit: unit.io[0x24] == 1), name
