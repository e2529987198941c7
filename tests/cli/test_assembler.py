"""The assembler says the same as libpcap's disassembler, and the ready measurements count what they say."""

from collections import Counter
from pathlib import Path

import pytest
from oracle import Packet, random_packets

from headrace.cards.filter import measurements
from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.assembler import assemble
from headrace.net.bpf import FilterError


@pytest.mark.parametrize(
    ("line", "code", "k"),
    [
        ("ld [12]", 0x20, 12),
        ("ldh [12]", 0x28, 12),
        ("ldb [0x0c]", 0x30, 12),
        ("ld [x + 14]", 0x40, 14),
        ("ldh [x+14]", 0x48, 14),
        ("ldb [x]", 0x50, 0),
        ("ld #7", 0x00, 7),
        ("ld len", 0x80, 0),
        ("ld M[3]", 0x60, 3),
        ("ldx #7", 0x01, 7),
        ("ldx len", 0x81, 0),
        ("ldx M[3]", 0x61, 3),
        ("ldx 4*([14]&0xf)", 0xB1, 14),
        ("st M[15]", 0x02, 15),
        ("stx M[15]", 0x03, 15),
        ("add #1", 0x04, 1),
        ("sub x", 0x1C, 0),
        ("mul #3", 0x24, 3),
        ("div x", 0x3C, 0),
        ("or #1", 0x44, 1),
        ("and #0xff", 0x54, 255),
        ("lsh #2", 0x64, 2),
        ("rsh x", 0x7C, 0),
        ("mod #8", 0x94, 8),
        ("xor x", 0xAC, 0),
        ("neg", 0x84, 0),
        ("tax", 0x07, 0),
        ("txa", 0x87, 0),
        ("ret #96", 0x06, 96),
        ("ret a", 0x16, 0),
    ],
)
def test_every_instruction(line: str, code: int, k: int) -> None:
    assert assemble(f"{line}\nret #0")[0] == (code, 0, 0, k)


def test_the_papers_listing_is_what_libpcap_compiles() -> None:
    text = """
                ldh [12]
                jeq #0x86dd, ipv6, ipv4
        ipv6:   ldb [20]
                jeq #0x06, srcv6, rej
        srcv6:  ldh [54]
                jeq #100, acc, rej
        ipv4:   jeq #0x0800, tcp4, rej
        tcp4:   ldb [23]
                jeq #0x06, frag0, rej
        frag0:  ldh [20]
                jset #0x1fff, rej, srcv4
        srcv4:  ldx 4*([14]&0xf)     ; the IP header's length
                ldh [x+14]
                jeq #100, acc, rej
        acc:    ret #0xffff
        rej:    ret #0
    """
    assert assemble(text).instructions == bpf.compile("tcp src port 100", snaplen=0xFFFF).instructions


def test_opposite_jumps_swap_their_labels() -> None:
    assert assemble("jne #1, t\nret #1\nt: ret #0")[0] == (0x15, 0, 1, 1)
    assert assemble("jlt x, t, f\nt: ret #1\nf: ret #0")[0] == (0x3D, 1, 0, 0)


def test_ja_may_jump_back() -> None:
    assert assemble("loop: txa\nja loop\nret #0")[1] == (0x05, 0, 0, 0xFFFFFFFE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frob #1", "mine: line 1: cannot read frob #1"),
        ("ret #0\nldh #1", "mine: line 2: cannot read ldh #1"),
        ("jeq #1, nowhere\nret #0", "mine: line 1: no label nowhere"),
        ("a: txa\na: ret #0", "mine: line 2: label a is defined twice"),
        ("up: txa\njeq #1, up\nret #0", "mine: line 2: a conditional jump reaches"),
        ("ret #4294967296", "mine: line 1: 4294967296 has more than 32 bits"),
        ("txa", "the last instruction is not a return"),
        ("", "no instructions"),
    ],
)
def test_wrong_text_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        assemble(text, "mine")


@pytest.fixture(scope="module")
def packets() -> list[Packet]:
    return random_packets(seed=7, count=1500)


def counted(name: str, packets: list[Packet]) -> Counter[int]:
    pairs = ((p.data, p.wirelen) for p in packets)
    program = bpf.for_link(measurements.find(name).program, bpf.LinkFormat(), "")
    return Counter(bpf.run_many(program, pairs))


def matching(expression: str, packets: list[Packet]) -> int:
    return sum(map(bool, bpf.run_many(bpf.compile(expression), ((p.data, p.wirelen) for p in packets))))


