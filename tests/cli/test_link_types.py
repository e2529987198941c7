# SPDX-License-Identifier: Apache-2.0
"""Captures of other link types than Ethernet: filtered, measured and captured as tcpdump does beside it."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from oracle import Packet, make_capture, random_packets
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6

from headrace.build.models import build_card
from headrace.cli import main
from headrace.net import bpf

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]
CORES = 2

_SNAP = b"\xaa\xaa\x03\x00\x00\x00\x08\x00"
_MAC = bytes(range(2, 14))
_WLAN = b"\x08\x00\x00\x00" + _MAC + bytes(8) + _SNAP

# A name, its number in files, what stands before an IPv4 packet, and filters (some of which libpcap refuses there).
LINK_TYPES: list[tuple[str, int, bytes, list[str]]] = [
    ("NULL", 0, struct.pack("=I", 2), ["ip", "tcp port 80", "ip6"]),
    ("NULL of another byte order", 0, struct.pack(">I", 2), ["ip", "udp or icmp", "inbound"]),
    ("EN10MB with FCS", 0x24000001, _MAC + b"\x08\x00", ["ip", "tcp port 80", "ifindex 1"]),
    ("IEEE802", 6, b"\x10\x40" + _MAC + _SNAP, ["ip", "tcp port 80", "tr src 08:09:0a:0b:0c:0d"]),
    ("ARCNET", 7, b"\x01\x02\xd4", ["ip", "tcp port 80", "arp"]),
    ("SLIP", 8, bytes(16), ["ip", "tcp port 80", "outbound"]),
    ("PPP", 9, b"\xff\x03\x00\x21", ["ip", "tcp port 80", "ip6"]),
    ("FDDI", 10, b"\x50" + _MAC + _SNAP, ["ip", "tcp port 80", "fddi src 08:09:0a:0b:0c:0d"]),
    ("ATM_RFC1483", 100, _SNAP, ["ip", "tcp port 80", "llc"]),
    ("RAW", 101, b"", ["ip", "tcp port 80", "ether host 2:3:4:5:6:7"]),
    ("C_HDLC", 104, b"\x0f\x00\x08\x00", ["ip", "tcp port 80", "iso"]),
    ("IEEE802_11", 105, _WLAN, ["ip", "wlan addr2 08:09:0a:0b:0c:0d", "type mgt"]),
    ("FRELAY", 107, b"\x18\x41\x03\xcc", ["ip", "tcp port 80", "ip6"]),
    ("LOOP", 108, struct.pack(">I", 2), ["ip", "tcp port 80", "vlan"]),
    ("LINUX_SLL", 113, bytes([0, 4, 0, 1, 0, 6, *range(8), 8, 0]), ["ip", "outbound", "inbound"]),
    ("PFLOG", 117, bytes([61, 2, 0, 1, *range(57), 0, 0, 0]), ["ip", "on eth0", "action pass"]),
    ("SUNATM", 123, b"\x03\x05\x00\x20" + _SNAP, ["vpi 5", "vci 32", "llc"]),
    ("IEEE802_11_RADIO", 127, b"\x00\x00\x08\x00\x00\x00\x00\x00" + _WLAN, ["ip", "type data", "dir fromds"]),
    ("APPLE_IP_OVER_IEEE1394", 138, bytes(16) + b"\x08\x00", ["ip", "tcp port 80", "arp"]),
    ("MTP2", 140, b"\x01\x02\x03", ["fisu", "sio 3", "ip"]),
    ("DOCSIS", 143, b"", ["", "len > 60", "ip"]),
    ("BLUETOOTH_HCI_H4", 187, b"\x02", ["", "link[0] = 2", "tcp"]),
    ("IEEE802_15_4_WITHFCS", 195, b"\x41\x88", ["link[1] = 0x88", "greater 100", "udp"]),
    ("USB_LINUX_MMAPPED", 220, bytes(8) + b"CSBU" + bytes(52), ["", "link[8] = 0x43", "ip"]),
    ("IPV4", 228, b"", ["ip", "tcp port 80", "ip6"]),
    ("NFLOG", 239, bytes([2, 0, 0, 0, 8, 0, 9, 0, 0, 0, 0, 1]), ["", "link[0] = 2", "ip"]),
    ("NETANALYZER", 240, bytes(4) + _MAC + b"\x08\x00", ["ip", "tcp port 80", "ether host 2:3:4:5:6:7"]),
    ("LINUX_SLL2", 276, bytes([8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, *range(8)]), ["outbound", "ifindex 3", "tcp"]),
]
NAMES = [name for name, *_ in LINK_TYPES]


@pytest.fixture(scope="module", autouse=True)
def models() -> None:
    build_card("filter", progress=False)
    build_card("capture", {"CORES": 0}, progress=False)
    build_card("capture", {"CORES": CORES}, progress=False)


def records(head: bytes) -> list[Packet]:
    """IPv4 packets behind a header, other bytes, and records of few bytes and none."""
    inside = [
        bytes(IP(src="10.0.0.1", dst="10.0.0.2") / layer)
        for layer in (TCP(dport=80) / b"GET /", TCP(sport=80), UDP(dport=53) / bytes(40), ICMP())
    ]
    whole = [head + packet for packet in inside] + [head + bytes(IPv6() / TCP(dport=80))]
    data = [b"", b"", b"\x02", head[:3], *whole, *(packet.data for packet in random_packets(seed=5, count=30))]
    cut = [packet[: len(packet) // 2] for packet in whole]
    found = [Packet(packet, len(packet), n * 1_001_000_000) for n, packet in enumerate(data, 1)]
    return [*found, Packet(b"", 99, 10**12), *(Packet(packet, 1500, 10**12) for packet in cut)]


def tcpdump(capture: Path, expression: str) -> bytes | str:
    """The file that tcpdump writes, or what it says where it doesn't."""
    out = capture.with_suffix(".tcpdump")
    command = ["tcpdump", "-r", str(capture), "-w", str(out), "--", expression]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stderr.strip().rpartition("tcpdump: ")[2] if result.returncode else out.read_bytes()


