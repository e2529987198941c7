"""Multipart requests decoded, and the replies encoded: section 7.3.5 of OpenFlow 1.3.5."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from headrace.cards.switch.flows import (
    ActionKind,
    Count,
    Flow,
    Group,
    GroupKind,
    Match,
    Meter,
    MeterCount,
    PortCount,
    TableCount,
)
from headrace.cards.switch.openflow import oxm
from headrace.cards.switch.openflow.actions import encode_buckets, encode_instructions
from headrace.cards.switch.openflow.constants import (
    HEADER_BYTES,
    MAX_MESSAGE,
    BandKind,
    GroupCapability,
    InstructionKind,
    Kind,
    MeterFlag,
    Part,
    TableProperty,
)
from headrace.cards.switch.openflow.errors import BadRequest, DecodeError
from headrace.cards.switch.openflow.replies import message
from headrace.cards.switch.openflow.requests import Multipart

_HEAD = struct.Struct("!HH4x")
_FLOW_REQUEST = struct.Struct("!B3xII4xQQ")
_NUMBER = struct.Struct("!I4x")
_QUEUE_REQUEST = struct.Struct("!II")
_DESC = struct.Struct("!256s256s256s32s256s")
_FLOW = struct.Struct("!HBxIIHHHH4xQQQ")
_AGGREGATE = struct.Struct("!QQI4x")
_TABLE = struct.Struct("!B3xIQQ")
_PORT = struct.Struct("!I4x12QII")
_QUEUE = struct.Struct("!IIQQQII")
_GROUP = struct.Struct("!H2xII4xQQII")
_COUNT = struct.Struct("!QQ")
_GROUP_DESC = struct.Struct("!HBxI")
_GROUP_FEATURES = struct.Struct("!II4I4I")
_METER = struct.Struct("!IH6xIQQII")
_METER_CONFIG = struct.Struct("!HHI")
_BAND = struct.Struct("!HHIIB3x")
_METER_FEATURES = struct.Struct("!IIIBB2x")
_TABLE_FEATURES = struct.Struct("!HB5x32sQQII")
_PROPERTY = struct.Struct("!HH")
_NS = 1_000_000_000


class FlowRequest(NamedTuple):
    """Which flows are asked for: as a non-strict delete would take them."""

    table: int
    out_port: int
    out_group: int
    cookie: int
    cookie_mask: int
    match: Match


class QueueRequest(NamedTuple):
    """Which queues are asked for; ANY_QUEUE and ANY: all."""

    port: int
    queue: int


Body = FlowRequest | QueueRequest | int | bytes


def decode(request: Multipart) -> tuple[Part, Body]:
    """What is asked for: of PORT_STATS, GROUP, METER and METER_CONFIG the number. Raises DecodeError."""
    if request.kind not in _DECODERS:
        raise DecodeError(BadRequest.BAD_MULTIPART, f"multipart of type {request.kind}")
    kind = Part(request.kind)
    if kind == Part.EXPERIMENTER:
        raise DecodeError(BadRequest.BAD_EXPERIMENTER, "no experimenter's multiparts")
    if request.more and kind != Part.TABLE_FEATURES:
        raise DecodeError(BadRequest.MULTIPART_BUFFER_OVERFLOW, f"{kind.name} in more than one message")
    return kind, _DECODERS[kind](request.body)


def _fields(layout: struct.Struct, body: bytes, exact: bool = True) -> tuple[int, ...]:
    if len(body) < layout.size or (exact and len(body) > layout.size):
        raise DecodeError(BadRequest.BAD_LEN, f"{len(body)} bytes")
    return layout.unpack_from(body)


def _nothing(body: bytes) -> bytes:
    if body:
        raise DecodeError(BadRequest.BAD_LEN, f"{len(body)} bytes")
    return body


def _number(body: bytes) -> int:
    return _fields(_NUMBER, body)[0]


def _flow_request(body: bytes) -> FlowRequest:
    fields = _fields(_FLOW_REQUEST, body, exact=False)
    match, end = oxm.decode_match(body, _FLOW_REQUEST.size)
    if end != len(body):
        raise DecodeError(BadRequest.BAD_LEN, f"{len(body) - end} bytes behind the match")
    return FlowRequest._make((*fields, match))


_DECODERS: dict[int, Callable[[bytes], Body]] = {
    Part.DESC: _nothing,
    Part.FLOW: _flow_request,
    Part.AGGREGATE: _flow_request,
    Part.TABLE: _nothing,
    Part.PORT_STATS: _number,
    Part.QUEUE: lambda body: QueueRequest(*_fields(_QUEUE_REQUEST, body)),
    Part.GROUP: _number,
    Part.GROUP_DESC: _nothing,
    Part.GROUP_FEATURES: _nothing,
    Part.METER: _number,
    Part.METER_CONFIG: _number,
    Part.METER_FEATURES: _nothing,
    Part.TABLE_FEATURES: bytes,
    Part.PORT_DESC: _nothing,
    Part.EXPERIMENTER: bytes,
}


def reply(xid: int, kind: Part, parts: Iterable[bytes]) -> Iterator[bytes]:
    """As many messages as the parts need; no part is torn apart."""
    room = MAX_MESSAGE - HEADER_BYTES - _HEAD.size
    body: list[bytes] = []
    used = 0
    for part in parts:
        if used + len(part) > room:
            yield message(Kind.MULTIPART_REPLY, xid, _HEAD.pack(kind, 1) + b"".join(body))
            body, used = [], 0
        body.append(part)
        used += len(part)
    yield message(Kind.MULTIPART_REPLY, xid, _HEAD.pack(kind, 0) + b"".join(body))


def desc(manufacturer: str, hardware: str, software: str, serial: str, datapath: str) -> bytes:
    """Of the switch, for people."""
    return _DESC.pack(*(text.encode() for text in (manufacturer, hardware, software, serial, datapath)))


def flow(of: Flow, count: Count, now_ns: int) -> bytes:
    """A flow entry and its counters."""
    body = oxm.encode_match(of.match) + encode_instructions(of.instructions)
    head = _FLOW.pack(
        _FLOW.size + len(body),
        of.table,
        *divmod(now_ns - of.created_ns, _NS),
        of.priority,
        of.idle_s,
        of.hard_s,
        of.flags,
        of.cookie,
        count.packets,
        count.bytes,
    )
    return head + body


def aggregate(counts: Sequence[Count]) -> bytes:
    """Of flows together."""
    return _AGGREGATE.pack(sum(count.packets for count in counts), sum(count.bytes for count in counts), len(counts))


def table(number: int, active: int, count: TableCount) -> bytes:
    """A table's counters, and how many flows it has."""
    return _TABLE.pack(number, active, count.looked_up, count.matched)


