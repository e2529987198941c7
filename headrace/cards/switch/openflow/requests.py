"""What a controller sends, decoded: section 7.3 of OpenFlow 1.3.5. Multiparts are in ``multipart``."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from headrace.cards.switch.flows import Action, Band, Bucket, Instructions, Match
from headrace.cards.switch.openflow.actions import decode_actions, decode_buckets, decode_instructions
from headrace.cards.switch.openflow.constants import HEADER_BYTES, VERSION, BandKind, Kind, MeterFlag
from headrace.cards.switch.openflow.errors import BadRequest, DecodeError, MeterModFailed
from headrace.cards.switch.openflow.oxm import decode_match

HEADER = struct.Struct("!BBHI")
_ELEMENT = struct.Struct("!HH")
_WORD = struct.Struct("!I")
_TWO_WORDS = struct.Struct("!II")
_CONFIG = struct.Struct("!HH")
_PACKET_OUT = struct.Struct("!IIH6x")
_FLOW_MOD = struct.Struct("!QQBBHHHIIIH2x")
_GROUP_MOD = struct.Struct("!HBxI")
_PORT_MOD = struct.Struct("!I4x6s2xIII4x")
_TABLE_MOD = struct.Struct("!B3xI")
_METER_MOD = struct.Struct("!HHI")
_BAND = struct.Struct("!HHIIB3x")
_MULTIPART = struct.Struct("!HH4x")
_QUEUE_GET_CONFIG = struct.Struct("!I4x")
_ROLE = struct.Struct("!I4xQ")
_ASYNC = struct.Struct("!6I")
_VERSION_BITMAP = 1
_BANDS = frozenset(BandKind)


class Hello(NamedTuple):
    """``versions``: those of the bitmap; None: there is none."""

    version: int
    versions: frozenset[int] | None


class Bytes(NamedTuple):
    """Of an echo, or of an error: what is in it."""

    data: bytes


class Nothing(NamedTuple):
    """Of a request without a body."""


class Experimenter(NamedTuple):
    """Its number and its own kind."""

    experimenter: int
    kind: int


class SetConfig(NamedTuple):
    """``flags``: what to do with fragments. ``miss_send_len`` in bytes."""

    flags: int
    miss_send_len: int


class PacketOut(NamedTuple):
    """A packet, and what is to be done with it."""

    buffer: int
    in_port: int
    actions: tuple[Action, ...]
    data: bytes


class FlowMod(NamedTuple):
    """A change of flows. ``out_port`` and ``out_group`` filter what is deleted."""

    cookie: int
    cookie_mask: int
    table: int
    command: int
    idle_s: int
    hard_s: int
    priority: int
    buffer: int
    out_port: int
    out_group: int
    flags: int
    match: Match
    instructions: Instructions


class GroupMod(NamedTuple):
    """A change of groups."""

    command: int
    kind: int
    number: int
    buckets: tuple[Bucket, ...]


class PortMod(NamedTuple):
    """A change of a port: bits ``mask`` of its configuration become those of ``config``."""

    port: int
    mac: bytes
    config: int
    mask: int
    advertise: int


class TableMod(NamedTuple):
    """A change of a table, none of which OpenFlow 1.3 has."""

    table: int
    config: int


class MeterMod(NamedTuple):
    """A change of meters."""

    command: int
    flags: int
    number: int
    bands: tuple[Band, ...]


class Multipart(NamedTuple):
    """A request that ``multipart`` decodes further. ``more``: it goes on in another message."""

    kind: int
    more: bool
    body: bytes


class QueueGetConfig(NamedTuple):
    """A port's, or all with ANY."""

    port: int


class RoleRequest(NamedTuple):
    """A controller's wish, and of MASTER and SLAVE the number of the election."""

    role: int
    generation: int


class AsyncConfig(NamedTuple):
    """Which reasons are told, a bit each: the first number as master or equal, the second as slave."""

    packet_in: tuple[int, int]
    port_status: tuple[int, int]
    flow_removed: tuple[int, int]


Request = (
    Hello
    | Bytes
    | Nothing
    | Experimenter
    | SetConfig
    | PacketOut
    | FlowMod
    | GroupMod
    | PortMod
    | TableMod
    | MeterMod
    | Multipart
    | QueueGetConfig
    | RoleRequest
    | AsyncConfig
)


def decode(message: bytes) -> tuple[Kind, Request]:
    """A whole message. Raises DecodeError, and nothing else, whatever it is given."""
    if len(message) < HEADER_BYTES:
        raise DecodeError(BadRequest.BAD_LEN, f"a message of {len(message)} bytes")
    version, number, length, _ = HEADER.unpack_from(message)
    if length != len(message):
        raise DecodeError(BadRequest.BAD_LEN, f"{len(message)} bytes that say {length}")
    if version != VERSION and number != Kind.HELLO:
        raise DecodeError(BadRequest.BAD_VERSION, f"version {version:#x}")
    decoder = _DECODERS.get(number)
    if decoder is None:
        raise DecodeError(BadRequest.BAD_TYPE, f"type {number}")
    kind, decode_body = decoder
    return kind, decode_body(message)


def _unpack(layout: struct.Struct, message: bytes, exact: bool = True) -> tuple[int, ...]:
    """What follows the header. DecodeError, unless it's all there, and with ``exact`` nothing else."""
    beyond = len(message) - HEADER_BYTES - layout.size
    if beyond < 0 or (exact and beyond):
        raise DecodeError(BadRequest.BAD_LEN, f"{len(message)} bytes")
    return layout.unpack_from(message, HEADER_BYTES)


