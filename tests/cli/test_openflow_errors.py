"""OpenFlow's errors: each fault of a message gets the type and code of OpenFlow 1.3.5, and changes nothing."""

from __future__ import annotations

import json
import struct
from collections import Counter
from typing import Any

import pytest
from fake_datapath import FakeDatapath
from openflow_controller import OS_KEN_TESTS, PROTOCOL, Controller, flow_mod, ofproto, output, parser, switch

from headrace.cards.switch.fields import NARROW_FIELDS
from headrace.cards.switch.openflow.actions import EXPERIMENTER

(HELLO, REQUEST, ACTION, INSTRUCTION, MATCH, FLOW, GROUP, PORT, TABLE, QUEUE, CONFIG, ROLE, METER, FEATURES) = range(14)
NO = 0xFFFFFFFF


def message(kind: int, body: bytes = b"", version: int = 4) -> bytes:
    return struct.pack("!BBHI", version, kind, 8 + len(body), 0x1234) + body


def match(fields: bytes = b"", length: int | None = None, kind: int = 1) -> bytes:
    size = 4 + len(fields)
    return struct.pack("!HH", kind, size if length is None else length) + fields + bytes(-size % 8)


def oxm(number: int, value: bytes, mask: bytes = b"", *, kind: int = 0x8000, length: int | None = None) -> bytes:
    size = len(value + mask) if length is None else length
    return struct.pack("!HBB", kind, number << 1 | bool(mask), size) + value + mask


def flow(found: bytes, instructions: bytes = b"", **options: int) -> bytes:
    given = {"table": 0, "command": 0, "buffer": NO, "flags": 0} | options
    head = struct.pack(
        "!QQBBHHHIIIH2x", 0, 0, given["table"], given["command"], 0, 0, 5, given["buffer"], NO, NO, given["flags"]
    )
    return message(ofproto.OFPT_FLOW_MOD, head + found + instructions)


def apply(actions: bytes) -> bytes:
    return struct.pack("!HH4x", 4, 8 + len(actions)) + actions


def acting(actions: bytes, found: bytes = b"") -> bytes:
    return flow(match(found), apply(actions))


def setting(field: bytes) -> bytes:
    padding = bytes(-(4 + len(field)) % 8)
    return struct.pack("!HH", 25, 4 + len(field + padding)) + field + padding


IPV4, IPV6, ARP, MPLS = (oxm(5, struct.pack("!H", kind)) for kind in (0x0800, 0x86DD, 0x0806, 0x8847))
TCP, ICMPV6 = IPV4 + oxm(10, b"\x06"), IPV6 + oxm(10, b"\x3a")
VLAN = oxm(6, b"\x10\x05")


def multipart(kind: int, body: bytes = b"", flags: int = 0) -> bytes:
    return message(ofproto.OFPT_MULTIPART_REQUEST, struct.pack("!HH4x", kind, flags) + body)


def instruction(kind: int, body: bytes, length: int | None = None) -> bytes:
    return struct.pack("!HH", kind, 4 + len(body) if length is None else length) + body


def action(kind: int, body: bytes = bytes(4), length: int | None = None) -> bytes:
    return struct.pack("!HH", kind, 4 + len(body) if length is None else length) + body


def group(command: int, kind: int, number: int, buckets: bytes = b"") -> bytes:
    return message(ofproto.OFPT_GROUP_MOD, struct.pack("!HBxI", command, kind, number) + buckets)


def bucket(
    actions: bytes = b"", port: int = NO, watched: int = NO, length: int | None = None, weight: int = 0
) -> bytes:
    return struct.pack("!HHII4x", 16 + len(actions) if length is None else length, weight, port, watched) + actions


def meter(command: int, flags: int, number: int, bands: bytes = b"") -> bytes:
    return message(ofproto.OFPT_METER_MOD, struct.pack("!HHI", command, flags, number) + bands)


BAND = struct.pack("!HHII4x", 1, 16, 100, 0)


def port(number: int, mac: int = 1, config: int = 0, mask: int = 0, advertise: int = 0) -> bytes:
    body = struct.pack("!I4x6s2xIII4x", number, bytes((2, 0, 0, 0, 0, mac)), config, mask, advertise)
    return message(ofproto.OFPT_PORT_MOD, body)


