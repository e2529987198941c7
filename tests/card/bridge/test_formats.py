"""Packets in shared memory, by EmbedNet's format."""

from __future__ import annotations

import random
import struct
import zlib

import pytest

from headrace.cards.bridge.formats import (
    Address,
    FormatError,
    Header,
    Packet,
    idp,
    pack,
    pack_packet,
    packed_bytes,
    unpack,
    unpack_counted,
)

HEADER = Header(Address(0xA, 2), 0x01020304, 0xFFEEDDCC, level=3, egress=True, critical=False)


def random_packet(rng: random.Random, size: int) -> Packet:
    header = Header(
        Address(rng.randrange(16), rng.randrange(4)),
        rng.getrandbits(32),
        rng.getrandbits(32),
        rng.randrange(4),
        rng.random() < 0.5,
        rng.random() < 0.5,
    )
    return Packet(rng.randbytes(size), header)


def test_a_packet_lies_in_memory_as_embednets_does() -> None:
    assert pack_packet(Packet(b"abcde", HEADER)) == bytes.fromhex("0500 80ab 04030201 ccddeeff") + b"abcde\0\0\0"


def test_critical_and_direction_are_neighbours() -> None:
    header = HEADER._replace(egress=False, critical=True, level=0, address=Address(0, 0))
    assert struct.unpack("<I", pack_packet(Packet(b"a", header))[:4])[0] == 1 << 22 | 1


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 63, 1513, 1514])
def test_every_size_comes_back(size: int) -> None:
    packets = [random_packet(random.Random(size), size) for _ in range(5)]
    buffer = pack(packets)
    assert len(buffer) == 4 + 5 * packed_bytes(size) and len(buffer) % 4 == 0
    assert unpack_counted(buffer) == packets
    assert unpack(buffer[4:], 5, len(buffer) // 4 - 1) == packets


def test_what_is_behind_the_words_does_not_count() -> None:
    packets = [random_packet(random.Random(1), 9)]
    assert unpack(memoryview(pack(packets)[4:] + b"\xff" * 99), 1, 6) == packets


@pytest.mark.parametrize("size", [0, 1515])
def test_packets_that_are_empty_or_too_long_are_refused(size: int) -> None:
    with pytest.raises(FormatError, match=f"a packet of {size:,} bytes: must have 1 to 1,514"):
        pack([Packet(bytes(size), HEADER)], 1514)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 4}, "level 4: out of range"),
        ({"address": Address(16, 0)}, "switch 16"),
        ({"source": 1 << 32}, "must have 32 bits"),
    ],
)
def test_headers_that_do_not_fit_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        pack_packet(Packet(b"a", HEADER._replace(**change)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "packets", "words", "message"),
    [
        (bytes(12), 1, 3, "has no payload"),
        (b"\x05" + bytes(15), 1, 4, "its 5 bytes at byte 12 go too far"),
        (b"\x04" + bytes(15), 2, 4, "packet 1 of 2: its header at byte 16 is beyond the end"),
        (b"\x04" + bytes(19), 1, 5, "1 packets are in 4 words, not in 5"),
        (bytes(4), 0, 2, "2 words are more than the buffer"),
    ],
)
def test_buffers_that_lie_are_told(data: bytes, packets: int, words: int, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        unpack(data, packets, words)


def test_a_buffer_without_a_count_is_told() -> None:
    with pytest.raises(FormatError, match="has no count"):
        unpack_counted(b"\0\0")


def test_an_idp_is_the_crc_of_a_name_or_a_number() -> None:
    assert idp("büro") == zlib.crc32("büro".encode())
    assert idp(7) == 7
    with pytest.raises(FormatError, match="must be a name or a number of 32 bits"):
        idp(1 << 32)
