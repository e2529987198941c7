"""What a switch sends, but for multiparts, encoded: section 7.3 of OpenFlow 1.3.5."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headrace.cards.switch.flows import Count, Match, Oxm
from headrace.cards.switch.openflow.constants import HEADER_BYTES, MAX_MESSAGE, NO_BUFFER, VERSION, Kind, Role
from headrace.cards.switch.openflow.oxm import F, encode_match
from headrace.cards.switch.openflow.requests import HEADER, AsyncConfig

_HELLO = struct.Struct("!HHI")
_CODES = struct.Struct("!HH")
_FEATURES = struct.Struct("!QIBB2xII")
_PACKET_IN = struct.Struct("!IHBBQ")
_FLOW_REMOVED = struct.Struct("!QHBBIIHHQQ")
_STATUS = struct.Struct("!B7x")
_PORT = struct.Struct("!I4x6s2x16sIIIIIIII")
_QUEUES = struct.Struct("!I4x")
_QUEUE = struct.Struct("!IIH6x")
_ROLE = struct.Struct("!I4xQ")
_ASYNC = struct.Struct("!6I")
_NS = 1_000_000_000
_ERROR_DATA = 1024  # bytes of the message that an error is about; 64 at least


class Port(NamedTuple):
    """A port as it is described: ``config`` (OFPPC_*), ``state`` (OFPPS_*), ``features`` (OFPPF_*), kb/s."""

    number: int
    mac: bytes
    name: str
    config: int
    state: int
    features: int
    speed: int


def message(kind: Kind, xid: int, body: bytes = b"") -> bytes:
    """A whole message."""
    return HEADER.pack(VERSION, kind, HEADER_BYTES + len(body), xid) + body


def hello(xid: int) -> bytes:
    """With the one version in its bitmap."""
    return message(Kind.HELLO, xid, _HELLO.pack(1, _HELLO.size, 1 << VERSION))


def error(kind: int, code: int, about: bytes) -> bytes:
    """About a message; of that its transaction and its first bytes."""
    xid = int.from_bytes(about[4:8].ljust(4, b"\0"), "big")
    return message(Kind.ERROR, xid, _CODES.pack(kind, code) + about[:_ERROR_DATA])


def error_text(xid: int, kind: int, code: int, why: str) -> bytes:
    """An error whose data are text."""
    return message(Kind.ERROR, xid, _CODES.pack(kind, code) + why.encode())


def features(xid: int, datapath_id: int, tables: int, capabilities: int) -> bytes:
    """Of the switch: without buffers, on its main connection."""
    return message(Kind.FEATURES_REPLY, xid, _FEATURES.pack(datapath_id, 0, tables, 0, capabilities, 0))


def config(xid: int, flags: int, miss_send_len: int) -> bytes:
    """As GET_CONFIG asks for."""
    return message(Kind.GET_CONFIG_REPLY, xid, _CODES.pack(flags, miss_send_len))


def packet_in(
    in_port: int, context: Mapping[F, int], reason: int, table: int, cookie: int, data: bytes, total: int
) -> bytes:
    """A packet of ``total`` bytes, or its beginning: what doesn't go into a message is cut off. ``context``: pipeline
    fields, which are told unless 0."""
    fields = [Oxm(F.IN_PORT, in_port), *(Oxm(field, value) for field, value in context.items() if value)]
    match = encode_match(fields) + bytes(2)
    room = MAX_MESSAGE - HEADER_BYTES - _PACKET_IN.size - len(match)
    head = _PACKET_IN.pack(NO_BUFFER, min(total, 0xFFFF), reason, table, cookie)
    return message(Kind.PACKET_IN, 0, head + match + data[:room])


def flow_removed(
    cookie: int,
    priority: int,
    reason: int,
    table: int,
    age_ns: int,
    timeouts: tuple[int, int],
    count: Count,
    match: Match,
) -> bytes:
    """``timeouts``: idle and hard, in s."""
    head = _FLOW_REMOVED.pack(
        cookie, priority, reason, table, *divmod(age_ns, _NS), *timeouts, count.packets, count.bytes
    )
    return message(Kind.FLOW_REMOVED, 0, head + encode_match(match))


def port(about: Port) -> bytes:
    """The 64 bytes that describe a port."""
    return _PORT.pack(
        about.number,
        about.mac,
        about.name.encode()[:15],
        about.config,
        about.state,
        about.features,
        about.features,
        about.features,
        0,
        about.speed,
        about.speed,
    )


def port_status(reason: int, about: Port) -> bytes:
    """What has become of a port."""
    return message(Kind.PORT_STATUS, 0, _STATUS.pack(reason) + port(about))


def queues(xid: int, asked: int, ports: Sequence[int]) -> bytes:
    """Of each port queue 0, without properties."""
    body = b"".join(_QUEUE.pack(0, number, _QUEUE.size) for number in ports)
    return message(Kind.QUEUE_GET_CONFIG_REPLY, xid, _QUEUES.pack(asked) + body)


def role(xid: int, now: Role, generation: int) -> bytes:
    """A controller's role."""
    return message(Kind.ROLE_REPLY, xid, _ROLE.pack(now, generation))


def async_config(xid: int, masks: AsyncConfig) -> bytes:
    """As GET_ASYNC asks for."""
    return message(Kind.GET_ASYNC_REPLY, xid, _ASYNC.pack(*masks.packet_in, *masks.port_status, *masks.flow_removed))