def packet_out(
    actions: bytes, in_port: int = 1, buffer: int = NO, data: bytes = bytes(60), length: int | None = None
) -> bytes:
    size = len(actions) if length is None else length
    return message(ofproto.OFPT_PACKET_OUT, struct.pack("!IIH6x", buffer, in_port, size) + actions + data)


WRONG: dict[str, tuple[bytes, int, int]] = {
    # Messages
    "version": (message(ofproto.OFPT_ECHO_REQUEST, version=1), REQUEST, ofproto.OFPBRC_BAD_VERSION),
    "type unknown": (message(99), REQUEST, ofproto.OFPBRC_BAD_TYPE),
    "type of a switch": (message(ofproto.OFPT_FEATURES_REPLY, bytes(24)), REQUEST, ofproto.OFPBRC_BAD_TYPE),
    "barrier with a body": (message(ofproto.OFPT_BARRIER_REQUEST, b"x"), REQUEST, ofproto.OFPBRC_BAD_LEN),
    "flow mod cut": (message(ofproto.OFPT_FLOW_MOD, bytes(20)), REQUEST, ofproto.OFPBRC_BAD_LEN),
    "role cut": (message(ofproto.OFPT_ROLE_REQUEST, bytes(4)), REQUEST, ofproto.OFPBRC_BAD_LEN),
    "experimenter": (message(ofproto.OFPT_EXPERIMENTER, bytes(8)), REQUEST, ofproto.OFPBRC_BAD_EXPERIMENTER),
    "fragments": (message(ofproto.OFPT_SET_CONFIG, b"\0\1\0\0"), CONFIG, ofproto.OFPSCFC_BAD_FLAGS),
    "table": (message(ofproto.OFPT_TABLE_MOD, struct.pack("!B3xI", 4, 0)), TABLE, ofproto.OFPTMFC_BAD_TABLE),
    "table's bits": (message(ofproto.OFPT_TABLE_MOD, struct.pack("!B3xI", 0, 8)), TABLE, ofproto.OFPTMFC_BAD_CONFIG),
    # Multiparts
    "multipart": (multipart(77), REQUEST, ofproto.OFPBRC_BAD_MULTIPART),
    "multipart of others": (multipart(0xFFFF, bytes(8)), REQUEST, ofproto.OFPBRC_BAD_EXPERIMENTER),
    "multipart cut": (multipart(ofproto.OFPMP_FLOW, bytes(8)), REQUEST, ofproto.OFPBRC_BAD_LEN),
    "multipart goes on": (multipart(0, flags=1), REQUEST, ofproto.OFPBRC_MULTIPART_BUFFER_OVERFLOW),
    "description of what": (multipart(ofproto.OFPMP_DESC, b"x"), REQUEST, ofproto.OFPBRC_BAD_LEN),
    "statistics of no table": (
        multipart(ofproto.OFPMP_FLOW, struct.pack("!B3xII4xQQ", 4, NO, NO, 0, 0) + match()),
        REQUEST,
        ofproto.OFPBRC_BAD_TABLE_ID,
    ),
    "statistics of no port": (multipart(ofproto.OFPMP_PORT_STATS, bytes(8)), REQUEST, ofproto.OFPBRC_BAD_PORT),
    "statistics of no meter": (
        multipart(ofproto.OFPMP_METER, struct.pack("!I4x", 3)),
        METER,
        ofproto.OFPMMFC_UNKNOWN_METER,
    ),
    "queue of no port": (multipart(ofproto.OFPMP_QUEUE, struct.pack("!II", 9, 0)), QUEUE, ofproto.OFPQOFC_BAD_PORT),
    "no queue": (multipart(ofproto.OFPMP_QUEUE, struct.pack("!II", 1, 5)), QUEUE, ofproto.OFPQOFC_BAD_QUEUE),
    "queues of no port": (
        message(ofproto.OFPT_QUEUE_GET_CONFIG_REQUEST, struct.pack("!I4x", 9)),
        QUEUE,
        ofproto.OFPQOFC_BAD_PORT,
    ),
    "other features": (multipart(ofproto.OFPMP_TABLE_FEATURES, bytes(64)), FEATURES, ofproto.OFPTFFC_EPERM),
    # Matches
    "match of 1.1": (flow(match(kind=0)), MATCH, ofproto.OFPBMC_BAD_TYPE),
    "match too long": (flow(match(length=99)), MATCH, ofproto.OFPBMC_BAD_LEN),
    "match too short": (flow(match(length=2)), MATCH, ofproto.OFPBMC_BAD_LEN),
    "no match": (flow(b""), MATCH, ofproto.OFPBMC_BAD_LEN),
    "field cut": (flow(match(oxm(5, b"\x08\x00"), length=8)), MATCH, ofproto.OFPBMC_BAD_LEN),
    "field's head cut": (flow(match(b"\x80\0")), MATCH, ofproto.OFPBMC_BAD_LEN),
    "field's length": (flow(match(oxm(5, b"\x08\x00\x00"))), MATCH, ofproto.OFPBMC_BAD_LEN),
    "class": (flow(match(oxm(5, b"\x08\x00", kind=1))), MATCH, ofproto.OFPBMC_BAD_FIELD),
    "field": (flow(match(oxm(99, b"\x08\x00"))), MATCH, ofproto.OFPBMC_BAD_FIELD),
    "PBB": (flow(match(oxm(5, b"\x88\xe7") + oxm(37, bytes(3)))), MATCH, ofproto.OFPBMC_BAD_FIELD),
    "service instance": (flow(match(oxm(37, bytes(3)))), MATCH, ofproto.OFPBMC_BAD_FIELD),
    "mask where none may be": (flow(match(oxm(5, b"\x08\x00", b"\xff\x00"))), MATCH, ofproto.OFPBMC_BAD_MASK),
    "mask of no bits": (flow(match(oxm(6, b"\0\0", b"\xff\xff"))), MATCH, ofproto.OFPBMC_BAD_MASK),
    "bits outside of a mask": (flow(match(oxm(3, b"\1" * 6, b"\2" * 6))), MATCH, ofproto.OFPBMC_BAD_WILDCARDS),
    "value": (flow(match(VLAN + oxm(7, b"\x08"))), MATCH, ofproto.OFPBMC_BAD_VALUE),
    "VLAN": (flow(match(oxm(6, b"\x20\0"))), MATCH, ofproto.OFPBMC_BAD_VALUE),
    "no such port": (flow(match(oxm(0, struct.pack("!I", 9)))), MATCH, ofproto.OFPBMC_BAD_VALUE),
    "another physical port": (
        flow(match(oxm(0, struct.pack("!I", 1)) + oxm(1, struct.pack("!I", 2)))),
        MATCH,
        ofproto.OFPBMC_BAD_VALUE,
    ),
    "physical port alone": (flow(match(oxm(1, struct.pack("!I", 1)))), MATCH, ofproto.OFPBMC_BAD_PREREQ),
    "field twice": (flow(match(IPV4 + IPV4)), MATCH, ofproto.OFPBMC_DUP_FIELD),
    "IPv4 without": (flow(match(oxm(12, bytes(4)))), MATCH, ofproto.OFPBMC_BAD_PREREQ),
    "IPv4 of IPv6": (flow(match(IPV6 + oxm(12, bytes(4)))), MATCH, ofproto.OFPBMC_BAD_PREREQ),
    "IPv4 before its type": (flow(match(oxm(12, bytes(4)) + IPV4)), MATCH, ofproto.OFPBMC_BAD_PREREQ),
    "UDP of TCP": (flow(match(TCP + oxm(15, bytes(2)))), MATCH, ofproto.OFPBMC_BAD_PREREQ),
    "ARP of IPv4": (flow(match(IPV4 + oxm(21, bytes(2)))), MATCH, ofproto.OFPBMC_BAD_PREREQ),
    "PCP without a tag": (flow(match(oxm(6, b"\0\0") + oxm(7, b"\1"))), MATCH, ofproto.OFPBMC_BAD_PREREQ),
    "ND of an echo": (flow(match(ICMPV6 + oxm(29, b"\x80") + oxm(31, bytes(16)))), MATCH, ofproto.OFPBMC_BAD_PREREQ),
    "source of an advertisement": (
        flow(match(ICMPV6 + oxm(29, b"\x88") + oxm(32, bytes(6)))),
        MATCH,
        ofproto.OFPBMC_BAD_PREREQ,
    ),
    "label of IPv4": (flow(match(IPV4 + oxm(34, bytes(4)))), MATCH, ofproto.OFPBMC_BAD_PREREQ),
    # Instructions
    "instruction": (flow(match(), instruction(9, bytes(4))), INSTRUCTION, ofproto.OFPBIC_UNKNOWN_INST),
    "instruction of others": (
        flow(match(), instruction(0xFFFF, bytes(4))),
        INSTRUCTION,
        ofproto.OFPBIC_BAD_EXPERIMENTER,
    ),
    "instruction's length": (flow(match(), instruction(1, bytes(12))), INSTRUCTION, ofproto.OFPBIC_BAD_LEN),
    "instruction too long": (flow(match(), instruction(4, bytes(4), 16)), INSTRUCTION, ofproto.OFPBIC_BAD_LEN),
    "instruction of 0 bytes": (flow(match(), instruction(4, bytes(4), 0)), INSTRUCTION, ofproto.OFPBIC_BAD_LEN),
    "bytes behind": (flow(match(), b"\0\1\0\4"), INSTRUCTION, ofproto.OFPBIC_BAD_LEN),
    "instruction twice": (flow(match(), apply(b"") * 2), INSTRUCTION, ofproto.OFPBIC_UNSUP_INST),
    "goto here": (flow(match(), instruction(1, b"\1\0\0\0"), table=1), INSTRUCTION, ofproto.OFPBIC_BAD_TABLE_ID),
    "goto nowhere": (flow(match(), instruction(1, b"\4\0\0\0")), INSTRUCTION, ofproto.OFPBIC_BAD_TABLE_ID),
    "no meter": (flow(match(), instruction(6, b"\0\0\0\1")), METER, ofproto.OFPMMFC_INVALID_METER),
    # Actions
    "action": (acting(action(77)), ACTION, ofproto.OFPBAC_BAD_TYPE),
    "PBB pushed": (acting(action(26, b"\x88\xe7\0\0")), ACTION, ofproto.OFPBAC_BAD_TYPE),
    "action's length": (acting(action(0)), ACTION, ofproto.OFPBAC_BAD_LEN),
    "action too long": (acting(action(17, b"\x81\0\0\0", 16)), ACTION, ofproto.OFPBAC_BAD_LEN),
    "action of 0 bytes": (acting(action(17, b"\x81\0\0\0", 0)), ACTION, ofproto.OFPBAC_BAD_LEN),
    "action of others": (acting(action(0xFFFF)), ACTION, ofproto.OFPBAC_BAD_EXPERIMENTER),
    "custom actions": (
        acting(action(0xFFFF, struct.pack("!II4x", EXPERIMENTER, 4))),
        ACTION,
        ofproto.OFPBAC_BAD_EXP_TYPE,
    ),
    "tag's type": (acting(action(17, b"\x08\0\0\0")), ACTION, ofproto.OFPBAC_BAD_ARGUMENT),
    "label's type": (acting(action(19, b"\x81\0\0\0")), ACTION, ofproto.OFPBAC_BAD_ARGUMENT),
    "output to no port": (acting(action(0, struct.pack("!IH6x", 5, 0))), ACTION, ofproto.OFPBAC_BAD_OUT_PORT),
    "output to any": (acting(action(0, struct.pack("!IH6x", NO, 0))), ACTION, ofproto.OFPBAC_BAD_OUT_PORT),
    "output to the tables": (
        acting(action(0, struct.pack("!IH6x", ofproto.OFPP_TABLE, 0))),
        ACTION,
        ofproto.OFPBAC_BAD_OUT_PORT,
    ),
    "no group": (acting(action(22)), ACTION, ofproto.OFPBAC_BAD_OUT_GROUP),
    "no such queue": (acting(action(21, b"\0\0\0\1")), ACTION, ofproto.OFPBAC_BAD_QUEUE),
    "set what": (acting(setting(oxm(99, bytes(4)))), ACTION, ofproto.OFPBAC_BAD_SET_TYPE),
    "set in_port": (acting(setting(oxm(0, bytes(4)))), ACTION, ofproto.OFPBAC_BAD_SET_TYPE),
    "set metadata": (acting(setting(oxm(2, bytes(8)))), ACTION, ofproto.OFPBAC_BAD_SET_TYPE),
    "set with a mask": (acting(setting(oxm(3, bytes(6), bytes(6)))), ACTION, ofproto.OFPBAC_BAD_SET_TYPE),
    "set of other length": (acting(setting(oxm(3, bytes(4)))), ACTION, ofproto.OFPBAC_BAD_SET_LEN),
    "set and more": (acting(action(25, oxm(3, bytes(6)) + bytes(10))), ACTION, ofproto.OFPBAC_BAD_LEN),
    "set and less": (acting(action(25, oxm(3, b""))), ACTION, ofproto.OFPBAC_BAD_SET_LEN),
    "set cut": (acting(action(25, oxm(3, b"", length=6))), ACTION, ofproto.OFPBAC_BAD_LEN),
    "set PCP to 8": (acting(setting(oxm(7, b"\x08")), VLAN), ACTION, ofproto.OFPBAC_BAD_SET_ARGUMENT),
    "set VLAN of none": (acting(setting(VLAN)), ACTION, ofproto.OFPBAC_MATCH_INCONSISTENT),
    "set IPv4 of what": (acting(setting(oxm(11, bytes(4)))), ACTION, ofproto.OFPBAC_MATCH_INCONSISTENT),
    "set UDP of TCP": (acting(setting(oxm(15, bytes(2))), TCP), ACTION, ofproto.OFPBAC_MATCH_INCONSISTENT),
    "pop no tag": (acting(action(18)), ACTION, ofproto.OFPBAC_MATCH_INCONSISTENT),
    "pop two tags": (acting(action(18) * 2, VLAN), ACTION, ofproto.OFPBAC_MATCH_INCONSISTENT),
    "pop no label": (acting(action(20, b"\x08\0\0\0"), IPV4), ACTION, ofproto.OFPBAC_MATCH_INCONSISTENT),
    "TTL of ARP": (acting(action(24), ARP), ACTION, ofproto.OFPBAC_MATCH_INCONSISTENT),
    "TTL of no label": (acting(action(16), IPV4), ACTION, ofproto.OFPBAC_MATCH_INCONSISTENT),
    "IPv4 behind a label": (
        acting(action(19, b"\x88\x47\0\0") + setting(oxm(11, bytes(4))), IPV4),
        ACTION,
        ofproto.OFPBAC_MATCH_INCONSISTENT,
    ),
    # Flow mods
    "no such table": (flow(match(), table=4), FLOW, ofproto.OFPFMFC_BAD_TABLE_ID),
    "all tables": (flow(match(), table=255), FLOW, ofproto.OFPFMFC_BAD_TABLE_ID),
    "no such table to change": (flow(match(), table=4, command=1), FLOW, ofproto.OFPFMFC_BAD_TABLE_ID),
    "a change of all tables": (flow(match(), table=255, command=1), FLOW, ofproto.OFPFMFC_BAD_TABLE_ID),
    "a strict change of all tables": (flow(match(), table=255, command=2), FLOW, ofproto.OFPFMFC_BAD_TABLE_ID),
    "command": (flow(match(), command=5), FLOW, ofproto.OFPFMFC_BAD_COMMAND),
    "flags": (flow(match(), flags=32), FLOW, ofproto.OFPFMFC_BAD_FLAGS),
    "buffer": (flow(match(), buffer=1), REQUEST, ofproto.OFPBRC_BUFFER_UNKNOWN),
    # Groups
    "group's command": (group(3, 0, 1), GROUP, ofproto.OFPGMFC_BAD_COMMAND),
    "group's type": (group(0, 4, 1), GROUP, ofproto.OFPGMFC_BAD_TYPE),
    "group's number": (group(0, 0, 0xFFFFFF01), GROUP, ofproto.OFPGMFC_INVALID_GROUP),
    "group unknown": (group(1, 0, 1), GROUP, ofproto.OFPGMFC_UNKNOWN_GROUP),
    "bucket's length": (group(0, 0, 1, bucket(length=99)), GROUP, ofproto.OFPGMFC_BAD_BUCKET),
    "bucket cut": (group(0, 0, 1, bytes(8)), GROUP, ofproto.OFPGMFC_BAD_BUCKET),
    "bucket's action": (group(0, 0, 1, bucket(action(77))), ACTION, ofproto.OFPBAC_BAD_TYPE),
    "indirect to two": (group(0, 2, 1, bucket() * 2), GROUP, ofproto.OFPGMFC_INVALID_GROUP),
    "failover of what": (group(0, 3, 1, bucket()), GROUP, ofproto.OFPGMFC_INVALID_GROUP),
    "all that is alive": (group(0, 0, 1, bucket(port=1)), GROUP, ofproto.OFPGMFC_WATCH_UNSUPPORTED),
    "selected if alive": (group(0, 1, 1, bucket(port=1, weight=1)), GROUP, ofproto.OFPGMFC_WATCH_UNSUPPORTED),
    "all by weight": (group(0, 0, 1, bucket(weight=1)), GROUP, ofproto.OFPGMFC_INVALID_GROUP),
    "one by weight": (group(0, 2, 1, bucket(weight=1)), GROUP, ofproto.OFPGMFC_INVALID_GROUP),
    "failover by weight": (group(0, 3, 1, bucket(port=1, weight=1)), GROUP, ofproto.OFPGMFC_INVALID_GROUP),
    "watch no port": (group(0, 3, 1, bucket(port=9)), GROUP, ofproto.OFPGMFC_BAD_WATCH),
    "watch no group": (group(0, 3, 1, bucket(watched=9)), GROUP, ofproto.OFPGMFC_BAD_WATCH),
    # Meters
    "meter's command": (meter(3, 1, 1), METER, ofproto.OFPMMFC_BAD_COMMAND),
    "meter's flags": (meter(0, 3, 1), METER, ofproto.OFPMMFC_BAD_FLAGS),
    "meter 0": (meter(0, 1, 0), METER, ofproto.OFPMMFC_INVALID_METER),
    "meter of the controller": (meter(0, 1, 0xFFFFFFFE), METER, ofproto.OFPMMFC_INVALID_METER),
    "meter unknown": (meter(1, 1, 1), METER, ofproto.OFPMMFC_UNKNOWN_METER),
    "band": (meter(0, 1, 1, b"\0\3" + BAND[2:]), METER, ofproto.OFPMMFC_BAD_BAND),
    "bands": (meter(0, 1, 1, BAND * 3), METER, ofproto.OFPMMFC_OUT_OF_BANDS),
    "band cut": (meter(0, 1, 1, BAND[:12]), REQUEST, ofproto.OFPBRC_BAD_LEN),
    "band's length": (meter(0, 1, 1, b"\0\1\0\x18" + BAND[4:]), REQUEST, ofproto.OFPBRC_BAD_LEN),
    # Ports and packets
    "port": (port(9), PORT, ofproto.OFPPMFC_BAD_PORT),
    "port's address": (port(1, mac=2), PORT, ofproto.OFPPMFC_BAD_HW_ADDR),
    "port's bits": (port(1, mask=2), PORT, ofproto.OFPPMFC_BAD_CONFIG),
    "port's features": (port(1, advertise=1), PORT, ofproto.OFPPMFC_BAD_ADVERTISE),
    "packet's buffer": (packet_out(b"", buffer=1), REQUEST, ofproto.OFPBRC_BUFFER_UNKNOWN),
    "packet's port": (packet_out(b"", in_port=9), REQUEST, ofproto.OFPBRC_BAD_PORT),
    "packet cut": (packet_out(b"", data=bytes(13)), REQUEST, ofproto.OFPBRC_BAD_PACKET),
    "packet's actions": (packet_out(b"", length=99), REQUEST, ofproto.OFPBRC_BAD_LEN),
    "packet's action": (packet_out(action(0, struct.pack("!IH6x", 9, 0))), ACTION, ofproto.OFPBAC_BAD_OUT_PORT),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_fault_has_its_error(name: str) -> None:
    data, kind, code = WRONG[name]
    datapath = FakeDatapath()
    controller = Controller(switch(datapath))
    before = dict(datapath.port_states)
    assert controller.refused(data) == (kind, code)
    assert not controller.connection.closed
    changed = (datapath.flows, datapath.group_entries, datapath.meter_entries, datapath.packet_outs)
    assert changed == ([], {}, {}, [])
    assert datapath.port_states == before


FINE = {
    "a set tag that was pushed": acting(action(17, b"\x81\0\0\0") + setting(VLAN)),
    "a popped tag that was pushed": acting(action(17, b"\x81\0\0\0") + action(18)),
    "a label that was pushed": acting(action(19, b"\x88\x47\0\0") + setting(oxm(34, bytes(4))) + action(16), IPV4),
    "IPv4 behind a popped label": acting(action(20, b"\x08\0\0\0") + action(24), MPLS),
    "an action set in any order": flow(match(), instruction(3, bytes(4) + setting(VLAN) + action(17, b"\x81\0\0\0"))),
    "the physical port": flow(match(oxm(0, struct.pack("!I", 1)) + oxm(1, struct.pack("!I", 1)))),
    "a mask of ports": flow(match(TCP + oxm(14, b"\x80\0", b"\x80\0"))),
    "any tag": flow(match(oxm(6, b"\x10\0", b"\x10\0") + oxm(7, b"\3"))),
    "from the controller": flow(match(oxm(0, struct.pack("!I", ofproto.OFPP_CONTROLLER)))),
    "a queue that is there": acting(action(21)),
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_not_wrong_is_taken(name: str) -> None:
    controller = Controller(switch(FakeDatapath()))
    controller.fine(FINE[name])
    assert len(controller.switch.datapath.flows) == 1  # type: ignore[attr-defined]


def test_a_full_switch_says_of_what() -> None:
    controller = Controller(switch(FakeDatapath(entries=3)))
    for number in range(1, 4):
        controller.fine(flow_mod([output(1)], in_port=number))
    assert controller.refused(flow_mod([output(1)], in_port=4)) == (FLOW, ofproto.OFPFMFC_TABLE_FULL)
    controller.fine(flow_mod([output(2)], in_port=3))
    for number in range(1, 9):
        controller.fine(group(0, 0, number))
        controller.fine(meter(0, 1, number, BAND))
    assert controller.refused(group(0, 0, 9)) == (GROUP, ofproto.OFPGMFC_OUT_OF_GROUPS)
    assert controller.refused(group(0, 0, 8)) == (GROUP, ofproto.OFPGMFC_GROUP_EXISTS)
    assert controller.refused(meter(0, 1, 9)) == (METER, ofproto.OFPMMFC_OUT_OF_METERS)
    assert controller.refused(meter(0, 1, 8)) == (METER, ofproto.OFPMMFC_METER_EXISTS)


def test_an_unmatched_field_can_not_be_set_either() -> None:
    controller = Controller(switch(FakeDatapath(fields=(0, 3, 4, 5))))
    assert controller.refused(flow(match(IPV6 + oxm(26, bytes(16))))) == (MATCH, ofproto.OFPBMC_BAD_FIELD)
    assert controller.refused(acting(setting(VLAN), VLAN)) == (MATCH, ofproto.OFPBMC_BAD_FIELD)
    assert controller.refused(acting(setting(oxm(8, b"\1")), IPV4)) == (ACTION, ofproto.OFPBAC_BAD_SET_TYPE)


def test_what_a_narrow_key_has_not_can_not_be_matched_or_written() -> None:
    controller = Controller(switch(FakeDatapath(fields=NARROW_FIELDS)))
    for fields in (
        *(IPV6 + oxm(number, b"\1") for number in (8, 9, 10)),
        IPV6 + oxm(26, bytes(16)),
        ARP + oxm(21, b"\0\1"),
        ARP + oxm(22, bytes(4)),
        MPLS + oxm(35, b"\1"),
        oxm(2, bytes(8)),
        oxm(38, bytes(8)),
    ):
        assert controller.refused(flow(match(fields))) == (MATCH, ofproto.OFPBMC_BAD_FIELD)
    write_metadata = struct.pack("!HH4xQQ", 2, 24, 1, 1)
    assert controller.refused(flow(match(), write_metadata)) == (INSTRUCTION, ofproto.OFPBIC_UNSUP_METADATA)
    for fields in (IPV6, ARP, MPLS, TCP, IPV4 + oxm(8, b"\1")):
        controller.fine(flow(match(fields)))
    for kind in (11, 12, 15, 16, 19, 20):  # of MPLS
        acts = acting(struct.pack("!HHHxx", kind, 8, 0x8847), IPV4 if kind == 19 else MPLS)
        assert controller.refused(acts) == (ACTION, ofproto.OFPBAC_BAD_TYPE)
    decrease = struct.pack("!HH4x", 24, 8)
    assert controller.refused(acting(decrease, IPV6)) == (ACTION, ofproto.OFPBAC_MATCH_INCONSISTENT)
    controller.fine(acting(decrease, IPV4))


@pytest.mark.parametrize(
    "hello",
    [
        message(0, version=1),
        message(0, version=3),
        message(0, struct.pack("!HHI", 1, 8, 1 << 1 | 1 << 5), version=5),
        message(ofproto.OFPT_BARRIER_REQUEST),
    ],
    ids=["1.0", "1.2", "1.0 and 1.4", "no hello"],
)
def test_who_does_not_speak_our_version_is_told_and_left(hello: bytes) -> None:
    controller = Controller(switch(), greets=False)
    ours, error = controller.send(hello)
    assert ours.elements[0].versions == [4]
    assert (error.type, error.code) == (HELLO, ofproto.OFPHFC_INCOMPATIBLE)
    assert controller.connection.closed


@pytest.mark.parametrize(
    "hello",
    [
        message(0),
        message(0, version=6),
        message(0, struct.pack("!HHI", 1, 8, 1 << 1 | 1 << 4), version=6),
        message(0, struct.pack("!HHI", 9, 8, 1) + struct.pack("!HHII", 1, 12, 1 << 4, 0), version=6),
        message(0, b"\0\1\0\1"),
    ],
    ids=["1.3", "1.5", "1.0 and 1.3", "an unknown element", "a malformed element"],
)
def test_who_speaks_our_version_may_go_on(hello: bytes) -> None:
    controller = Controller(switch(), greets=False)
    assert len(controller.send(hello)) == 1
    assert [type(one) for one in controller.send(parser.OFPBarrierRequest(PROTOCOL))] == [parser.OFPBarrierReply]


def test_an_error_is_never_answered() -> None:
    controller = Controller(switch())
    controller.fine(message(ofproto.OFPT_ERROR, bytes(4)))
    controller.fine(message(ofproto.OFPT_ERROR, bytes(4), version=1))
    newcomer = Controller(switch(), greets=False)
    assert [type(one) for one in newcomer.send(message(ofproto.OFPT_ERROR, bytes(4)))] == [parser.OFPHello]
    assert newcomer.connection.closed


def test_what_os_ken_tests_switches_with_is_taken_but_for_pbb() -> None:
    """Flows, groups and meters of its 991 tests."""

    def filled(found: Any) -> Any:
        if isinstance(found, dict):
            return {name: filled(value) for name, value in found.items()}
        if isinstance(found, list):
            return [filled(value) for value in found]
        return {"target_recv_port": 1, "target_send_port_1": 2, "target_send_port_2": 3}.get(found, found)

    outcomes: Counter[str] = Counter()
    for path in sorted((OS_KEN_TESTS / "switch" / "of13").rglob("*.json")):
        for test in json.loads(path.read_text())[1:]:
            controller = Controller(switch(FakeDatapath()))
            errors = []
            for wanted in test["prerequisite"]:
                ((kind, content),) = filled(wanted).items()
                errors += controller.send(getattr(parser, kind).from_jsondict(content, datapath=PROTOCOL))
            text = json.dumps(test)
            outside = "pbb" in text.lower()
            outcomes[f"{'refused' if errors else 'taken'}{', of PBB' if outside else ''}"] += 1
    assert outcomes["taken"] > 700
    assert outcomes["refused"] == 0
    assert outcomes["taken, of PBB"] == 0
    assert sum(outcomes.values()) == 991
