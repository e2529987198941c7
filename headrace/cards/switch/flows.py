"""What an OpenFlow switch is told, free of any encoding: matches, actions, flows, groups, meters; and what a datapath
does with them. The agent speaks OpenFlow above it, ``hardware`` drives the card below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

IN_PORT, TABLE, NORMAL, FLOOD, ALL, CONTROLLER, LOCAL, ANY = range(0xFFFF_FFF8, 0x1_0000_0000)
NO_BUFFER = MAX_LENGTH = 0xFFFF
"""As ``max_len`` of an output to the controller: the whole packet."""


class Oxm(NamedTuple):
    """A match field, or one to set: its number (OFPXMT_OFB_*), its value, and where not exact its mask."""

    field: int
    value: int
    mask: int | None = None


Match = tuple[Oxm, ...]


class ActionKind(IntEnum):
    """By the numbers of OFPAT_*."""

    OUTPUT = 0
    COPY_TTL_OUT = 11
    COPY_TTL_IN = 12
    SET_MPLS_TTL = 15
    DEC_MPLS_TTL = 16
    PUSH_VLAN = 17
    POP_VLAN = 18
    PUSH_MPLS = 19
    POP_MPLS = 20
    SET_QUEUE = 21
    GROUP = 22
    SET_NW_TTL = 23
    DEC_NW_TTL = 24
    SET_FIELD = 25
    PUSH_PBB = 26
    POP_PBB = 27
    EXPERIMENTER = 0xFFFF


class Action(NamedTuple):
    """An action. ``value``: port, TTL, EtherType, queue, group, or of SET_FIELD the field's; of EXPERIMENTER the custom
    actions, a bit each (1: FIR filter, 2: CRC). ``number``: of OUTPUT max_len, of SET_FIELD the field's number, of
    EXPERIMENTER the form in which it came."""

    kind: ActionKind
    value: int = 0
    number: int = 0


@dataclass(frozen=True)
class Instructions:
    """Of a flow, in the order in which they are executed; None: not there."""

    meter: int | None = None
    apply: tuple[Action, ...] | None = None
    clear: bool = False
    write: tuple[Action, ...] | None = None
    metadata: tuple[int, int] | None = None  # value, mask
    goto: int | None = None


@dataclass(eq=False)
class Flow:
    """A flow entry. ``installed`` is the datapath's own."""

    table: int
    priority: int
    match: Match
    instructions: Instructions
    cookie: int = 0
    flags: int = 0
    idle_s: int = 0
    hard_s: int = 0
    created_ns: int = 0
    installed: Any = None


@dataclass(frozen=True)
class Bucket:
    """Of a group; ``watch_port`` and ``watch_group`` None: always live."""

    actions: tuple[Action, ...]
    weight: int = 0
    watch_port: int | None = None
    watch_group: int | None = None


class GroupKind(IntEnum):
    """OFPGT_*"""

    ALL = 0
    SELECT = 1
    INDIRECT = 2
    FAST_FAILOVER = 3


@dataclass(eq=False)
class Group:
    """A group. ``installed`` is the datapath's own."""

    number: int
    kind: GroupKind
    buckets: tuple[Bucket, ...]
    created_ns: int = 0
    installed: Any = None


class Band(NamedTuple):
    """Of a meter: rate and burst in kb/s and kb, or packets/s and packets. ``raise_by``: the drop precedence, of a DSCP
    remark; None: a drop band."""

    rate: int
    burst: int
    raise_by: int | None = None


@dataclass(eq=False)
class Meter:
    """A meter; ``packets``: its rates are packets/s. ``installed`` is the datapath's own."""

    number: int
    bands: tuple[Band, ...]
    packets: bool = False
    created_ns: int = 0
    installed: Any = None


class Count(NamedTuple):
    """Packets and bytes, and of a flow the time in ns of the last packet (or of its beginning)."""

    packets: int
    bytes: int
    used_ns: int = 0


class PortCount(NamedTuple):
    """Of a port."""

    rx_packets: int
    rx_bytes: int
    rx_dropped: int
    rx_errors: int
    tx_packets: int
    tx_bytes: int
    tx_dropped: int


class MeterCount(NamedTuple):
    """Of a meter: what came, and what each band had."""

    arrived: Count
    bands: tuple[Count, ...]


class TableCount(NamedTuple):
    """Of a table: packets that it looked up, and that it matched."""

    looked_up: int
    matched: int


class PortState(NamedTuple):
    """What a port may do, as OFPPC_* say, and whether it is up."""

    receives: bool = True
    sends: bool = True
    packet_ins: bool = True
    live: bool = True


class PacketIn(NamedTuple):
    """A packet for controllers: its bytes (as many as were asked for), how many it has, why (OFPR_*), the flow that
    sent it (None: it is gone)."""

    data: bytes
    total: int
    reason: int
    in_port: int
    metadata: int
    flow: Flow | None
    tunnel_id: int = 0


class Expired(NamedTuple):
    """A flow whose time has come: it still matches until it is removed."""

    flow: Flow
    hard: bool


class RefusedError(Exception):
    """What the datapath can't do, with OpenFlow's error: its type and code."""

    def __init__(self, kind: int, code: int, why: str) -> None:
        super().__init__(why)
        self.kind, self.code = kind, code


class Datapath(Protocol):
    """A switch's hardware. Methods that change something come back when the hardware has changed: each packet that
    comes in later sees it. They raise RefusedError and then have changed nothing."""

    ports: int  # 1 to this
    tables: int
    fields: frozenset[int]  # that can be matched, by the numbers of OXM
    entries: int  # that each table has room for, at least
    groups: int  # numbers of groups can be any; that many at once
    meters: int
    bands: int  # of a meter

    def now_ns(self) -> int:
        """The card's time."""

    def check(self, flow: Flow) -> None:
        """Raises RefusedError for a flow that ``add`` would refuse for other reasons than room."""

    def add(self, flow: Flow) -> None:
        """A flow that is not there: its counters begin at 0."""

    def change(self, flow: Flow, instructions: Instructions) -> None:
        """Other instructions, at once; its counters stay. Sets ``flow.instructions``."""

    def remove(self, flow: Flow) -> None:
        """Its counters can be read no more."""

    def count(self, flows: Sequence[Flow]) -> list[Count]:
        """Of flows that are there."""

    def reset_count(self, flow: Flow) -> None:
        """Its counters begin at 0; the time of its last packet stays."""

    def set_group(self, group: Group) -> None:
        """A new one, or other buckets for the number (a new ``Group``)."""

    def remove_group(self, number: int) -> None:
        """Its flows are removed before."""

    def count_group(self, number: int) -> tuple[Count, list[Count]]:
        """Of the group, and of each of its buckets."""

    def set_meter(self, meter: Meter) -> None:
        """A new one, or other bands for the number."""

    def remove_meter(self, number: int) -> None:
        """Its flows are removed before."""

    def count_meter(self, number: int) -> MeterCount:
        """Since it was set."""

    def set_port(self, number: int, state: PortState) -> None:
        """From now on."""

    def count_port(self, number: int) -> PortCount:
        """Since the beginning."""

    def count_table(self, number: int) -> TableCount:
        """Since the beginning."""

    def packet_out(self, data: bytes, in_port: int, actions: Sequence[Action]) -> None:
        """Sends a packet; ``in_port`` may be CONTROLLER."""

    def events(self) -> Iterator[PacketIn | Expired]:
        """What has happened since it was last asked."""
