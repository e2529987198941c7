"""The words of the switch's tables and programs, as in ``rtl/switch/switch_pkg.sv``: match fields, entries, actions."""

from __future__ import annotations

from enum import IntEnum


class Struct:
    """A packed struct: members by name, the highest bits first."""

    def __init__(self, **members: int | Struct) -> None:
        self.members: dict[str, int | Struct] = members
        widths = {name: member if isinstance(member, int) else member.width for name, member in members.items()}
        self.width: int = sum(widths.values())
        self._places: dict[str, tuple[int, int]] = {}  # the lowest bit of each, and so many ones
        at = self.width
        for name, width in widths.items():
            at -= width
            self._places[name] = at, (1 << width) - 1

    def pack(self, **values: int) -> int:
        """The word of these members; others are 0. Raises KeyError for a name, ValueError for a value that can't be."""
        return self.replace(0, **values)

    def replace(self, word: int, **values: int) -> int:
        """The word with other values of these members, as ``pack`` takes them."""
        for name, value in values.items():
            shift, ones = self._places[name]
            if not 0 <= value <= ones:
                raise ValueError(f"{name} is {value}: not of {self.width_of(name)} bits")
            word = word & ~(ones << shift) | value << shift
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """The members of a word."""
        return {name: self.get(word, name) for name in self.members}

    def get(self, word: int, name: str) -> int:
        """One member of a word."""
        shift, ones = self._places[name]
        return word >> shift & ones

    def ones(self, name: str) -> int:
        """A member with all bits set."""
        return self._places[name][1]

    def width_of(self, name: str) -> int:
        """Bits of a member."""
        return self.ones(name).bit_length()


MATCH = Struct(
    metadata=64,
    tunnel_id=64,
    in_port=8,
    eth_dst=48,
    eth_src=48,
    eth_type=16,
    vlan=1,
    vlan_vid=12,
    vlan_pcp=3,
    l3=1,
    l4=1,
    nd=1,
    ip_dscp=6,
    ip_ecn=2,
    ip_proto=8,
    src=128,
    dst=128,
    l4_src=16,
    l4_dst=16,
    label=20,
    target=128,
    link=48,
    exthdr=9,
)
"""``match_t``"""
LAYERS = Struct(
    cut=1,
    later=1,
    tags=2,
    l3=8,
    l4=8,
    qinq=2,
    dei=1,
    inner=16,
    ttl=8,
    link=8,
    below=2,
    label_ttl=8,
    l4_bytes=16,
    routed=1,
)
"""``layers_t``"""

NO_TABLE = 15
TICK_NS = 1 << 20

LOOKUP = Struct(fields=MATCH, tags=2, inner=16, bytes=17, next=4)
"""``lookup_t``"""
ENTRY = Struct(program_at=16, effect=8, next=4, metadata=64, metadata_mask=64, idle=32, hard_at=40)
"""``entry_t``"""
EFFECT = Struct(last=1, op=2, field=6, value=128)
"""``effect_t``"""


class EffectOp(IntEnum):
    """``effect_op_t``"""

    SET = 0
    PUSH_VLAN = 1
    POP_VLAN = 2
    PUSH_MPLS = 3


class FlowOp(IntEnum):
    """``flow_op_t``"""

    SET_ENTRY = 0
    CHANGE_ENTRY = 1
    SET_EFFECT = 2
    SET_MASK = 3
    EXACT_INSERT = 4
    EXACT_CHANGE = 5
    EXACT_REMOVE = 6
    TERNARY_SET = 7
    TERNARY_CLEAR = 8
    TERNARY_MOVE = 9
    EXACT_ADD = 10
    TERNARY_ADD = 11


FLOW_COMMAND = Struct(
    op=4, number=16, rank=16, index=12, clear_index=12, value=MATCH, mask=MATCH, entry=ENTRY, effect=EFFECT
)
"""``flow_command_t``"""
FLOW_COUNT = Struct(packets=64, bytes=64, used=40)
"""``flow_count_t``"""
EXPIRY = Struct(hard=1, number=16)
"""``expiry_t``"""

ACTION = Struct(last=1, keep=1, op=6, field=6, out=1, port=6, value=128)
"""``action_t``"""
ACTION_BITS = 160
"""Of a word of a program in memory, ``ACTION`` in its low bits."""


class Act(IntEnum):
    """``action_op_t``"""

    NONE = 0
    SET_FIELD = 1
    PUSH_VLAN = 2
    POP_VLAN = 3
    PUSH_MPLS = 4
    POP_MPLS = 5
    SET_NW_TTL = 6
    DEC_NW_TTL = 7
    SET_MPLS_TTL = 8
    DEC_MPLS_TTL = 9
    COPY_TTL_OUT = 10
    COPY_TTL_IN = 11
    OUTPUT = 12
    CONTROLLER = 13
    GROUP = 14
    SAVE = 15
    RESTORE = 16
    JUMP = 17
    SELECT = 18
    UNLESS_LIVE = 19
    METER = 20
    COUNT = 21
    CLEAR = 22
    RESUBMIT = 23
    CUSTOM = 24


REASON_NO_MATCH, REASON_ACTION, REASON_TTL = 0, 1, 2

EDITED = Struct(tos=1, ttl=1, proto=1, src=1, dst=1, label=1, l4_src=1, l4_dst=1, target=1, link=1)
"""``edited_t``"""
EDIT = Struct(
    fields=MATCH,
    layers=LAYERS,
    l4_proto=8,
    ttl=8,
    eth_type=16,
    tags=2,
    tag=51,
    labels=2,
    label=96,
    cut=8,
    edited=EDITED,
    l3_delta=16,
    l4_delta=32,
)
"""``edit_t``"""
COPY = Struct(
    edit=EDIT,
    ports=64,
    host=1,
    resubmit=1,
    last=1,
    bytes=17,
    max_bytes=16,
    reason=8,
    origin=16,
    metadata=64,
    next=4,
    program_at=16,
    custom=8,
)
"""``copy_t``"""
SENT = Struct(
    ports=64,
    host=1,
    resubmit=1,
    bytes=17,
    max_bytes=16,
    reason=8,
    origin=16,
    metadata=64,
    next=4,
    program_at=16,
    custom=8,
    in_port=8,
    tunnel_id=64,
    payload_at=8,
)
"""``sent_t``"""


class BandKind(IntEnum):
    """``band_kind_t``"""

    NONE = 0
    DROP = 1
    DSCP_REMARK = 2


METER_BANDS = 2
BAND = Struct(kind=2, rate=32, burst=32, raise_=3)
"""``band_t``: rate in kb/s or packets a second, burst in kb or packets"""
METER = Struct(on=1, packets=1, band=METER_BANDS * BAND.width)
"""``meter_t``; of ``band`` the first one is in the low bits"""
