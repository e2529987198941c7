"""The OpenFlow codec against os-ken's: its golden packets, its parsers, its serialisers."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from openflow_controller import OS_KEN_TESTS, PROTOCOL, ofproto, output, oxm, parsed, parser, serialized

from headrace.cards.switch import flows
from headrace.cards.switch.flows import (
    Action,
    ActionKind,
    Band,
    Bucket,
    Count,
    Flow,
    Group,
    GroupKind,
    Instructions,
    Match,
    Meter,
    Oxm,
    RefusedError,
)
from headrace.cards.switch.openflow import multipart, replies, requests
from headrace.cards.switch.openflow.actions import EXPERIMENTER, decode_instructions, encode_instructions
from headrace.cards.switch.openflow.constants import Part
from headrace.cards.switch.openflow.oxm import FIELDS, UNSETTABLE, F, decode_match, encode_match

PACKETS = OS_KEN_TESTS / "packet_data" / "of13"
MEANINGS = OS_KEN_TESTS / "unit" / "ofproto" / "json" / "of13"


def golden(name: str) -> bytes:
    return (PACKETS / f"{name}.packet").read_bytes()


def meaning(name: str) -> Any:
    """What os-ken says that a golden packet says."""
    ((kind, content),) = json.loads((MEANINGS / f"{name}.packet.json").read_text()).items()
    return getattr(parser, kind).from_jsondict(content, datapath=PROTOCOL)


def match_of(theirs: Any) -> Match:
    found = (oxm(name, value) for name, value in theirs.items())
    return tuple(sorted((o for o in found if o.mask != 0), key=lambda o: o.field))


def action_of(theirs: Any) -> Action:
    kind = ActionKind(theirs.type)
    if kind == ActionKind.OUTPUT:
        return Action(kind, theirs.port, theirs.max_len)
    if kind == ActionKind.SET_FIELD:
        field = oxm(theirs.key, theirs.value)
        return Action(kind, field.value, field.field)
    names = ("ethertype", "group_id", "queue_id", "nw_ttl", "mpls_ttl")
    return Action(kind, *(getattr(theirs, name) for name in names if hasattr(theirs, name)))


def instructions_of(theirs: list[Any]) -> Instructions:
    found: dict[str, Any] = {}
    for one in theirs:
        if one.type == ofproto.OFPIT_GOTO_TABLE:
            found["goto"] = one.table_id
        elif one.type == ofproto.OFPIT_METER:
            found["meter"] = one.meter_id
        elif one.type == ofproto.OFPIT_WRITE_METADATA:
            found["metadata"] = (one.metadata, one.metadata_mask)
        elif one.type == ofproto.OFPIT_CLEAR_ACTIONS:
            found["clear"] = True
        else:
            name = "apply" if one.type == ofproto.OFPIT_APPLY_ACTIONS else "write"
            found[name] = tuple(map(action_of, one.actions))
    return Instructions(**found)


@pytest.mark.parametrize("name", ["4-3-ofp_flow_mod", "4-46-ofp_flow_mod"])
def test_golden_flow_mods_say_what_they_say(name: str) -> None:
    theirs = meaning(name)
    kind, ours = requests.decode(golden(name))
    assert kind == theirs.cls_msg_type
    assert ours == requests.FlowMod(
        theirs.cookie,
        theirs.cookie_mask,
        theirs.table_id,
        theirs.command,
        theirs.idle_timeout,
        theirs.hard_timeout,
        theirs.priority,
        theirs.buffer_id,
        theirs.out_port,
        theirs.out_group,
        theirs.flags,
        match_of(theirs.match),
        instructions_of(theirs.instructions),
    )


def test_golden_messages_say_what_they_say() -> None:
    def decoded(name: str) -> Any:
        return requests.decode(golden(name))[1]

    theirs = meaning("4-1-ofp_packet_out")
    ours = decoded("4-1-ofp_packet_out")
    assert ours[:3] == (theirs.buffer_id, theirs.in_port, tuple(map(action_of, theirs.actions)))
    assert ours.data == theirs.data

    theirs = meaning("4-21-ofp_group_mod")
    buckets = tuple(
        Bucket(tuple(map(action_of, bucket.actions)), bucket.weight, bucket.watch_port, bucket.watch_group)
        for bucket in theirs.buckets
    )
    assert decoded("4-21-ofp_group_mod") == (theirs.command, theirs.type, theirs.group_id, buckets)

    theirs = meaning("4-22-ofp_port_mod")
    mac = bytes.fromhex(theirs.hw_addr.replace(":", ""))
    expected = (theirs.port_no, mac, theirs.config, theirs.mask, theirs.advertise)
    assert decoded("4-22-ofp_port_mod") == expected

    theirs = meaning("4-23-ofp_table_mod")
    assert decoded("4-23-ofp_table_mod") == (theirs.table_id, theirs.config)
    theirs = meaning("4-7-ofp_set_config")
    assert decoded("4-7-ofp_set_config") == (theirs.flags, theirs.miss_send_len)
    theirs = meaning("4-19-ofp_role_request")
    assert decoded("4-19-ofp_role_request") == (theirs.role, theirs.generation_id)
    theirs = meaning("4-35-ofp_queue_get_config_request")
    assert decoded("4-35-ofp_queue_get_config_request") == (theirs.port,)
    theirs = meaning("4-16-ofp_experimenter")
    assert decoded("4-16-ofp_experimenter") == (theirs.experimenter, theirs.exp_type)
    theirs = meaning("4-13-ofp_echo_request")
    assert decoded("4-13-ofp_echo_request").data == theirs.data
    theirs = meaning("4-44-ofp_set_async")
    masks = (theirs.packet_in_mask, theirs.port_status_mask, theirs.flow_removed_mask)
    assert decoded("4-44-ofp_set_async") == tuple(map(tuple, masks))
    theirs = meaning("4-10-ofp_hello")
    assert decoded("4-10-ofp_hello").versions == set(theirs.elements[0].versions)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("4-24-ofp_desc_request", ""),
        ("4-11-ofp_flow_stats_request", "table_id out_port out_group cookie cookie_mask"),
        ("4-25-ofp_aggregate_stats_request", "table_id out_port out_group cookie cookie_mask"),
        ("4-27-ofp_table_stats_request", ""),
        ("4-29-ofp_port_stats_request", "port_no"),
        ("4-37-ofp_queue_stats_request", "port_no queue_id"),
        ("4-57-ofp_group_stats_request", "group_id"),
        ("4-33-ofp_group_desc_request", ""),
        ("4-31-ofp_group_features_request", ""),
        ("4-49-ofp_meter_stats_request", "meter_id"),
        ("4-47-ofp_meter_config_request", "meter_id"),
        ("4-51-ofp_meter_features_request", ""),
        ("4-53-ofp_port_desc_request", ""),
    ],
)
def test_golden_multipart_requests_ask_for_what_they_ask_for(name: str, fields: str) -> None:
    theirs = meaning(name)
    request = requests.decode(golden(name))[1]
    assert isinstance(request, requests.Multipart)
    kind, body = multipart.decode(request)
    assert kind == theirs.type
    expected = [getattr(theirs, field) for field in fields.split()]
    assert (list(body)[: len(expected)] if isinstance(body, tuple) else [body] if expected else []) == expected


def pieces(rng: random.Random) -> Match:
    """Of some match fields, with what they need."""
    chosen: dict[int, Oxm] = {}

    def take(number: F) -> None:
        field = FIELDS[number]
        if field.needs is not None:
            needed, values = field.needs
            if needed not in chosen:
                take(needed)
            if chosen[needed].value not in values:
                if FIELDS[needed].needs is not None:
                    take(FIELDS[needed].needs[0])
                chosen[needed] = Oxm(int(needed), rng.choice(list(values)[:100]))
        mask = rng.choice((field.ones, rng.randrange(1, field.ones + 1))) if field.maskable else field.ones
        if number == F.VLAN_VID:
            mask |= 0x1000
        value = rng.randrange(field.ones + 1) & mask
        chosen[number] = Oxm(int(number), value, None if mask == field.ones else mask)

    for number in rng.sample(list(FIELDS), rng.randrange(4)):
        if number not in chosen:
            take(number)
    match = tuple(sorted(chosen.values(), key=lambda o: o.field))
    try:
        assert decode_match(encode_match(match), 0)[0] == match
    except RefusedError:  # what one field needs has taken away what another needs
        return ()
    return match


def some_actions(rng: random.Random) -> tuple[Action, ...]:
    number = rng.choice([field for field in FIELDS if field not in UNSETTABLE])
    choice = (
        Action(ActionKind.OUTPUT, rng.randrange(1 << 32), rng.randrange(1 << 16)),
        Action(ActionKind.SET_FIELD, rng.randrange(FIELDS[number].ones + 1), int(number)),
        Action(ActionKind.GROUP, rng.randrange(1 << 32)),
        Action(ActionKind.SET_QUEUE, rng.randrange(1 << 32)),
        Action(ActionKind.PUSH_VLAN, rng.choice((0x8100, 0x88A8))),
        Action(ActionKind.PUSH_MPLS, rng.choice((0x8847, 0x8848))),
        Action(ActionKind.POP_MPLS, rng.randrange(1 << 16)),
        Action(ActionKind.SET_NW_TTL, rng.randrange(256)),
        Action(ActionKind.SET_MPLS_TTL, rng.randrange(256)),
        *map(Action, (ActionKind.POP_VLAN, ActionKind.DEC_NW_TTL, ActionKind.DEC_MPLS_TTL)),
        *map(Action, (ActionKind.COPY_TTL_IN, ActionKind.COPY_TTL_OUT)),
    )
    return tuple(rng.choice(choice) for _ in range(rng.randrange(4)))


def some_instructions(rng: random.Random) -> Instructions:
    return Instructions(
        meter=rng.choice((None, rng.randrange(1 << 32))),
        apply=rng.choice((None, some_actions(rng))),
        clear=rng.choice((False, True)),
        write=rng.choice((None, some_actions(rng))),
        metadata=rng.choice((None, (rng.getrandbits(64), rng.getrandbits(64)))),
        goto=rng.choice((None, rng.randrange(256))),
    )


def some_flow(rng: random.Random) -> Flow:
    return Flow(
        rng.randrange(255),
        rng.randrange(1 << 16),
        pieces(rng),
        some_instructions(rng),
        rng.getrandbits(64),
        rng.randrange(32),
        rng.randrange(1 << 16),
        rng.randrange(1 << 16),
        rng.randrange(1 << 60),
    )


def test_flows_are_told_as_os_ken_reads_them() -> None:
    rng = random.Random(1)
    told = [(some_flow(rng), Count(rng.getrandbits(64), rng.getrandbits(64))) for _ in range(300)]
    now = 1 << 60
    (message,) = multipart.reply(5, Part.FLOW, [multipart.flow(flow, count, now) for flow, count in told])
    reply = parsed(message)
    assert reply.flags == 0
    assert reply.xid == 5
    for (flow, count), theirs in zip(told, reply.body, strict=True):
        assert (theirs.table_id, theirs.priority, theirs.cookie) == (flow.table, flow.priority, flow.cookie)
        assert (theirs.idle_timeout, theirs.hard_timeout, theirs.flags) == (flow.idle_s, flow.hard_s, flow.flags)
        assert theirs.duration_sec * 10**9 + theirs.duration_nsec == now - flow.created_ns
        assert (theirs.packet_count, theirs.byte_count) == (count.packets, count.bytes)
        assert match_of(theirs.match) == flow.match
        assert instructions_of(theirs.instructions) == flow.instructions


def test_flow_mods_of_os_ken_are_read_as_they_were_meant() -> None:
    """What it has parsed of our bytes, it serialises itself."""
    rng = random.Random(2)
    for _ in range(300):
        flow = some_flow(rng)
        (message,) = multipart.reply(0, Part.FLOW, [multipart.flow(flow, Count(0, 0), 1 << 60)])
        (theirs,) = parsed(message).body
        mod = parser.OFPFlowMod(
            PROTOCOL,
            cookie=flow.cookie,
            table_id=flow.table,
            priority=flow.priority,
            match=theirs.match,
            instructions=theirs.instructions,
        )
        ours = requests.decode(serialized(mod))[1]
        assert isinstance(ours, requests.FlowMod)
        assert (ours.cookie, ours.table, ours.priority) == (flow.cookie, flow.table, flow.priority)
        assert ours.match == flow.match
        assert ours.instructions == flow.instructions


def test_what_is_told_in_many_messages_is_whole() -> None:
    rng = random.Random(3)
    told = [some_flow(rng) for _ in range(1500)]
    messages = list(multipart.reply(9, Part.FLOW, [multipart.flow(flow, Count(0, 0), 1 << 60) for flow in told]))
    assert len(messages) > 2
    assert all(len(message) <= 0xFFFF for message in messages)
    replies_ = [parsed(message) for message in messages]
    assert [reply.flags for reply in replies_] == [ofproto.OFPMPF_REPLY_MORE] * (len(messages) - 1) + [0]
    assert {reply.xid for reply in replies_} == {9}
    assert [stat.cookie for reply in replies_ for stat in reply.body] == [flow.cookie for flow in told]


def test_groups_and_meters_are_told_as_os_ken_reads_them() -> None:
    rng = random.Random(4)
    for _ in range(100):
        buckets = tuple(
            Bucket(some_actions(rng), rng.randrange(100), rng.choice((None, 3)), rng.choice((None, 5)))
            for _ in range(3)
        )
        group = Group(rng.randrange(1 << 32), rng.choice(list(GroupKind)), buckets, 5)
        (message,) = multipart.reply(0, Part.GROUP_DESC, [multipart.group_desc(group)])
        (theirs,) = parsed(message).body
        assert (theirs.group_id, theirs.type) == (group.number, group.kind)
        for bucket, other in zip(buckets, theirs.buckets, strict=True):
            port = ofproto.OFPP_ANY if bucket.watch_port is None else bucket.watch_port
            watched = ofproto.OFPG_ANY if bucket.watch_group is None else bucket.watch_group
            assert (other.weight, other.watch_port, other.watch_group) == (bucket.weight, port, watched)
            assert tuple(map(action_of, other.actions)) == bucket.actions

        bands = (Band(rng.getrandbits(32), rng.getrandbits(32)), Band(1, 2, rng.randrange(8)))
        (message,) = multipart.reply(0, Part.METER_CONFIG, [multipart.meter_config(Meter(6, bands), 5)])
        (theirs,) = parsed(message).body
        assert (theirs.meter_id, theirs.flags) == (6, 5)
        drop, remark = theirs.bands
        assert (drop.rate, drop.burst_size) == bands[0][:2]
        assert (remark.rate, remark.burst_size, remark.prec_level) == bands[1]


def test_meter_mods_of_os_ken_are_read_as_they_were_meant() -> None:
    bands = [parser.OFPMeterBandDrop(10, 20), parser.OFPMeterBandDscpRemark(30, 40, 2)]
    mod = parser.OFPMeterMod(PROTOCOL, ofproto.OFPMC_ADD, ofproto.OFPMF_KBPS | ofproto.OFPMF_BURST, 5, bands)
    assert requests.decode(serialized(mod))[1] == (0, 5, 5, (Band(10, 20), Band(30, 40, 2)))
    mod.flags = ofproto.OFPMF_KBPS
    assert requests.decode(serialized(mod))[1] == (0, 1, 5, (Band(10, 0), Band(30, 0, 2)))


def test_a_mask_that_says_nothing_is_not_kept() -> None:
    match = parser.OFPMatch(eth_dst=("02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff"), metadata=(0, 0), vlan_vid=(5, 0x1FFF))
    ours = requests.decode(serialized(parser.OFPFlowMod(PROTOCOL, match=match, instructions=[])))[1]
    assert isinstance(ours, requests.FlowMod)
    assert ours.match == (Oxm(F.ETH_DST, 0x0200_0000_0001), Oxm(F.VLAN_VID, 5))


def test_custom_actions_come_through() -> None:
    for custom in (1, 2, 3):
        instructions = Instructions(apply=(Action(ActionKind.EXPERIMENTER, custom),))
        data = encode_instructions(instructions)
        assert decode_instructions(data, 0, len(data)) == instructions
        (theirs,) = parser.OFPInstruction.parser(data, 0).actions
        assert theirs.experimenter == EXPERIMENTER
        assert theirs.data == custom.to_bytes(4, "big") + bytes(4)


def test_a_packet_in_is_cut_to_what_a_message_can_hold() -> None:
    data = random.Random(5).randbytes(70_000)
    message = replies.packet_in(3, {F.METADATA: 0x1234, F.TUNNEL_ID: 0}, 1, 2, 77, data, len(data))
    theirs = parsed(message)
    assert len(message) == 0xFFFF
    assert data.startswith(theirs.data)
    assert theirs.match.items() == [("in_port", 3), ("metadata", 0x1234)]
    assert (theirs.reason, theirs.table_id, theirs.cookie, theirs.total_len) == (1, 2, 77, 0xFFFF)
    assert theirs.buffer_id == ofproto.OFP_NO_BUFFER


def test_the_numbers_of_reserved_ports_are_the_protocols() -> None:
    for name in ("IN_PORT", "TABLE", "NORMAL", "FLOOD", "ALL", "CONTROLLER", "LOCAL", "ANY"):
        assert getattr(flows, name) == getattr(ofproto, f"OFPP_{name}")


def test_every_field_is_as_os_ken_has_it() -> None:
    theirs = {kind.oxm_type: kind.type.size for kind in ofproto.oxm_types}
    for number, field in FIELDS.items():
        assert theirs[0x8000 << 7 | number] == field.bytes, number


def test_output_of_os_ken_means_the_whole_packet() -> None:
    assert action_of(output(1)).number == flows.MAX_LENGTH
