"""Mutated OpenFlow messages: whatever comes, a switch answers it or does it, and goes on. The variable HEADRACE_FUZZ
says how many (2,000)."""

from __future__ import annotations

import os
import random
from collections import Counter

from fake_datapath import FakeDatapath
from openflow_controller import (
    OS_KEN_TESTS,
    PROTOCOL,
    Controller,
    flow_mod,
    ofproto,
    output,
    parser,
    serialized,
    switch,
)

from headrace.cards.switch.flows import RefusedError
from headrace.cards.switch.openflow import requests
from headrace.cards.switch.openflow.constants import Kind, Role

MESSAGES = int(os.environ.get("HEADRACE_FUZZ", "2000"))
SEED = int(os.environ.get("HEADRACE_FUZZ_SEED", "1"))


def corpus() -> list[bytes]:
    """Good messages of every kind."""
    paths = sorted((OS_KEN_TESTS / "packet_data" / "of13").glob("*.packet"))
    golden = [path.read_bytes() for path in paths if not path.name.startswith("ovs-ofctl")]
    kinds = {Kind.HELLO, Kind.ECHO_REQUEST, Kind.EXPERIMENTER, *requests.KINDS}
    found = [data for data in golden if data[1] in kinds]
    tcp = {"eth_type": 0x86DD, "ip_proto": 6, "ipv6_src": ("fe80::", "ffff::"), "vlan_vid": (0x1000, 0x1000)}
    actions = [
        parser.OFPActionPushMpls(),
        parser.OFPActionSetField(mpls_label=5),
        parser.OFPActionPopMpls(0x86DD),
        parser.OFPActionSetField(ipv6_dst="fe80::1"),
        parser.OFPActionGroup(1),
        output(3),
    ]
    write = parser.OFPInstructionActions(ofproto.OFPIT_WRITE_ACTIONS, [parser.OFPActionPopVlan(), output(1)])
    metadata = parser.OFPInstructionWriteMetadata(5, 7)
    buckets = [parser.OFPBucket(actions=[output(1)], weight=1), parser.OFPBucket(actions=[output(2)], weight=2)]
    failover = [parser.OFPBucket(actions=[output(1)], watch_port=2)]
    bands = [parser.OFPMeterBandDrop(10, 20), parser.OFPMeterBandDscpRemark(30, 40, 2)]
    made = [
        parser.OFPGroupMod(PROTOCOL, 0, ofproto.OFPGT_SELECT, 1, buckets),
        parser.OFPGroupMod(PROTOCOL, 0, ofproto.OFPGT_FF, 2, failover),
        parser.OFPGroupMod(PROTOCOL, 2, 0, ofproto.OFPG_ALL, []),
        parser.OFPMeterMod(PROTOCOL, 0, ofproto.OFPMF_KBPS, 1, bands),
        parser.OFPMeterMod(PROTOCOL, 2, 0, ofproto.OFPM_ALL, []),
        flow_mod(actions, **tcp, tcp_dst=80),
        flow_mod(instructions=[write, metadata, parser.OFPInstructionGotoTable(2)], **tcp),
        flow_mod(instructions=[parser.OFPInstructionMeter(1, ofproto.OFPIT_METER)], in_port=1),
        flow_mod(command=ofproto.OFPFC_DELETE, table_id=255),
        flow_mod([output(1)], command=ofproto.OFPFC_MODIFY, table_id=1),
    ]
    return found + [serialized(message) for message in made]


def mutated(rng: random.Random, messages: list[bytes]) -> bytes:
    data = bytearray(rng.choice(messages))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
        at = rng.randrange(8, len(data)) if len(data) > 8 and rng.random() < 0.9 else rng.randrange(len(data))
        how = rng.randrange(7)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif how == 2:
            data[at & ~1 : (at & ~1) + 2] = rng.randrange(64).to_bytes(2, "big")
        elif how == 3:
            del data[max(at, 4) :]
        elif how == 4:
            data[at:at] = rng.randbytes(rng.choice((1, 4, 8)))
        elif how == 5:
            other = rng.choice(messages)
            data[at:] = other[rng.randrange(len(other)) :]
        else:
            data[at & ~3 : (at & ~3) + 4] = rng.choice((b"\xff" * 4, bytes(4), b"\xff\xff\xff\xfd"))
    data = data[:0xFFFF].ljust(4, b"\0")
    if rng.random() < 0.95:
        data[2:4] = len(data).to_bytes(2, "big")
    return bytes(data)


def test_whatever_comes_is_answered_or_done() -> None:
    rng = random.Random(SEED)
    messages = corpus()
    assert {data[1] for data in messages} >= {kind for kind in requests.KINDS if kind != Kind.HELLO}
    datapath = FakeDatapath(tables=8)
    controller = Controller(switch(datapath))
    outcomes: Counter[str] = Counter()
    for _ in range(MESSAGES):
        data = mutated(rng, messages)
        try:
            requests.decode(data)
            outcomes["decoded"] += 1
        except RefusedError:
            outcomes["malformed"] += 1
        before = len(datapath.flows)
        controller.switch.handle(controller.connection, data)
        assert not controller.connection.closed
        errors = [answer for answer in controller.raw if answer[1] == Kind.ERROR]
        assert len(errors) <= 1
        assert all(len(answer) == int.from_bytes(answer[2:4], "big") for answer in controller.raw)
        if errors:
            outcomes["refused"] += 1
            assert controller.raw == errors
            assert len(datapath.flows) == before
        controller.raw.clear()
        controller.connection.role = Role.EQUAL
        assert len(list(controller.switch.flow_tables)) == len(datapath.flows)
        assert controller.switch.groups == datapath.group_entries
        assert set(controller.switch.meters) == set(datapath.meter_entries)
    assert outcomes["decoded"] > MESSAGES // 4
    assert outcomes["malformed"] > MESSAGES // 10
    controller.send(parser.OFPFlowStatsRequest(PROTOCOL, 0, 255, ofproto.OFPP_ANY, ofproto.OFPG_ANY, 0, 0))


def test_random_bytes_are_malformed() -> None:
    rng = random.Random(SEED)
    for _ in range(MESSAGES):
        body = rng.randbytes(rng.choice((0, 3, 8, 40, 100)))
        head = bytes((4, rng.randrange(32))) + (8 + len(body)).to_bytes(2, "big") + bytes(4)
        try:
            requests.decode((head + body)[: rng.choice((200, 200, 5))])
        except RefusedError as error:
            assert 0 <= error.kind <= 13