@pytest.mark.parametrize(("name", "number", "head", "expressions"), LINK_TYPES, ids=NAMES)
def test_a_filter_gives_tcpdumps_file_or_its_words(
    name: str, number: int, head: bytes, expressions: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = make_capture(tmp_path / "in.pcap", records(head), linktype=number)
    files: dict[str, bytes] = {}
    for expression in expressions:
        expected = tcpdump(capture, expression)
        if isinstance(expected, bytes):
            files[expression] = expected
            continue
        assert main(["filter", expression, str(capture)]) == 2
        assert capsys.readouterr().err == f"headrace: {expected}\n"
    assert files and any(len(content) > 24 for content in files.values())
    command = ["filter", "", str(capture), "-w", str(tmp_path / "all")]
    for place, expression in enumerate(files):
        command += ["--also", expression, "-w", str(tmp_path / str(place))]
    assert main(command) == 0
    assert (tmp_path / "all").read_bytes() == tcpdump(capture, "")
    for place, (expression, expected) in enumerate(files.items()):
        assert (tmp_path / str(place)).read_bytes() == expected, expression


@pytest.mark.parametrize("way", ["memory", "wire"])
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("name", ["RAW", "LINUX_SLL2", "USB_LINUX_MMAPPED", "EN10MB with FCS"])
def test_a_capture_gives_tcpdumps_file(name: str, filtered: bool, way: str, tmp_path: Path) -> None:
    _, number, head, expressions = LINK_TYPES[NAMES.index(name)]
    capture = make_capture(tmp_path / "in.pcap", records(head), linktype=number)
    expression = expressions[1] if filtered else ""
    command = ["capture", "-i", str(capture), "-w", str(tmp_path / "out"), "--path", way, "-q"]
    assert main([*command, *(["--cores", str(CORES), expression] if filtered else [])]) == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, expression)


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_filter_of_standard_input_is_for_the_link_type_that_comes(kind: str, tmp_path: Path) -> None:
    capture = make_capture(tmp_path / "in", records(b""), kind, linktype=101, snaplen=65535)  # type: ignore[arg-type]
    expected = tcpdump(capture, "tcp port 80")
    for command in (["filter", "tcp port 80", "-"], ["capture", "-i", "-", "--cores", str(CORES), "tcp", "port", "80"]):
        command += ["-w", "-", "-q"]
        result = subprocess.run([*HEADRACE, *command], input=capture.read_bytes(), capture_output=True, check=True)
        assert result.stdout == expected, command