def port(number: int, count: PortCount, age_ns: int) -> bytes:
    """A port's counters. Frame errors and the like are not told apart: they are among the errors."""
    return _PORT.pack(
        number,
        count.rx_packets,
        count.tx_packets,
        count.rx_bytes,
        count.tx_bytes,
        count.rx_dropped,
        count.tx_dropped,
        count.rx_errors,
        *(0, 0, 0, 0, 0),
        *divmod(age_ns, _NS),
    )


def queue(number: int, count: PortCount, age_ns: int) -> bytes:
    """Queue 0 of a port: what the port has sent, and what didn't fit into the queue."""
    return _QUEUE.pack(number, 0, count.tx_bytes, count.tx_packets, count.tx_dropped, *divmod(age_ns, _NS))


def group(of: Group, references: int, count: Count, buckets: Sequence[Count], now_ns: int) -> bytes:
    """A group's counters and its buckets'. ``references``: of flows and groups to it."""
    head = _GROUP.pack(
        _GROUP.size + _COUNT.size * len(buckets),
        of.number,
        references,
        count.packets,
        count.bytes,
        *divmod(now_ns - of.created_ns, _NS),
    )
    return head + b"".join(_COUNT.pack(bucket.packets, bucket.bytes) for bucket in buckets)


def group_desc(of: Group) -> bytes:
    """What a group does."""
    buckets = encode_buckets(of.buckets)
    return _GROUP_DESC.pack(_GROUP_DESC.size + len(buckets), of.kind, of.number) + buckets