def _hello(message: bytes) -> Hello:
    """What is malformed in it is passed over: versions are all that counts."""
    at = HEADER_BYTES
    while at + _ELEMENT.size <= len(message):
        kind, length = _ELEMENT.unpack_from(message, at)
        if length < _ELEMENT.size or at + length > len(message):
            break
        if kind == _VERSION_BITMAP:
            words = message[at + _ELEMENT.size : at + length // 4 * 4]
            bits = [word >> n & 1 for (word,) in _WORD.iter_unpack(words) for n in range(32)]
            return Hello(message[0], frozenset(version for version, bit in enumerate(bits) if bit))
        at += (length + 7) // 8 * 8
    return Hello(message[0], None)


def _bytes(message: bytes) -> Bytes:
    return Bytes(message[HEADER_BYTES:])


def _nothing(message: bytes) -> Nothing:
    if len(message) != HEADER_BYTES:
        raise DecodeError(BadRequest.BAD_LEN, f"{len(message)} bytes")
    return Nothing()


def _packet_out(message: bytes) -> PacketOut:
    buffer, in_port, length = _unpack(_PACKET_OUT, message, exact=False)
    at = HEADER_BYTES + _PACKET_OUT.size
    end = at + length
    if end > len(message):
        raise DecodeError(BadRequest.BAD_LEN, f"actions of {length} bytes")
    return PacketOut(buffer, in_port, decode_actions(message, at, end), message[end:])


def _flow_mod(message: bytes) -> FlowMod:
    fields = _unpack(_FLOW_MOD, message, exact=False)
    match, at = decode_match(message, HEADER_BYTES + _FLOW_MOD.size)
    return FlowMod._make((*fields, match, decode_instructions(message, at, len(message))))


def _group_mod(message: bytes) -> GroupMod:
    command, kind, number = _unpack(_GROUP_MOD, message, exact=False)
    return GroupMod(command, kind, number, decode_buckets(message, HEADER_BYTES + _GROUP_MOD.size, len(message)))


def _meter_mod(message: bytes) -> MeterMod:
    command, flags, number = _unpack(_METER_MOD, message, exact=False)
    return MeterMod(command, flags, number, _decode_bands(message, flags))


def _decode_bands(message: bytes, flags: int) -> tuple[Band, ...]:
    bands = []
    at = HEADER_BYTES + _METER_MOD.size
    while at < len(message):
        if at + _BAND.size > len(message):
            raise DecodeError(BadRequest.BAD_LEN, "a band ends early")
        kind, length, rate, burst, level = _BAND.unpack_from(message, at)
        if kind not in _BANDS:
            raise DecodeError(MeterModFailed.BAD_BAND, f"band of type {kind}")
        if length != _BAND.size:
            raise DecodeError(BadRequest.BAD_LEN, f"a band of {length} bytes")
        bands.append(
            Band(rate, burst if flags & MeterFlag.BURST else 0, level if kind == BandKind.DSCP_REMARK else None)
        )
        at += _BAND.size
    return tuple(bands)


def _multipart(message: bytes) -> Multipart:
    kind, flags = _unpack(_MULTIPART, message, exact=False)
    return Multipart(kind, bool(flags & 1), message[HEADER_BYTES + _MULTIPART.size :])


def _port_mod(message: bytes) -> PortMod:
    return PortMod(*_unpack(_PORT_MOD, message))  # type: ignore[arg-type]  # bytes among them


def _async_config(message: bytes) -> AsyncConfig:
    masks = _unpack(_ASYNC, message)
    return AsyncConfig(*zip(masks[::2], masks[1::2], strict=True))


_BODIES: dict[Kind, Callable[[bytes], Request]] = {
    Kind.HELLO: _hello,
    Kind.ERROR: _bytes,
    Kind.ECHO_REQUEST: _bytes,
    Kind.ECHO_REPLY: _bytes,
    Kind.EXPERIMENTER: lambda message: Experimenter(*_unpack(_TWO_WORDS, message, exact=False)),
    Kind.FEATURES_REQUEST: _nothing,
    Kind.GET_CONFIG_REQUEST: _nothing,
    Kind.SET_CONFIG: lambda message: SetConfig(*_unpack(_CONFIG, message)),
    Kind.PACKET_OUT: _packet_out,
    Kind.FLOW_MOD: _flow_mod,
    Kind.GROUP_MOD: _group_mod,
    Kind.PORT_MOD: _port_mod,
    Kind.TABLE_MOD: lambda message: TableMod(*_unpack(_TABLE_MOD, message)),
    Kind.MULTIPART_REQUEST: _multipart,
    Kind.BARRIER_REQUEST: _nothing,
    Kind.QUEUE_GET_CONFIG_REQUEST: lambda message: QueueGetConfig(*_unpack(_QUEUE_GET_CONFIG, message)),
    Kind.ROLE_REQUEST: lambda message: RoleRequest(*_unpack(_ROLE, message)),
    Kind.GET_ASYNC_REQUEST: _nothing,
    Kind.SET_ASYNC: _async_config,
    Kind.METER_MOD: _meter_mod,
}
KINDS = frozenset(_BODIES)
"""What can be decoded."""
_DECODERS = {int(kind): (kind, decoder) for kind, decoder in _BODIES.items()}