@pytest.mark.parametrize("name", measurements.READY)
def test_ready_measurements_stay_within_the_counters(name: str, packets: list[Packet]) -> None:
    assert max(counted(name, packets)) < measurements.COUNTERS


@pytest.mark.parametrize(
    ("name", "counter", "expression"),
    [
        ("ip-proto", 17, "ip proto 17 or ip6[6] = 17"),
        ("ip-proto", 58, "ip proto 58 or ip6[6] = 58"),
        ("tcp-dport", 80, "ip and tcp dst port 80 or (ip6[6] = 6 and tcp dst port 80)"),
        ("tcp-sport", 1023, "(ip or ip6[6] = 6) and tcp and not src portrange 0-1022 and src portrange 1023-65535"),
        ("udp-dport", 53, "ip and udp dst port 53 or (ip6[6] = 17 and udp dst port 53)"),
        ("udp-sport", 67, "ip and udp src port 67 or (ip6[6] = 17 and udp src port 67)"),
        ("size", 4, "len >= 64 and len <= 79"),
        ("ethertype", 3, "arp"),
        ("vlan-id", 100, "(ether[12:2] = 0x8100 or ether[12:2] = 0x88a8) and ether[14:2] & 0xfff = 100"),
        ("dscp", 46, "ip[1] & 0xfc = 0xb8 or (ip6 and ip6[0:2] & 0xfc0 = 0xb80)"),
        ("ttl", 255, "ip[8] = 255 or ip6[7] = 255"),
        ("tcp-flags", 0x12, "tcp[13] = 0x12 or (ip6[6] = 6 and ip6[53] = 0x12)"),
    ],
)
def test_untagged_packets_are_counted_as_the_filter_finds_them(
    name: str, counter: int, expression: str, packets: list[Packet]
) -> None:
    tagged = (b"\x81\x00", b"\x88\xa8")
    some = packets if name == "vlan-id" else [p for p in packets if p.data[12:14] not in tagged]
    assert counted(name, some)[counter] == matching(expression, some) > 0


def test_two_vlan_tags_are_looked_through() -> None:
    inside = bytes.fromhex("020000000001 020000000002 88a8 0064 8100 000a 0800") + bytes.fromhex(
        "45000020 00000000 4006 0000"
    )
    tcp = inside + bytes(8) + bytes.fromhex("0400 0050") + bytes(8) + bytes.fromhex("5012") + bytes(6)
    one = [Packet(tcp, len(tcp))]
    assert counted("ip-proto", one) == {6: 1}
    assert counted("tcp-dport", one) == {80: 1}
    assert counted("tcp-flags", one) == {0x12: 1}
    assert counted("ttl", one) == {64: 1}


def test_a_filter_counts_matches_in_1_and_the_rest_in_0(packets: list[Packet]) -> None:
    counts = counted("tcp port 80", packets)
    assert counts == {1: matching("tcp port 80", packets), 0: len(packets) - matching("tcp port 80", packets)}


@pytest.mark.parametrize("text", [bpf.dump(bpf.compile("arp", snaplen=5), 3), "ldh [12]\nret a"])
@pytest.mark.parametrize("mention", ["@{}", "{}"])
def test_a_file_holds_a_program_or_assembler(text: str, mention: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.bpf"
    file.write_text(text)
    assert measurements.find(mention.format(file)).program == (bpf.parse_program(text) or assemble(text))


def test_a_missing_program_file_is_named() -> None:
    with pytest.raises(HeadraceError, match=r"nothing\.bpf: No such file or directory"):
        measurements.find("@nothing.bpf")


@pytest.mark.parametrize(
    ("name", "counter", "label"),
    [
        ("ip-proto", 6, "TCP"),
        ("ip-proto", 200, "protocol 200"),
        ("ip-proto", 256, "not IP"),
        ("tcp-dport", 0, "not TCP, or a later fragment"),
        ("tcp-dport", 1023, "1023 and above"),
        ("size", 4, "64-79 bytes"),
        ("size", 1023, "16368 bytes and more"),
        ("ethertype", 1, "IPv4"),
        ("dscp", 46, "EF"),
        ("dscp", 10, "AF11"),
        ("tcp-flags", 0x12, "SYN ACK"),
        ("vlan-id", 0, "untagged"),
        ("ttl", 64, "TTL 64"),
        ("arp", 1, "match"),
        ("size", measurements.OUT_OF_RANGE, "out of range"),
    ],
)
def test_counters_have_names(name: str, counter: int, label: str) -> None:
    assert measurements.find(name).describe(counter) == label
