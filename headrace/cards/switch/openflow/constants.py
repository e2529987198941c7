"""Numbers of OpenFlow 1.3.5 (its section 7): kinds of messages, flags, reserved numbers."""

from __future__ import annotations

from enum import IntEnum, IntFlag

VERSION = 4
HEADER_BYTES = 8
MAX_MESSAGE = 0xFFFF
NO_BUFFER = 0xFFFF_FFFF
ALL_TABLES = 0xFF

MAX_GROUP = 0xFFFF_FF00
ALL_GROUPS = 0xFFFF_FFFC
ANY_GROUP = 0xFFFF_FFFF
MAX_METER = 0xFFFF_0000
ALL_METERS = 0xFFFF_FFFF
ANY_QUEUE = 0xFFFF_FFFF


class Kind(IntEnum):
    """OFPT_*"""

    HELLO = 0
    ERROR = 1
    ECHO_REQUEST = 2
    ECHO_REPLY = 3
    EXPERIMENTER = 4
    FEATURES_REQUEST = 5
    FEATURES_REPLY = 6
    GET_CONFIG_REQUEST = 7
    GET_CONFIG_REPLY = 8
    SET_CONFIG = 9
    PACKET_IN = 10
    FLOW_REMOVED = 11
    PORT_STATUS = 12
    PACKET_OUT = 13
    FLOW_MOD = 14
    GROUP_MOD = 15
    PORT_MOD = 16
    TABLE_MOD = 17
    MULTIPART_REQUEST = 18
    MULTIPART_REPLY = 19
    BARRIER_REQUEST = 20
    BARRIER_REPLY = 21
    QUEUE_GET_CONFIG_REQUEST = 22
    QUEUE_GET_CONFIG_REPLY = 23
    ROLE_REQUEST = 24
    ROLE_REPLY = 25
    GET_ASYNC_REQUEST = 26
    GET_ASYNC_REPLY = 27
    SET_ASYNC = 28
    METER_MOD = 29


class Part(IntEnum):
    """OFPMP_*"""

    DESC = 0
    FLOW = 1
    AGGREGATE = 2
    TABLE = 3
    PORT_STATS = 4
    QUEUE = 5
    GROUP = 6
    GROUP_DESC = 7
    GROUP_FEATURES = 8
    METER = 9
    METER_CONFIG = 10
    METER_FEATURES = 11
    TABLE_FEATURES = 12
    PORT_DESC = 13
    EXPERIMENTER = 0xFFFF


class InstructionKind(IntEnum):
    """OFPIT_*"""

    GOTO_TABLE = 1
    WRITE_METADATA = 2
    WRITE_ACTIONS = 3
    APPLY_ACTIONS = 4
    CLEAR_ACTIONS = 5
    METER = 6


class FlowCommand(IntEnum):
    """OFPFC_*"""

    ADD = 0
    MODIFY = 1
    MODIFY_STRICT = 2
    DELETE = 3
    DELETE_STRICT = 4


class FlowFlag(IntFlag):
    """OFPFF_*"""

    SEND_FLOW_REM = 1
    CHECK_OVERLAP = 2
    RESET_COUNTS = 4
    NO_PKT_COUNTS = 8
    NO_BYT_COUNTS = 16


class Command(IntEnum):
    """OFPGC_* and OFPMC_*: what is done to a group or a meter."""

    ADD = 0
    MODIFY = 1
    DELETE = 2


class MeterFlag(IntFlag):
    """OFPMF_*"""

    KBPS = 1
    PKTPS = 2
    BURST = 4
    STATS = 8


class BandKind(IntEnum):
    """OFPMBT_*"""

    DROP = 1
    DSCP_REMARK = 2


class PortConfig(IntFlag):
    """OFPPC_*"""

    DOWN = 1 << 0
    NO_RECV = 1 << 2
    NO_FWD = 1 << 5
    NO_PACKET_IN = 1 << 6


class PortStatus(IntFlag):
    """OFPPS_*: the state of a port."""

    LINK_DOWN = 1
    LIVE = 4


class PortReason(IntEnum):
    """OFPPR_*: why a port status is told."""

    ADD = 0
    DELETE = 1
    MODIFY = 2


class Removal(IntEnum):
    """OFPRR_*: why a flow was removed."""

    IDLE_TIMEOUT = 0
    HARD_TIMEOUT = 1
    DELETE = 2
    GROUP_DELETE = 3


class PacketInReason(IntEnum):
    """OFPR_*"""

    NO_MATCH = 0
    ACTION = 1
    INVALID_TTL = 2


class Role(IntEnum):
    """OFPCR_ROLE_*"""

    NOCHANGE = 0
    EQUAL = 1
    MASTER = 2
    SLAVE = 3


class Capability(IntFlag):
    """OFPC_*, of a features reply."""

    FLOW_STATS = 1 << 0
    TABLE_STATS = 1 << 1
    PORT_STATS = 1 << 2
    GROUP_STATS = 1 << 3
    QUEUE_STATS = 1 << 6


class GroupCapability(IntFlag):
    """OFPGFC_* of what groups can do."""

    SELECT_WEIGHT = 1


class TableProperty(IntEnum):
    """OFPTFPT_*; that of a table miss is the number after it, where there is one."""

    INSTRUCTIONS = 0
    NEXT_TABLES = 2
    WRITE_ACTIONS = 4
    APPLY_ACTIONS = 6
    MATCH = 8
    WILDCARDS = 10
    WRITE_SETFIELD = 12
    APPLY_SETFIELD = 14