def group_features(groups: int, actions: Iterable[ActionKind]) -> bytes:
    """All kinds can do the same: no bucket has a group."""
    kinds = len(GroupKind)
    bits = sum(1 << action for action in actions if action != ActionKind.GROUP)
    return _GROUP_FEATURES.pack((1 << kinds) - 1, GroupCapability.SELECT_WEIGHT, *[groups] * kinds, *[bits] * kinds)


def meter(of: Meter, flows: int, count: MeterCount, now_ns: int) -> bytes:
    """A meter's counters, and how many flows go through it."""
    head = _METER.pack(
        of.number,
        _METER.size + _COUNT.size * len(count.bands),
        flows,
        count.arrived.packets,
        count.arrived.bytes,
        *divmod(now_ns - of.created_ns, _NS),
    )
    return head + b"".join(_COUNT.pack(band.packets, band.bytes) for band in count.bands)


def meter_config(of: Meter, flags: int) -> bytes:
    """What a meter does; ``flags`` as it was made with."""
    bands = b"".join(
        _BAND.pack(
            BandKind.DROP if band.raise_by is None else BandKind.DSCP_REMARK,
            _BAND.size,
            band.rate,
            band.burst,
            band.raise_by or 0,
        )
        for band in of.bands
    )
    return _METER_CONFIG.pack(_METER_CONFIG.size + len(bands), flags, of.number) + bands


def meter_features(meters: int, bands: int) -> bytes:
    """Kinds of bands and flags: all that there are."""
    kinds = sum(1 << kind for kind in BandKind)
    return _METER_FEATURES.pack(meters, kinds, sum(MeterFlag), bands, 0)


def table_features(
    number: int, tables: int, entries: int, fields: Sequence[int], actions: Sequence[ActionKind], metadata: int
) -> bytes:
    """What a table can do, and its miss entry alike. ``metadata``: the bits that it can match and write."""
    instructions = _ids([kind for kind in InstructionKind if kind != InstructionKind.GOTO_TABLE or number + 1 < tables])
    settable = _headers([field for field in fields if field not in oxm.UNSETTABLE])
    twice = {
        TableProperty.INSTRUCTIONS: instructions,
        TableProperty.NEXT_TABLES: bytes(range(number + 1, tables)),
        TableProperty.WRITE_ACTIONS: _ids(actions),
        TableProperty.APPLY_ACTIONS: _ids(actions),
        TableProperty.WRITE_SETFIELD: settable,
        TableProperty.APPLY_SETFIELD: settable,
    }
    properties: dict[int, bytes] = {
        TableProperty.MATCH: _headers(fields, masked=True),
        TableProperty.WILDCARDS: _headers(fields),
    }
    for kind, content in twice.items():
        properties[kind] = properties[kind + 1] = content
    body = b"".join(_property(kind, content) for kind, content in sorted(properties.items()))
    head = _TABLE_FEATURES.pack(
        _TABLE_FEATURES.size + len(body), number, f"table {number}".encode(), metadata, metadata, 0, entries
    )
    return head + body


def _ids(kinds: Iterable[int]) -> bytes:
    return b"".join(_PROPERTY.pack(kind, _PROPERTY.size) for kind in kinds)


def _headers(fields: Iterable[int], masked: bool = False) -> bytes:
    return b"".join(
        oxm.header(field, masked and oxm.FIELDS[oxm.F(field)].maskable).to_bytes(4, "big") for field in fields
    )


def _property(kind: int, content: bytes) -> bytes:
    length = _PROPERTY.size + len(content)
    return _PROPERTY.pack(kind, length) + content + bytes(-length % 8)
