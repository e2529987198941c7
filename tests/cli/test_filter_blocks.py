# SPDX-License-Identifier: Apache-2.0
"""``headrace filter`` from pcapng into pcapng: what is accepted is copied with all that belongs to it."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from called import call

from headrace.build.models import build_card

SECTION, INTERFACE, OLD, NAMES, SIMPLE, STATISTICS, ENHANCED, CUSTOM = 0x0A0D0D0A, 1, 2, 4, 3, 5, 6, 0xBAD
ETHERNET, SLL, RAW = 1, 113, 101
COMMENT, NAME = 1, 2

_IP = bytes.fromhex("4500002800004000401100000a0000010a000002") + struct.pack(">HHHH", 1000, 53, 20, 0) + bytes(12)
UDP = {
    ETHERNET: bytes(12) + b"\x08\x00" + _IP,
    SLL: struct.pack(">HHHQH", 0, 1, 6, 0, 0x800) + _IP,
    RAW: _IP,
}
ARP = {ETHERNET: bytes(12) + b"\x08\x06" + bytes(28), SLL: struct.pack(">HHHQH", 0, 1, 6, 0, 0x806) + bytes(28)}


@pytest.fixture(scope="module", autouse=True)
def models() -> None:
    build_card("filter", progress=False)
    build_card("capture", {"CORES": 0}, progress=False)
    build_card("capture", {"CORES": 2}, progress=False)


class Made(NamedTuple):
    """A block, and the kind of packet in it: udp, arp or none."""

    raw: bytes
    packet: str = ""


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


class Section:
    """Blocks of a section, in one order of numbers."""

    def __init__(self, order: str) -> None:
        self.order, self.types = order, list[int]()

    def block(self, kind: int, body: bytes, packet: str = "") -> Made:
        size = struct.pack(f"{self.order}I", len(body) + 12)
        return Made(struct.pack(f"{self.order}I", kind) + size + body + size, packet)

    def option(self, code: int, text: str) -> bytes:
        data = text.encode()
        return struct.pack(f"{self.order}HH", code, len(data)) + padded(data) + bytes(4)

    def head(self, length: int) -> Made:
        numbers = struct.pack(f"{self.order}IHHq", 0x1A2B3C4D, 1, 0, length)
        return self.block(SECTION, numbers + self.option(COMMENT, "a section"))

    def interface(self, linktype: int, name: str) -> Made:
        self.types.append(linktype)
        return self.block(INTERFACE, struct.pack(f"{self.order}HHI", linktype, 0, 262144) + self.option(NAME, name))

    def packet(self, interface: int, what: str, kind: int = ENHANCED, comment: str = "a packet") -> Made:
        data = {"udp": UDP, "arp": ARP}[what][self.types[interface]]
        size = len(data)
        if kind == SIMPLE:
            return self.block(kind, struct.pack(f"{self.order}I", size) + padded(data), what)
        if kind == OLD:
            head = struct.pack(f"{self.order}HH4I", interface, 7, 1, 2, size, size)
        else:
            head = struct.pack(f"{self.order}5I", interface, 1 << 31, 3, size, size)
        return self.block(kind, head + padded(data) + self.option(COMMENT, comment), what)


def several(length: int) -> list[Made]:
    """Two sections of both orders, with all kinds of blocks, of the given length."""
    made = []
    for order in "<>":
        one = Section(order)
        made += [one.head(length), one.interface(ETHERNET, "eth0"), one.interface(SLL, "any"), one.packet(0, "arp")]
        made += [one.packet(1, "udp"), one.block(NAMES, bytes(4)), one.packet(0, "udp", OLD), one.packet(1, "arp")]
        made += [one.interface(RAW, "tun0"), one.packet(2, "udp"), one.packet(0, "udp", SIMPLE)]
        made += [
            one.block(CUSTOM, b"a vendor's own   "[:16]),
            one.packet(0, "arp", SIMPLE),
            one.block(STATISTICS, bytes(12)),
        ]
    return made


ORDER = 2 * [
    ("arp", ETHERNET),
    ("udp", SLL),
    ("udp", ETHERNET),
    ("arp", SLL),
    ("udp", RAW),
    ("udp", ETHERNET),
    ("arp", ETHERNET),
]
"""Packets of ``several``."""


@contextmanager
def piped(data: bytes, first: int) -> Iterator[None]:
    """The standard input is a pipe, which gets the ``first`` bytes a while before the others."""
    end, into = os.pipe()
    before = os.dup(0)
    os.dup2(end, 0)
    os.close(end)

    def write() -> None:
        with open(into, "wb", buffering=0) as pipe:
            pipe.write(data[:first])
            time.sleep(0.1)
            pipe.write(data[first:])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
        thread.join()


def joined(made: list[Made], *wanted: str) -> bytes:
    return b"".join(block.raw for block in made if not block.packet or block.packet in wanted)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "in.pcapng"
    path.write_bytes(joined(several(4000), "udp", "arp"))
    return path


def test_each_link_types_packets_get_their_program(capture: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out.pcapng", tmp_path / "other.pcapng.gz"
    done = call("filter", "udp", capture, "-w", out, "--also", "arp", "-w", other, "--json", "-")
    assert done.returncode == 0
    assert out.read_bytes() == joined(several(-1), "udp")
    assert gzip.decompress(other.read_bytes()) == joined(several(-1), "arp")
    report = json.loads(done.stdout)
    assert (report["packets"], report["matched"], report["uninspected"]) == (14, 14, 0)
    assert [(one["matched"], one["written"], one["path"]) for one in report["programs"]] == [
        (8, 8, str(out)),
        (6, 6, str(other)),
    ]


@pytest.mark.parametrize("cut", [0, 9])
def test_so_do_those_of_a_packed_file(cut: int, capture: Path, tmp_path: Path) -> None:
    whole = gzip.compress(capture.read_bytes())
    (tmp_path / "in.gz").write_bytes(whole[: len(whole) - cut])
    done = call("filter", "-q", "udp", "in.gz", "-w", "out.pcapng", folder=tmp_path)
    expected = (1, "headrace: in.gz: it can't all be unpacked: unexpected end of file\n") if cut else (0, "")
    assert (done.returncode, done.stderr) == expected
    assert joined(several(-1), "udp").startswith((tmp_path / "out.pcapng").read_bytes())
    assert cut or (tmp_path / "out.pcapng").read_bytes() == joined(several(-1), "udp")


@pytest.mark.parametrize("line", ["filter udp -", "capture -r - udp --cores 2"])
@pytest.mark.parametrize("packed", [False, True])
def test_so_do_those_of_a_pipe(line: str, packed: bool, capture: Path, tmp_path: Path) -> None:
    """Which gives its first interface long before the others."""
    data = capture.read_bytes()
    with piped(gzip.compress(data) if packed else data, 60):
        done = call(*line.split(), "-q", "-w", "out.pcapng", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out.pcapng").read_bytes() == joined(several(-1), "udp")


def test_a_pipe_of_one_link_type_is_read_as_it_comes(tmp_path: Path) -> None:
    one = Section("<")
    made = [one.head(-1), one.interface(ETHERNET, "eth0"), one.packet(0, "udp"), one.packet(0, "arp")]
    with piped(joined(made, "udp", "arp"), 60):
        counted = call("measure", "udp", "-", "--json", "-")
    assert json.loads(counted.stdout)["packets"] == 2


def test_capture_copies_what_its_filter_accepts(capture: Path, tmp_path: Path) -> None:
    done = call("capture", "-r", capture, "-w", "out.pcapng", "--json", "-", "--cores", 2, "arp", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out.pcapng").read_bytes() == joined(several(-1), "arp")
    report = json.loads(done.stdout)
    assert [report[name] for name in ("captured", "received", "rejected", "missing")] == [6, 14, 8, 0]
    size = sum(len(ARP[linktype]) for what, linktype in ORDER if what == "arp")
    assert report["captured_bytes"] == report["wire_bytes"] == size
    assert report["files"] == ["out.pcapng"]


def test_capture_copies_so_many(capture: Path, tmp_path: Path) -> None:
    done = call("capture", "-r", capture, "-w", tmp_path / "out.pcapng", "-c", "3")
    counts = "3 packets captured\n14 packets received by filter\n0 packets dropped by card\n"
    assert (done.returncode, done.stderr) == (0, f"{counts}11 packets captured but not written\n")
    made = several(-1)
    third = [number for number, block in enumerate(made) if block.packet][2]
    assert (tmp_path / "out.pcapng").read_bytes() == joined(made[: third + 1], "udp", "arp")


def test_measure_counts_them_in_one_table(capture: Path) -> None:
    sizes = Counter(len({"udp": UDP, "arp": ARP}[what][linktype]) // 16 for what, linktype in ORDER)
    counted = json.loads(call("measure", "size", capture, "--json", "-").stdout)
    assert {each["counter"]: each["packets"] for each in counted["counters"]} == sizes
    first = json.loads(call("measure", "udp", capture, "-c", "3", "--json", "-").stdout)
    assert {each["counter"]: each["packets"] for each in first["counters"]} == {0: 1, 1: 2}


def test_they_are_counted_without_a_file(capture: Path) -> None:
    report = json.loads(call("filter", "udp", capture, "--json", "-").stdout)
    assert (report["packets"], report["matched"]) == (14, 8)


def test_so_many_are_copied(capture: Path, tmp_path: Path) -> None:
    assert call("filter", "-q", "udp", capture, "-w", tmp_path / "out.pcapng", "-c", "3").returncode == 0
    made = several(-1)
    third = [number for number, block in enumerate(made) if block.packet == "udp"][2]
    assert (tmp_path / "out.pcapng").read_bytes() == joined(made[: third + 1], "udp")


def test_one_link_types_file_keeps_all_that_is_in_it(tmp_path: Path) -> None:
    one = Section(">")
    made = [one.head(-1), one.interface(ETHERNET, "eth0"), one.interface(ETHERNET, "eth1")]
    made += [
        one.packet(number % 2, what, comment=f"{number}") for number, what in enumerate(["udp", "arp", "udp"] * 20)
    ]
    (tmp_path / "in.pcapng").write_bytes(joined(made, "udp", "arp"))
    assert call("filter", "-q", "udp", tmp_path / "in.pcapng", "-w", tmp_path / "out.pcapng").returncode == 0
    assert (tmp_path / "out.pcapng").read_bytes() == joined(made, "udp")


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda data: data[:-5], "the file is cut off"),
        (lambda data: data[:-4] + b"\x00\x00\x00\x05", "its two lengths differ"),
        (lambda data: data + b"\x00\x00\x00\x09\x00\x00\x00\x09", "its length of 9 bytes is wrong"),
        (lambda data: data + Section(">").block(ENHANCED, bytes(20)).raw[:-4] + bytes(4), "its two lengths differ"),
        (lambda data: data + Section(">").block(ENHANCED, b"\x00\x00\x00\x63" + bytes(16)).raw, "its content is wrong"),
        (lambda data: data + b"\x0a\x0d\x0d\x0a\x00\x00\x00\x1cNONE", "no section of a pcapng file"),
    ],
)
def test_what_comes_before_a_fault_is_copied(spoil: object, what: str, tmp_path: Path) -> None:
    made = several(-1)
    whole = joined(made, "udp", "arp")
    (tmp_path / "in.pcapng").write_bytes(spoil(whole))  # type: ignore[operator]
    done = call("filter", "-q", "udp", "in.pcapng", "-w", "out.pcapng", folder=tmp_path)
    kept = made[:-1] if what.startswith(("the file", "its two")) and len(spoil(whole)) <= len(whole) else made  # type: ignore[operator]
    at = len(joined(kept, "udp", "arp"))
    assert (done.returncode, done.stderr) == (1, f"headrace: in.pcapng: block at byte {at}: {what}\n")
    assert (tmp_path / "out.pcapng").read_bytes() == joined(kept, "udp")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("filter udp IN -w out.pcap", "IN: packets of several link types need pcapng: -w FILE.pcapng"),
        ("filter udp IN -s 60", "IN: packets of several link types: leave -s out"),
        ("filter udp IN --rate recorded", "IN: packets of several link types: leave --rate recorded out"),
        ("capture -r IN -w out.pcap", "IN: packets of several link types need pcapng: -w FILE.pcapng"),
        (
            "capture -r IN -w out.pcapng -C 1 --timestamps card",
            "IN: packets of several link types: leave -C/-G/-W/-a/-b --timestamps card out",
        ),
        ("measure size IN --rate recorded", "IN: packets of several link types: leave --rate recorded out"),
        (
            "measure ip-proto IN",
            "ip-proto: is for EN10MB, but IN has link type LINUX_SLL",
        ),
    ],
)
def test_what_they_can_not_do_is_told(line: str, message: str, capture: Path) -> None:
    done = call(*(capture if word == "IN" else word for word in line.split()))
    assert (done.returncode, done.stderr) == (2, "headrace: " + re.sub(r"\bIN\b", str(capture), message) + "\n")


def test_a_filter_that_is_wrong_for_one_of_them_says_for_which(capture: Path) -> None:
    done = call("filter", "ether host 1:2:3:4:5:6", capture)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith(f" (for packets of LINUX_SLL in {capture})\n")
