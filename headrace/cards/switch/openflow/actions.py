"""Actions, instructions and buckets on the wire: sections 7.2.4, 7.2.5 and 7.3.4.3 of OpenFlow 1.3.5."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from headrace.cards.switch import flows
from headrace.cards.switch.flows import Action, ActionKind, Bucket, Instructions
from headrace.cards.switch.openflow import oxm
from headrace.cards.switch.openflow.constants import ANY_GROUP, InstructionKind
from headrace.cards.switch.openflow.errors import BadAction, BadInstruction, Code, DecodeError, GroupModFailed

EXPERIMENTER = 0x0002_4852
"""Of Headrace's custom actions: a locally administered OUI. An action of 16 bytes: bit 0 of the 32 behind the number is
the FIR filter, bit 1 the CRC."""
NICIRA, NOTE = 0x0000_2320, 8
"""Of ovs-ofctl's ``note:``. One of the bytes 48 52, a custom action and zeros is that action: so stock tools can
write it and show it. Its ``Action`` has the number NOTE."""
CUSTOM_ACTIONS = 3

_TLV = struct.Struct("!HH")
_OUTPUT = struct.Struct("!HHIH6x")
_WORD = struct.Struct("!HHI")
_BYTE = struct.Struct("!HHB3x")
_SHORT = struct.Struct("!HHH2x")
_EMPTY = struct.Struct("!HH4x")
_CUSTOM = struct.Struct("!HHII4x")
_NOTE = struct.Struct("!HHIH2sB3x")
_NOTED = b"HR"
_METADATA = struct.Struct("!HH4xQQ")
_BUCKET = struct.Struct("!HHII4x")
_FORMATS: dict[int, struct.Struct] = {
    ActionKind.COPY_TTL_OUT: _EMPTY,
    ActionKind.COPY_TTL_IN: _EMPTY,
    ActionKind.SET_MPLS_TTL: _BYTE,
    ActionKind.DEC_MPLS_TTL: _EMPTY,
    ActionKind.PUSH_VLAN: _SHORT,
    ActionKind.POP_VLAN: _EMPTY,
    ActionKind.PUSH_MPLS: _SHORT,
    ActionKind.POP_MPLS: _SHORT,
    ActionKind.SET_QUEUE: _WORD,
    ActionKind.GROUP: _WORD,
    ActionKind.SET_NW_TTL: _BYTE,
    ActionKind.DEC_NW_TTL: _EMPTY,
}
"""Of actions of 8 bytes."""
_PUSHED = {ActionKind.PUSH_VLAN: (0x8100, 0x88A8), ActionKind.PUSH_MPLS: (0x8847, 0x8848)}
_KINDS: dict[int, ActionKind] = {int(kind): kind for kind in ActionKind}


def _tlv(data: bytes, at: int, end: int, bad_length: Code) -> tuple[int, int]:
    """Type and end of what is at ``at``. A DecodeError of that code, if it doesn't lie before ``end``."""
    if at + 8 > end:
        raise DecodeError(bad_length, "ends early")
    kind, length = _TLV.unpack_from(data, at)
    if length < 8 or length % 8 or at + length > end:
        raise DecodeError(bad_length, f"{length} bytes for type {kind}, of {end - at}")
    return kind, at + length


def decode_actions(data: bytes, at: int, end: int) -> tuple[Action, ...]:
    """A list of actions. Raises DecodeError."""
    actions = []
    while at < end:
        kind, after = _tlv(data, at, end, BadAction.BAD_LEN)
        actions.append(_decode_action(data, at, kind, after))
        at = after
    return tuple(actions)


def _decode_action(data: bytes, at: int, number: int, end: int) -> Action:
    kind = _KINDS.get(number)
    length = end - at
    if kind == ActionKind.OUTPUT:
        if length != _OUTPUT.size:
            raise DecodeError(BadAction.BAD_LEN, f"output of {length} bytes")
        _, _, port, max_bytes = _OUTPUT.unpack_from(data, at)
        return Action(kind, port, max_bytes)
    if kind == ActionKind.SET_FIELD:
        field, value = oxm.decode_field_to_set(data, at + 4, end)
        return Action(kind, value, field)
    if kind == ActionKind.EXPERIMENTER:
        return _decode_custom(data, at, length)
    layout = _FORMATS.get(number)
    if kind is None or layout is None:
        raise DecodeError(BadAction.BAD_TYPE, f"action {number}")
    if length != layout.size:
        raise DecodeError(BadAction.BAD_LEN, f"{kind.name} of {length} bytes")
    value = layout.unpack_from(data, at)[2] if layout is not _EMPTY else 0
    if kind in _PUSHED and value not in _PUSHED[kind]:
        raise DecodeError(BadAction.BAD_ARGUMENT, f"{kind.name} of type {value:#06x}")
    return Action(kind, value)


def _decode_custom(data: bytes, at: int, length: int) -> Action:
    _, _, experimenter = _WORD.unpack_from(data, at)
    if experimenter == NICIRA and length >= _NOTE.size:
        _, _, _, subtype, mark, custom = _NOTE.unpack_from(data, at)
        if subtype == NOTE and mark == _NOTED and 0 < custom <= CUSTOM_ACTIONS and not any(data[at + 13 : at + length]):
            return Action(ActionKind.EXPERIMENTER, custom, NOTE)
    if experimenter != EXPERIMENTER:
        raise DecodeError(BadAction.BAD_EXPERIMENTER, f"experimenter {experimenter:#010x}")
    if length != _CUSTOM.size:
        raise DecodeError(BadAction.BAD_LEN, f"custom action of {length} bytes")
    custom = _CUSTOM.unpack_from(data, at)[3]
    if not 0 < custom <= CUSTOM_ACTIONS:
        raise DecodeError(BadAction.BAD_EXP_TYPE, f"custom actions {custom:#x}")
    return Action(ActionKind.EXPERIMENTER, custom)