def test_what_can_not_be_compiled_for_standard_input_is_told_in_libpcaps_words(tmp_path: Path) -> None:
    capture = make_capture(tmp_path / "in", records(b""), linktype=101)
    for command in (["filter", "wlan type mgt", "-"], ["capture", "-i", "-", "--cores", str(CORES), "wlan type mgt"]):
        result = subprocess.run([*HEADRACE, *command], input=capture.read_bytes(), capture_output=True, check=False)
        assert result.returncode == 2
        assert result.stderr.decode() == f"headrace: {tcpdump(capture, 'wlan type mgt')}\n"


def test_pcapng_says_the_link_type_as_files_number_it(tmp_path: Path) -> None:
    """RAW is 101 in files and 12 in libpcap."""
    capture = make_capture(tmp_path / "in.pcap", records(b""), linktype=101)
    out = tmp_path / "out.pcapng"
    assert main(["capture", "-i", str(capture), "-w", str(out), "-q"]) == 0
    assert bpf.capture_format(out).linktype == 12
    assert tcpdump(out, "") == tcpdump(capture, "")
    assert struct.pack("<HHI", 101, 0, 262144) in out.read_bytes()  # of the interface


def test_a_pipes_second_link_type_behind_its_first_packet_is_refused_as_tcpdump_does(tmp_path: Path) -> None:
    def block(kind: int, body: bytes) -> bytes:
        size = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + size + body + size

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    interfaces = [block(1, struct.pack("<HHI", number, 0, 0)) for number in (1, 101)]
    packets = [block(6, struct.pack("<IIIII", number, 0, 0, 4, 4) + bytes(4)) for number in (0, 1)]
    capture = tmp_path / "in.pcapng"
    capture.write_bytes(section + interfaces[0] + packets[0] + interfaces[1] + packets[1])
    words = subprocess.run(
        ["tcpdump", "-r", str(capture), "-w", "/dev/null"], capture_output=True, text=True, check=False
    )
    reason = words.stderr.strip().splitlines()[-1].rpartition("pcap_loop: ")[2]
    assert "different from" in reason
    command = [*HEADRACE, "filter", "-q", "", "-"]
    ours = subprocess.run(command, input=capture.read_bytes(), capture_output=True, check=False)
    assert (ours.returncode, ours.stderr.decode().endswith(f"{reason}\n")) == (1, True)


def test_a_measurement_is_for_the_link_type_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = make_capture(tmp_path / "in.pcap", records(b""), linktype=101)
    assert main(["measure", "ip", str(capture), "--json", "-"]) == 0
    counted = {item["counter"]: item["packets"] for item in json.loads(capsys.readouterr().out)["counters"]}
    program = bpf.compile("ip", linktype=12)
    matches = sum(map(bool, bpf.run_many(program, ((p.data, p.wirelen) for p in records(b"")))))
    assert counted[1] == matches > 0
    assert main(["measure", "size", str(capture), "--json", "-"]) == 0
    capsys.readouterr()
    assert main(["measure", "ip-proto", str(capture)]) == 2
    assert capsys.readouterr().err == f"headrace: ip-proto: is for EN10MB, but {capture} has link type RAW\n"
