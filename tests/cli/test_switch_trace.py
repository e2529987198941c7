"""What happens to a given packet in the switch: what the trace says is what OpenFlow says, and reads well."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from openflow_packet import Packet
from openflow_random import flow as random_flow
from openflow_random import group as random_group
from openflow_random import packet as random_packet
from openflow_spec import SpecSwitch
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from switch_model import ModelCard
from switch_parser.oracle import DEPTH
from switch_parser.packets import frame

from headrace.cards.switch import flows
from headrace.cards.switch.flows import Action, ActionKind, Bucket, Flow, Group, GroupKind, Instructions, Oxm
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.headers import Headers
from headrace.cards.switch.trace import Output, trace

K = ActionKind
PORTS, TABLES = 4, 4


def test_headers_are_read_as_the_parser_reads_them() -> None:
    random.seed(1)
    frames = [data for data in (frame() for _ in range(1500)) if 14 <= len(data) <= DEPTH]
    assert len(frames) > 1000
    for data in frames:
        assert Headers.read(data).fields() == Packet.read(data).fields(), data.hex()
    assert not any(Headers.read(bytes(13)).fields().values())


def seen(output: Output) -> tuple[object, ...]:
    """What can be told of a copy."""
    headers = output.headers
    ttl = None if headers.labels else headers.ttl
    fields = headers.fields() | ({38: 0} if output.reason is None else {})  # the tunnel goes to controllers only
    return output.port, output.reason, fields, headers.tags, headers.labels, ttl


def due(port: int, data: bytes, reason: int | None = None, tunnel_id: int = 0) -> tuple[object, ...]:
    """The same, of its bytes."""
    packet = replace(Packet.read(data), tunnel_id=tunnel_id)
    return port, reason, packet.fields(), packet.tags, packet.labels, packet.ttl()


@pytest.mark.parametrize("seed", range(4))
def test_a_trace_follows_a_packet_as_openflow_says(seed: int) -> None:
    rng = random.Random(seed)
    groups = [random_group(rng, number, PORTS) for number in (7, 8)]
    entries = [
        random_flow(rng, table, priority, TABLES, PORTS, [7, 8])
        for table in range(TABLES)
        for priority in (0, *rng.sample(range(1, 1000), 40))
    ]
    compared = 0
    live = {1, 2}
    for _ in range(300):
        data, in_port = random_packet(rng), rng.randrange(1, PORTS + 1)
        expected = SpecSwitch(PORTS, entries, groups, live=live).run(data, in_port)
        found = trace(entries, {group.number: group for group in groups}, data, in_port, PORTS, live)
        assert [output.port for output in found.outputs if output.reason is None] == [port for port, _ in expected.sent]
        if any(len(output.headers.tags) > 2 for output in found.outputs):
            continue  # reading the bytes anew would not find them all
        compared += 1
        sent = [output for output in found.outputs if output.reason is None]
        hosts = [output for output in found.outputs if output.reason is not None]
        assert [seen(output) for output in sent] == [due(*copy) for copy in expected.sent]
        assert [seen(output) for output in hosts] == [
            due(flows.CONTROLLER, host.data, host.reason, host.tunnel_id) for host in expected.to_controller
        ]
    assert compared > 200


def test_a_trace_reads_table_by_table_and_nothing_is_sent() -> None:
    card = ModelCard(PORTS, 2)
    datapath = HardwareDatapath(card)
    edits = (Action(K.SET_FIELD, 0x1005, 6), Action(K.DEC_NW_TTL), Action(K.OUTPUT, flows.CONTROLLER, 128))
    datapath.add(
        Flow(
            *(0, 10, (Oxm(0, 1), Oxm(6, 0x1000, 0x1000))),
            Instructions(apply=edits, write=(Action(K.OUTPUT, 2),), metadata=(5, 0xF), goto=1),
            cookie=0x2A,
        )
    )
    datapath.set_group(Group(1, GroupKind.ALL, (Bucket((Action(K.POP_VLAN), Action(K.OUTPUT, 1))),)))
    datapath.add(Flow(1, 0, (), Instructions(apply=(Action(K.GROUP, 1),))))
    commands = card.commands
    assert datapath.trace(DATA, 1).text() == TEXT
    assert (
        datapath.trace(DATA, 2)
        .text()
        .endswith("table 0: no flow matches: the packet is dropped\n\nnothing leaves the switch\n")
    )
    assert (card.commands, card.table[0].looked_up, card.sent, list(datapath.events())) == (commands, 0, [], [])


DATA = bytes(
    Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    / Dot1Q(vlan=3)
    / IP(src="192.0.2.1", dst="10.0.0.2")
    / UDP(dport=9)
)
TEXT = """\
packet: in_port=1,eth_dst=02:00:00:00:00:02,eth_src=02:00:00:00:00:01,eth_type=0x0800,vlan_vid=0x1003,vlan_pcp=0,\
ip_dscp=0,ip_ecn=0,ip_proto=17,ipv4_src=192.0.2.1,ipv4_dst=10.0.0.2,udp_src=53,udp_dst=9

table 0: priority 10, cookie 0x2a, in_port=1,vlan_vid=0x1000/0x1000
    set_field:0x1005->vlan_vid
    dec_nw_ttl
    controller:128
    write output:2
    metadata is 0x5
    goto_table:1

table 1: priority 0, any
    group:1
    bucket 0 of group 1, all:
    pop_vlan
    output:1
    not sent: the packet came by that port

action set:
    output:2

to controllers (action): vlan_vid=0x1005, ttl=63
out of port 2: vlan_vid=0x1005, ttl=63
"""