def encode_actions(actions: Iterable[Action]) -> bytes:
    """A list of actions."""
    return b"".join(map(_encode_action, actions))


def _encode_action(action: Action) -> bytes:
    kind, value, number = action
    if kind == ActionKind.OUTPUT:
        return _OUTPUT.pack(kind, _OUTPUT.size, value, number)
    if kind == ActionKind.SET_FIELD:
        field = oxm.encode(flows.Oxm(number, value))
        padding = -(4 + len(field)) % 8
        return _TLV.pack(kind, 4 + len(field) + padding) + field + bytes(padding)
    if kind == ActionKind.EXPERIMENTER:
        if number == NOTE:
            return _NOTE.pack(kind, _NOTE.size, NICIRA, NOTE, _NOTED, value)
        return _CUSTOM.pack(kind, _CUSTOM.size, EXPERIMENTER, value)
    layout = _FORMATS[kind]
    return layout.pack(kind, layout.size) if layout is _EMPTY else layout.pack(kind, layout.size, value)


def decode_instructions(data: bytes, at: int, end: int) -> Instructions:
    """Raises DecodeError."""
    found: dict[str, object] = {}
    while at < end:
        number, after = _tlv(data, at, end, BadInstruction.BAD_LEN)
        decoder = _INSTRUCTIONS.get(number)
        if decoder is None:
            experimenter = number == ActionKind.EXPERIMENTER
            code = BadInstruction.BAD_EXPERIMENTER if experimenter else BadInstruction.UNKNOWN_INST
            raise DecodeError(code, f"instruction {number}")
        name, size, decode = decoder
        if size not in (0, after - at):
            raise DecodeError(BadInstruction.BAD_LEN, f"instruction {number} of {after - at} bytes")
        if name in found:
            raise DecodeError(BadInstruction.UNSUP_INST, f"instruction {number} twice")
        found[name] = decode(data, at, after)
        at = after
    return Instructions(**found)  # type: ignore[arg-type]  # _INSTRUCTIONS has its members


def _actions_of(data: bytes, at: int, end: int) -> tuple[Action, ...]:
    return decode_actions(data, at + 8, end)


_INSTRUCTIONS: dict[int, tuple[str, int, Callable[[bytes, int, int], object]]] = {
    InstructionKind.GOTO_TABLE: ("goto", 8, lambda data, at, _: data[at + 4]),
    InstructionKind.WRITE_METADATA: ("metadata", 24, lambda data, at, _: _METADATA.unpack_from(data, at)[2:]),
    InstructionKind.WRITE_ACTIONS: ("write", 0, _actions_of),
    InstructionKind.APPLY_ACTIONS: ("apply", 0, _actions_of),
    InstructionKind.CLEAR_ACTIONS: ("clear", 8, lambda *_: True),
    InstructionKind.METER: ("meter", 8, lambda data, at, _: _WORD.unpack_from(data, at)[2]),
}
"""The member of ``Instructions``, the length of the instruction where there is one, and what decodes it."""


def encode_instructions(instructions: Instructions) -> bytes:
    """In the order in which they are executed."""
    parts = []
    if instructions.meter is not None:
        parts.append(_WORD.pack(InstructionKind.METER, _WORD.size, instructions.meter))
    if instructions.apply is not None:
        parts.append(_encode_list(InstructionKind.APPLY_ACTIONS, instructions.apply))
    if instructions.clear:
        parts.append(_EMPTY.pack(InstructionKind.CLEAR_ACTIONS, _EMPTY.size))
    if instructions.write is not None:
        parts.append(_encode_list(InstructionKind.WRITE_ACTIONS, instructions.write))
    if instructions.metadata is not None:
        parts.append(_METADATA.pack(InstructionKind.WRITE_METADATA, _METADATA.size, *instructions.metadata))
    if instructions.goto is not None:
        parts.append(_BYTE.pack(InstructionKind.GOTO_TABLE, _BYTE.size, instructions.goto))
    return b"".join(parts)


def _encode_list(kind: InstructionKind, actions: Iterable[Action]) -> bytes:
    body = encode_actions(actions)
    return _EMPTY.pack(kind, _EMPTY.size + len(body)) + body


def decode_buckets(data: bytes, at: int, end: int) -> tuple[Bucket, ...]:
    """Raises DecodeError."""
    buckets = []
    while at < end:
        weight, after = _bucket_tlv(data, at, end)
        _, _, port, group = _BUCKET.unpack_from(data, at)
        buckets.append(
            Bucket(
                decode_actions(data, at + _BUCKET.size, after),
                weight,
                None if port == flows.ANY else port,
                None if group == ANY_GROUP else group,
            )
        )
        at = after
    return tuple(buckets)


def _bucket_tlv(data: bytes, at: int, end: int) -> tuple[int, int]:
    if at + _BUCKET.size <= end:
        length, weight = _TLV.unpack_from(data, at)
        if length >= _BUCKET.size and not length % 8 and at + length <= end:
            return weight, at + length
    raise DecodeError(GroupModFailed.BAD_BUCKET, "a bucket ends early")


def encode_buckets(buckets: Iterable[Bucket]) -> bytes:
    """Of a group."""
    return b"".join(map(_encode_bucket, buckets))


def _encode_bucket(bucket: Bucket) -> bytes:
    actions = encode_actions(bucket.actions)
    port = flows.ANY if bucket.watch_port is None else bucket.watch_port
    group = ANY_GROUP if bucket.watch_group is None else bucket.watch_group
    return _BUCKET.pack(_BUCKET.size + len(actions), bucket.weight, port, group) + actions
