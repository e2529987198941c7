"""Packets in the memory that the bridge shares with software, and the names of the parties.

A packet is a header of three little-endian words and its payload, padded with zeros to whole words (EmbedNet's format):

======  ===========================================================================================================
word 0  bits 31:28 switch, 27:26 block, 25:24 priority level, 23 egress, 22 critical, 15:0 bytes of payload
word 1  IDP of the source
word 2  IDP of the destination
======  ===========================================================================================================

A buffer from hardware to software holds packets one after the other; in one from software to hardware, a word with
their number comes first.
"""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headrace.errors import HeadraceError

WORD = 4  # bytes
HEADER_BYTES = 12
MAX_PAYLOAD = 0xFFFF  # bytes that the length field can say; the card's own limit is lower

_HEADER = struct.Struct("<HHII")  # length, the rest of word 0, source, destination
_COUNT = struct.Struct("<I")
_PADDING = (b"", b"\0\0\0", b"\0\0", b"\0")  # by the bytes in the last word


class FormatError(HeadraceError):
    """A buffer or a packet is not what it should be."""


class Address(NamedTuple):
    """Where a block is on the network on chip: number of the switch (0 to 15) and its block there (0 to 3)."""

    switch: int
    block: int


class Header(NamedTuple):
    """What is said about a packet beside its payload. ``level``: priority, 0 to 3; ``source``, ``destination``: IDPs;
    ``egress``: its direction; ``critical``: it goes before others, and at once."""

    address: Address
    source: int = 0
    destination: int = 0
    level: int = 0
    egress: bool = False
    critical: bool = False


class Packet(NamedTuple):
    """A packet: 1 byte of payload at least."""

    payload: bytes
    header: Header


def idp(name: str | int) -> int:
    """The IDP of a name: the CRC-32 of its UTF-8 bytes (that of zlib). A number stands for itself.

    Raises FormatError when the number doesn't fit 32 bits.
    """
    if isinstance(name, str):
        return zlib.crc32(name.encode())
    if not 0 <= name < 1 << 32:
        raise FormatError(f"IDP {name}: must be a name or a number of 32 bits", 2)
    return name


def packed_bytes(payload_bytes: int) -> int:
    """Bytes that a packet takes in a buffer."""
    return HEADER_BYTES + -(-payload_bytes // WORD) * WORD


def pack_packet(packet: Packet, max_payload: int = MAX_PAYLOAD) -> bytes:
    """A packet as it lies in a buffer. Raises FormatError when it is empty or longer than ``max_payload`` bytes."""
    payload, header = packet
    length = len(payload)
    if not 0 < length <= max_payload:
        raise FormatError(f"a packet of {length:,} bytes: must have 1 to {max_payload:,}", 2)
    return _HEADER.pack(length, _flags(header), header.source, header.destination) + payload + _PADDING[length % WORD]


def pack(packets: Iterable[Packet], max_payload: int = MAX_PAYLOAD) -> bytes:
    """A buffer from software to hardware. Raises FormatError as ``pack_packet`` does."""
    return join([pack_packet(packet, max_payload) for packet in packets])


def join(packed: list[bytes]) -> bytes:
    """A buffer from software to hardware, of packets that are packed already."""
    return _COUNT.pack(len(packed)) + b"".join(packed)


def unpack(buffer: memoryview | bytes, packets: int, words: int | None = None) -> list[Packet]:
    """The packets of a buffer from hardware to software, of which ``words`` words are filled (None: all).

    Raises FormatError, which says what is wrong where, unless there are ``packets`` packets in just so many words.
    """
    end = len(buffer) if words is None else words * WORD
    if end > len(buffer):
        raise FormatError(f"{words:,} words are more than the buffer of {len(buffer):,} bytes has")
    data = bytes(buffer[:end])  # one copy, of which payloads are cut
    found = list(_unpack(data, packets))
    used = sum(packed_bytes(len(packet.payload)) for packet in found)
    if words is not None and used != end:
        raise FormatError(f"{packets:,} packets are in {used // WORD:,} words, not in {words:,}")
    return found


def unpack_counted(buffer: memoryview | bytes) -> list[Packet]:
    """The packets of a buffer from software to hardware. Raises FormatError when its count or a length is not true."""
    if len(buffer) < WORD:
        raise FormatError(f"a buffer of {len(buffer)} bytes has no count")
    return list(_unpack(bytes(buffer[WORD:]), _COUNT.unpack_from(buffer)[0]))


def _unpack(data: bytes, packets: int) -> Iterator[Packet]:
    position, end = 0, len(data)
    read, size, header_of = _HEADER.unpack_from, HEADER_BYTES, _header
    for number in range(packets):
        start = position + size
        if start > end:
            raise FormatError(f"packet {number} of {packets:,}: its header at byte {position:,} is beyond the end")
        length, flags, source, destination = read(data, position)
        if length == 0:
            raise FormatError(f"packet {number} of {packets:,} at byte {position:,} has no payload")
        position = start + (length + 3 & ~3)
        if position > end:
            raise FormatError(f"packet {number} of {packets:,}: its {length:,} bytes at byte {start:,} go too far")
        yield Packet(data[start : start + length], header_of(flags, source, destination))


@functools.lru_cache(maxsize=4096)
def _flags(header: Header) -> int:
    """Bits 31:16 of word 0. Raises FormatError for fields that don't fit."""
    address = header.address
    if not (0 <= address.switch < 16 and 0 <= address.block < 4 and 0 <= header.level < 4):
        raise FormatError(f"switch {address.switch}, block {address.block}, level {header.level}: out of range", 2)
    if not (0 <= header.source < 1 << 32 and 0 <= header.destination < 1 << 32):
        raise FormatError(f"IDPs {header.source:#x} and {header.destination:#x}: must have 32 bits", 2)
    bits = address.switch << 12 | address.block << 10 | header.level << 8
    return bits | header.egress << 7 | header.critical << 6


@functools.lru_cache(maxsize=4096)
def _header(flags: int, source: int, destination: int) -> Header:
    return Header(
        Address(flags >> 12, flags >> 10 & 3),
        source,
        destination,
        flags >> 8 & 3,
        bool(flags >> 7 & 1),
        bool(flags >> 6 & 1),
    )
