"""OpenFlow's errors: an enumeration of codes for each type."""

from __future__ import annotations

from enum import IntEnum

from headrace.cards.switch.flows import RefusedError


class Code(IntEnum):
    """A code of an error; its class says the error's type."""


class HelloFailed(Code):
    """OFPHFC_*"""

    INCOMPATIBLE = 0
    EPERM = 1


class BadRequest(Code):
    """OFPBRC_*"""

    BAD_VERSION = 0
    BAD_TYPE = 1
    BAD_MULTIPART = 2
    BAD_EXPERIMENTER = 3
    BAD_LEN = 6
    BUFFER_UNKNOWN = 8
    BAD_TABLE_ID = 9
    IS_SLAVE = 10
    BAD_PORT = 11
    BAD_PACKET = 12
    MULTIPART_BUFFER_OVERFLOW = 13


class BadAction(Code):
    """OFPBAC_*"""

    BAD_TYPE = 0
    BAD_LEN = 1
    BAD_EXPERIMENTER = 2
    BAD_EXP_TYPE = 3
    BAD_OUT_PORT = 4
    BAD_ARGUMENT = 5
    TOO_MANY = 7
    BAD_QUEUE = 8
    BAD_OUT_GROUP = 9
    MATCH_INCONSISTENT = 10
    UNSUPPORTED_ORDER = 11
    BAD_SET_TYPE = 13
    BAD_SET_LEN = 14
    BAD_SET_ARGUMENT = 15


class BadInstruction(Code):
    """OFPBIC_*"""

    UNKNOWN_INST = 0
    UNSUP_INST = 1
    BAD_TABLE_ID = 2
    UNSUP_METADATA = 3
    BAD_EXPERIMENTER = 5
    BAD_LEN = 7


class BadMatch(Code):
    """OFPBMC_*"""

    BAD_TYPE = 0
    BAD_LEN = 1
    BAD_WILDCARDS = 5
    BAD_FIELD = 6
    BAD_VALUE = 7
    BAD_MASK = 8
    BAD_PREREQ = 9
    DUP_FIELD = 10


class FlowModFailed(Code):
    """OFPFMFC_*"""

    TABLE_FULL = 1
    BAD_TABLE_ID = 2
    OVERLAP = 3
    BAD_COMMAND = 6
    BAD_FLAGS = 7


class GroupModFailed(Code):
    """OFPGMFC_*"""

    GROUP_EXISTS = 0
    INVALID_GROUP = 1
    OUT_OF_GROUPS = 3
    OUT_OF_BUCKETS = 4
    CHAINING_UNSUPPORTED = 5
    WATCH_UNSUPPORTED = 6
    LOOP = 7
    UNKNOWN_GROUP = 8
    CHAINED_GROUP = 9
    BAD_TYPE = 10
    BAD_COMMAND = 11
    BAD_BUCKET = 12
    BAD_WATCH = 13


class PortModFailed(Code):
    """OFPPMFC_*"""

    BAD_PORT = 0
    BAD_HW_ADDR = 1
    BAD_CONFIG = 2
    BAD_ADVERTISE = 3


class TableModFailed(Code):
    """OFPTMFC_*"""

    BAD_TABLE = 0
    BAD_CONFIG = 1


class QueueOpFailed(Code):
    """OFPQOFC_*"""

    BAD_PORT = 0
    BAD_QUEUE = 1


class SwitchConfigFailed(Code):
    """OFPSCFC_*"""

    BAD_FLAGS = 0


class RoleRequestFailed(Code):
    """OFPRRFC_*"""

    STALE = 0
    BAD_ROLE = 2


class MeterModFailed(Code):
    """OFPMMFC_*"""

    METER_EXISTS = 1
    INVALID_METER = 2
    UNKNOWN_METER = 3
    BAD_COMMAND = 4
    BAD_FLAGS = 5
    BAD_BAND = 8
    OUT_OF_METERS = 10
    OUT_OF_BANDS = 11


class TableFeaturesFailed(Code):
    """OFPTFFC_*"""

    EPERM = 5


_TYPES: dict[type[Code], int] = {
    kind: number
    for number, kind in enumerate(
        (
            HelloFailed,
            BadRequest,
            BadAction,
            BadInstruction,
            BadMatch,
            FlowModFailed,
            GroupModFailed,
            PortModFailed,
            TableModFailed,
            QueueOpFailed,
            SwitchConfigFailed,
            RoleRequestFailed,
            MeterModFailed,
            TableFeaturesFailed,
        )
    )
}


def refused(code: Code, why: str) -> RefusedError:
    """The exception for an error."""
    return RefusedError(_TYPES[type(code)], code, why)


class DecodeError(RefusedError):
    """A message that can't be decoded."""

    def __init__(self, code: Code, why: str) -> None:
        super().__init__(_TYPES[type(code)], code, why)
