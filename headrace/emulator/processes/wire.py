"""Packets between the processes of nodes: datagrams within a node, a stream of frames over a TCP connection.

A head of fixed length, then the body. Relays change ``ttl``, ``hops`` and ``via`` in place; the CRC is the body's.
"""

from __future__ import annotations

import enum
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_BODY = 65_000
"""Bytes: what a message has at most, as in the thesis."""

TTL = 35  # NET_DIAMETER of RFC 3561

_MAGIC, _VERSION = 0x4852, 1
_HEAD = struct.Struct("!HBBHHBBHIIQII")
HEAD_BYTES = _HEAD.size
_TTL_AT, _HOPS_AT, _VIA = 8, 9, struct.Struct("!H")
_VIA_AT = 10


class Malformed(ValueError):
    """What can't be a packet, and why."""


class Kind(enum.IntEnum):
    """What a packet is. Those up to FILL go between nodes, the others stay in one."""

    HELLO = 1  # who is at the other end; and it lives
    REQUEST = 2  # AODV's three
    REPLY = 3
    ERROR = 4
    DATA = 5
    ACK = 6
    REPORT = 7  # to the master coordinator
    FILL = 8  # to measure with
    WHO = 9  # discovery: who has a role?
    IS = 10  # discovery: I have
    STATE = 11  # a process to the control processor: how it is
    TABLE = 12  # the control processor to a process: who is where, and the routes
    LINK = 13  # the control processor to a PHY: whom to connect to
    WANT = 14  # to the control processor: a route is needed
    NO_ROUTE = 15  # to the control processor: a packet of a neighbour's that no route was there for


class Packet(NamedTuple):
    """``source``, ``destination``, ``via``: numbers of nodes from 1, 0: none. ``via``: the next one. ``time_ns``: when
    it was sent first, CLOCK_MONOTONIC."""

    kind: Kind
    source: int
    destination: int = 0
    ttl: int = TTL
    hops: int = 0
    via: int = 0
    stream: int = 0
    number: int = 0
    time_ns: int = 0
    body: bytes = b""


def encode(packet: Packet) -> bytearray:
    """As bytes."""
    kind, source, destination, ttl, hops, via, stream, number, time_ns, body = packet
    head = (_MAGIC, _VERSION, kind, source, destination, ttl, hops, via, stream, number, time_ns, len(body))
    data = bytearray(_HEAD.pack(*head, zlib.crc32(body)))
    data += body
    return data


def decode(data: bytes | bytearray) -> Packet:
    """A whole packet. Raises Malformed."""
    if not data or length(data) != len(data):
        raise Malformed("its length isn't what it says")
    _, _, kind, source, destination, ttl, hops, via, stream, number, time_ns, _, crc = _HEAD.unpack_from(data)
    body = bytes(memoryview(data)[HEAD_BYTES:])
    if zlib.crc32(body) != crc:
        raise Malformed("its CRC is wrong")
    return Packet(Kind(kind), source, destination, ttl, hops, via, stream, number, time_ns, body)


def length(data: bytes | bytearray) -> int:
    """Bytes of the packet that begins here; 0: its head isn't all there. Raises Malformed."""
    if len(data) < HEAD_BYTES:
        if bytes(data[:2]) != _MAGIC.to_bytes(2)[: len(data)]:
            raise Malformed("no packet")
        return 0
    magic, version, kind, *_, size, _ = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != _VERSION or not Kind.HELLO <= kind <= Kind.NO_ROUTE:
        raise Malformed("no packet")
    if size > MAX_BODY:
        raise Malformed(f"a body of {size} bytes")
    return HEAD_BYTES + int(size)


def route_of(data: bytes | bytearray) -> tuple[int, int, int, int]:
    """Of a packet whose ``length`` was fine: kind, destination, ttl and via."""
    return data[3], int.from_bytes(data[6:8]), data[_TTL_AT], int.from_bytes(data[_VIA_AT : _VIA_AT + 2])


def relay(data: bytearray, via: int) -> None:
    """A hop more, to this node next."""
    data[_TTL_AT] -= 1
    data[_HOPS_AT] = min(data[_HOPS_AT] + 1, 255)
    set_via(data, via)


def set_via(data: bytearray, via: int) -> None:
    """Who is next."""
    _VIA.pack_into(data, _VIA_AT, via)


def to_json(value: Mapping[str, Any]) -> bytes:
    """A body."""
    return json.dumps(value, separators=(",", ":")).encode()


def from_json(body: bytes) -> dict[str, Any]:
    """Of a body. Raises Malformed."""
    try:
        value = json.loads(body)
    except ValueError:
        raise Malformed("no JSON") from None
    if not isinstance(value, dict):
        raise Malformed("no JSON object")
    return value
