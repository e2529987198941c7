"""What an OpenFlow switch does: flows, timeouts, groups, meters, ports, packets, roles. The controller is os-ken's."""

from __future__ import annotations

from typing import Any
from unittest.mock import create_autospec

import pytest
from fake_datapath import SECOND, FakeDatapath
from openflow_controller import (
    PROTOCOL,
    Controller,
    arrive,
    flow_mod,
    group_mod,
    meter_mod,
    ofproto,
    output,
    packet_out,
    parser,
    port_mod,
    stats,
    switch,
)

from headrace.card.functions import Plugs
from headrace.cards.switch import flows
from headrace.cards.switch.card import CardHardware
from headrace.cards.switch.flows import Action, ActionKind, Count, PortState, RefusedError
from headrace.cards.switch.function_ports import SwitchFunctions
from headrace.cards.switch.openflow.oxm import FIELDS, F

NOTIFY = ofproto.OFPFF_SEND_FLOW_REM


@pytest.fixture
def datapath() -> FakeDatapath:
    return FakeDatapath()


@pytest.fixture
def controller(datapath: FakeDatapath) -> Controller:
    return Controller(switch(datapath))


def table(datapath: FakeDatapath) -> list[tuple[int, int, int | None]]:
    """Table, priority and in_port of each flow."""
    found = [(f.table, f.priority, {o.field: o.value for o in f.match}.get(F.IN_PORT)) for f in datapath.flows]
    return sorted(found, key=str)


# ---------------------------------------------------------------------------------------------------------- flow mods


def test_a_flow_is_added_with_all_that_it_says(controller: Controller, datapath: FakeDatapath) -> None:
    mod = flow_mod(
        [output(2)], in_port=1, table_id=1, priority=5, cookie=9, idle_timeout=3, hard_timeout=4, flags=NOTIFY
    )
    controller.fine(mod)
    (flow,) = datapath.flows
    assert (flow.table, flow.priority, flow.cookie) == (1, 5, 9)
    assert (flow.idle_s, flow.hard_s, flow.flags, flow.created_ns) == (3, 4, NOTIFY, datapath.time_ns)
    assert flow.instructions.apply == (Action(ActionKind.OUTPUT, 2, flows.MAX_LENGTH),)


@pytest.mark.parametrize("flags", [0, ofproto.OFPFF_RESET_COUNTS])
def test_an_identical_flow_is_replaced_at_once(controller: Controller, datapath: FakeDatapath, flags: int) -> None:
    controller.fine(flow_mod([output(2)], in_port=1, idle_timeout=9, cookie=1, flags=NOTIFY))
    (flow,) = datapath.flows
    datapath.counts[id(flow)] = Count(5, 500, datapath.time_ns)
    datapath.time_ns += 7 * SECOND
    controller.fine(flow_mod([output(3)], in_port=1, cookie=2, flags=flags))
    assert datapath.flows == [flow]  # which the datapath has changed, not removed and added
    (stat,) = stats(controller)
    assert stat.cookie == 2
    assert (stat.idle_timeout, stat.duration_sec, stat.flags) == (0, 0, flags)
    assert stat.packet_count == (0 if flags else 5)
    assert flow.instructions.apply is not None
    assert flow.instructions.apply[0].value == 3


def test_what_the_hardware_refuses_leaves_the_flow_as_it_was(controller: Controller, datapath: FakeDatapath) -> None:
    controller.fine(flow_mod([output(2)], in_port=1, idle_timeout=9, cookie=1))
    datapath.refuses = RefusedError(2, 7, "too many actions")
    assert controller.refused(flow_mod([output(3)], in_port=1, cookie=2)) == (2, 7)
    modify = flow_mod([output(3)], command=ofproto.OFPFC_MODIFY)
    assert controller.refused(modify) == (2, 7)
    (flow,) = datapath.flows
    assert (flow.cookie, flow.idle_s) == (1, 9)
    assert flow.instructions.apply is not None
    assert flow.instructions.apply[0].value == 2


def test_an_overlap_is_refused_where_that_is_asked_for(controller: Controller, datapath: FakeDatapath) -> None:
    check = ofproto.OFPFF_CHECK_OVERLAP
    controller.fine(flow_mod([], in_port=1, eth_dst=("02:00:00:00:00:00", "02:00:00:00:00:00"), priority=7))
    clash = (ofproto.OFPET_FLOW_MOD_FAILED, ofproto.OFPFMFC_OVERLAP)
    assert controller.refused(flow_mod([], eth_type=0x0800, priority=7, flags=check)) == clash
    assert controller.refused(flow_mod([], eth_dst="02:00:00:00:00:05", priority=7, flags=check)) == clash
    controller.fine(flow_mod([], eth_dst="00:00:00:00:00:05", priority=7, flags=check))
    controller.fine(flow_mod([], in_port=2, eth_dst="02:00:00:00:00:06", priority=7, flags=check))
    controller.fine(flow_mod([], eth_type=0x0800, priority=8, flags=check))
    controller.fine(flow_mod([], eth_type=0x0800, priority=7, flags=check, table_id=1))
    assert len(datapath.flows) == 5


def fill(controller: Controller) -> None:
    """(table, priority, in_port): (0, 1, 1), (0, 2, 1), (0, 1, 2), (0, 1, None), (1, 1, 1)."""
    controller.fine(flow_mod([output(3)], in_port=1, priority=1, cookie=0x11))
    controller.fine(flow_mod([output(4)], in_port=1, eth_type=0x0800, priority=2, cookie=0x12))
    controller.fine(flow_mod([output(3)], in_port=2, priority=1, cookie=0x21))
    controller.fine(flow_mod([], priority=1, cookie=0x22))
    write = parser.OFPInstructionActions(ofproto.OFPIT_WRITE_ACTIONS, [output(4)])
    controller.fine(flow_mod(instructions=[write], in_port=1, priority=1, table_id=1))


ALL = [(0, 1, 1), (0, 1, 2), (0, 1, None), (0, 2, 1), (1, 1, 1)]


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        ({"table_id": 255}, ALL),
        ({"table_id": 0}, ALL[:4]),
        ({"table_id": 255, "in_port": 1}, [(0, 1, 1), (0, 2, 1), (1, 1, 1)]),
        ({"table_id": 0, "in_port": 1, "eth_type": 0x0800}, [(0, 2, 1)]),
        ({"table_id": 255, "in_port": 3}, []),
        ({"table_id": 255, "out_port": 3}, [(0, 1, 1), (0, 1, 2)]),
        ({"table_id": 255, "out_port": 4}, [(0, 2, 1), (1, 1, 1)]),
        ({"table_id": 255, "cookie": 0x10, "cookie_mask": 0xF0}, [(0, 1, 1), (0, 2, 1)]),
        ({"table_id": 255, "in_port": 1, "priority": 1, "strict": True}, [(0, 1, 1), (1, 1, 1)]),
        ({"table_id": 0, "priority": 1, "strict": True}, [(0, 1, None)]),
        ({"table_id": 0, "priority": 2, "strict": True}, []),
    ],
)
def test_deletion_takes_what_it_says(
    controller: Controller, datapath: FakeDatapath, options: dict[str, Any], gone: list[tuple[int, int, int | None]]
) -> None:
    fill(controller)
    strict = options.get("strict", False)
    command = ofproto.OFPFC_DELETE_STRICT if strict else ofproto.OFPFC_DELETE
    given = {name: value for name, value in options.items() if name != "strict"}
    assert len(stats(controller)) == len(ALL)
    controller.fine(flow_mod(command=command, **given))
    assert table(datapath) == [entry for entry in ALL if entry not in gone]
    assert len(stats(controller)) == len(ALL) - len(gone)


def test_a_masked_deletion_takes_only_what_it_covers(controller: Controller, datapath: FakeDatapath) -> None:
    for address in ("10.0.0.1", ("10.0.0.0", "255.255.255.0"), ("10.0.0.0", "255.0.0.0"), "11.0.0.1"):
        controller.fine(flow_mod([], eth_type=0x0800, ipv4_src=address))
    wide = {"eth_type": 0x0800, "ipv4_src": ("10.0.0.0", "255.255.0.0")}
    assert len(stats(controller, **wide)) == 2
    controller.fine(flow_mod(command=ofproto.OFPFC_DELETE, **wide))
    left = [{o.field: o for o in flow.match}[F.IPV4_SRC] for flow in datapath.flows]
    assert [(oxm.value, oxm.mask) for oxm in left] == [(0x0A000000, 0xFF000000), (0x0B000001, None)]


def test_modification_changes_instructions_and_nothing_else(controller: Controller, datapath: FakeDatapath) -> None:
    fill(controller)
    for flow in datapath.flows:
        datapath.counts[id(flow)] = Count(3, 300, datapath.time_ns)
    controller.fine(flow_mod([output(1)], in_port=1, command=ofproto.OFPFC_MODIFY, cookie=99, idle_timeout=5))
    to_port_1 = [flow for flow in datapath.flows if flow.instructions.apply and flow.instructions.apply[0].value == 1]
    assert sorted((flow.priority, flow.cookie, flow.idle_s) for flow in to_port_1) == [(1, 0x11, 0), (2, 0x12, 0)]
    assert all(count.packets == 3 for count in datapath.counts.values())
    strict = {"command": ofproto.OFPFC_MODIFY_STRICT, "flags": ofproto.OFPFF_RESET_COUNTS}
    controller.fine(flow_mod([output(2)], in_port=1, priority=1, **strict))
    assert sorted(count.packets for count in datapath.counts.values()) == [0, 3, 3, 3, 3]
    controller.fine(flow_mod([output(2)], in_port=4, command=ofproto.OFPFC_MODIFY))
    assert len(datapath.flows) == len(ALL)


def test_flows_of_one_table_are_changed_together_or_none(controller: Controller, datapath: FakeDatapath) -> None:
    fill(controller)
    changed = {"table_id": 0, "command": ofproto.OFPFC_MODIFY}
    unknown = (ofproto.OFPET_BAD_ACTION, ofproto.OFPBAC_BAD_OUT_PORT)
    assert controller.refused(flow_mod([output(2), output(9)], **changed)) == unknown
    assert all(flow.instructions.goto is None for flow in datapath.flows)
    controller.fine(flow_mod(instructions=[parser.OFPInstructionGotoTable(2)], **changed))
    assert {(flow.table, flow.instructions.goto) for flow in datapath.flows} == {(0, 2), (1, None)}


def test_aggregates_are_of_the_flows_that_are_meant(controller: Controller, datapath: FakeDatapath) -> None:
    fill(controller)
    for flow in datapath.flows:
        datapath.counts[id(flow)] = Count(3, 300, 0)
    request = parser.OFPAggregateStatsRequest(
        PROTOCOL, 0, 0, ofproto.OFPP_ANY, ofproto.OFPG_ANY, 0, 0, parser.OFPMatch(in_port=1)
    )
    (reply,) = controller.send(request)
    assert (reply.body.flow_count, reply.body.packet_count, reply.body.byte_count) == (2, 6, 600)


# ---------------------------------------------------------------------------------------------------------- removals


def test_a_removed_flow_is_told_where_it_asked_for_that(controller: Controller, datapath: FakeDatapath) -> None:
    controller.fine(flow_mod([output(2)], in_port=1, cookie=7, priority=3, flags=NOTIFY, idle_timeout=60))
    controller.fine(flow_mod([output(2)], in_port=2))
    datapath.counts[id(datapath.flows[0])] = Count(4, 400, datapath.time_ns)
    datapath.time_ns += 2 * SECOND + 5
    (removed,) = controller.send(flow_mod(command=ofproto.OFPFC_DELETE, table_id=255))
    assert removed.reason == ofproto.OFPRR_DELETE
    assert (removed.cookie, removed.priority, removed.table_id) == (7, 3, 0)
    assert (removed.packet_count, removed.byte_count) == (4, 400)
    assert (removed.duration_sec, removed.duration_nsec) == (2, 5)
    assert (removed.idle_timeout, removed.hard_timeout) == (60, 0)
    assert dict(removed.match.items()) == {"in_port": 1}


def test_flows_expire_when_their_time_has_come(controller: Controller, datapath: FakeDatapath) -> None:
    controller.fine(flow_mod([], in_port=1, idle_timeout=5, flags=NOTIFY))
    controller.fine(flow_mod([], in_port=2, hard_timeout=7, flags=NOTIFY))
    controller.fine(flow_mod([], in_port=3, hard_timeout=7))
    for seconds, reason in ((5, ofproto.OFPRR_IDLE_TIMEOUT), (2, ofproto.OFPRR_HARD_TIMEOUT)):
        controller.switch.poll_events()
        assert controller.take() == []
        datapath.time_ns += seconds * SECOND
        controller.switch.poll_events()
        (removed,) = controller.take()
        assert removed.reason == reason
    assert datapath.flows == []


def test_an_expiry_that_comes_late_hits_no_other_flow(controller: Controller, datapath: FakeDatapath) -> None:
    controller.fine(flow_mod([], in_port=1, idle_timeout=5))
    (old,) = datapath.flows
    controller.fine(flow_mod(command=ofproto.OFPFC_DELETE, table_id=255))
    controller.fine(flow_mod([], in_port=1))
    datapath.happened.append(flows.Expired(old, False))
    controller.switch.poll_events()
    assert len(datapath.flows) == 1


# -------------------------------------------------------------------------------------------------- groups and meters


def test_flows_go_with_their_group(controller: Controller, datapath: FakeDatapath) -> None:
    controller.fine(group_mod(5, [[output(1)], [output(2)]]))
    controller.fine(flow_mod([parser.OFPActionGroup(5)], in_port=1, flags=NOTIFY))
    controller.fine(flow_mod([output(1)], in_port=2, flags=NOTIFY))
    (removed,) = controller.send(group_mod(5, [], command=ofproto.OFPGC_DELETE))
    assert removed.reason == ofproto.OFPRR_GROUP_DELETE
    assert dict(removed.match.items()) == {"in_port": 1}
    assert datapath.group_entries == {}
    assert len(datapath.flows) == 1
    controller.fine(group_mod(5, [], command=ofproto.OFPGC_DELETE))


def test_groups_are_not_chained_and_do_not_say_that_they_can_be(controller: Controller) -> None:
    (reply,) = controller.send(parser.OFPGroupFeaturesStatsRequest(PROTOCOL, 0))
    chaining = ofproto.OFPGFC_CHAINING | ofproto.OFPGFC_CHAINING_CHECKS
    assert not reply.body.capabilities & chaining
    assert not any(actions & 1 << ofproto.OFPAT_GROUP for actions in reply.body.actions)
    controller.fine(group_mod(1, [[output(1)]]))
    unsupported = (ofproto.OFPET_GROUP_MOD_FAILED, ofproto.OFPGMFC_CHAINING_UNSUPPORTED)
    for number, command in ((2, ofproto.OFPGC_ADD), (1, ofproto.OFPGC_MODIFY)):
        assert controller.refused(group_mod(number, [[parser.OFPActionGroup(1)]], command=command)) == unsupported
    (reply,) = controller.send(parser.OFPGroupDescStatsRequest(PROTOCOL, 0))
    assert [(group.group_id, group.buckets[0].actions[0].port) for group in reply.body] == [(1, 1)]


def test_groups_may_watch_others_but_not_in_a_circle(controller: Controller, datapath: FakeDatapath) -> None:
    def watching(number: int, *watched: int, command: int = ofproto.OFPGC_ADD) -> Any:
        buckets = [parser.OFPBucket(watch_group=group, actions=[output(1)]) for group in watched]
        return parser.OFPGroupMod(PROTOCOL, command, ofproto.OFPGT_FF, number, buckets)

    failed = ofproto.OFPET_GROUP_MOD_FAILED
    controller.fine(group_mod(1, [[output(1)]]))
    controller.fine(watching(2, 1))
    controller.fine(watching(3, 2, 1))
    for number, target in ((1, 3), (1, 1), (2, 3)):
        change = watching(number, target, command=ofproto.OFPGC_MODIFY)
        assert controller.refused(change) == (failed, ofproto.OFPGMFC_LOOP)
    assert controller.refused(watching(4, 4)) == (failed, ofproto.OFPGMFC_LOOP)
    one = group_mod(1, [], command=ofproto.OFPGC_DELETE)
    assert controller.refused(one) == (failed, ofproto.OFPGMFC_CHAINED_GROUP)
    controller.fine(flow_mod([parser.OFPActionGroup(3)]))
    (reply,) = controller.send(parser.OFPGroupStatsRequest(PROTOCOL, 0, ofproto.OFPG_ALL))
    assert [(stat.group_id, stat.ref_count) for stat in reply.body] == [(1, 0), (2, 0), (3, 1)]
    controller.fine(group_mod(ofproto.OFPG_ALL, [], command=ofproto.OFPGC_DELETE))  # 3 first: 1 is used by others
    assert (datapath.group_entries, datapath.flows) == ({}, [])


def test_a_changed_group_keeps_its_age(controller: Controller, datapath: FakeDatapath) -> None:
    controller.fine(group_mod(1, [[output(1)]]))
    datapath.time_ns += 3 * SECOND
    controller.fine(group_mod(1, [[output(2)]], ofproto.OFPGT_INDIRECT, command=ofproto.OFPGC_MODIFY))
    (reply,) = controller.send(parser.OFPGroupStatsRequest(PROTOCOL, 0, 1))
    assert reply.body[0].duration_sec == 3
    (reply,) = controller.send(parser.OFPGroupDescStatsRequest(PROTOCOL, 0))
    assert (reply.body[0].type, reply.body[0].buckets[0].actions[0].port) == (ofproto.OFPGT_INDIRECT, 2)


def test_flows_go_with_their_meter(controller: Controller, datapath: FakeDatapath) -> None:
    apply = parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, [output(1)])
    for number in (1, 2):
        controller.fine(meter_mod(number, flags=ofproto.OFPMF_PKTPS | ofproto.OFPMF_STATS))
        meter = parser.OFPInstructionMeter(number, ofproto.OFPIT_METER)
        controller.fine(flow_mod(instructions=[meter, apply], in_port=number))
    (reply,) = controller.send(parser.OFPMeterStatsRequest(PROTOCOL, 0, ofproto.OFPM_ALL))
    assert [(stat.meter_id, stat.flow_count) for stat in reply.body] == [(1, 1), (2, 1)]
    (reply,) = controller.send(parser.OFPMeterConfigStatsRequest(PROTOCOL, 0, 2))
    assert [(stat.meter_id, stat.flags) for stat in reply.body] == [(2, ofproto.OFPMF_PKTPS | ofproto.OFPMF_STATS)]
    controller.fine(meter_mod(1, ofproto.OFPMC_DELETE))
    assert table(datapath) == [(0, 0x8000, 2)]
    controller.fine(meter_mod(ofproto.OFPM_ALL, ofproto.OFPMC_DELETE))
    assert (datapath.flows, datapath.meter_entries) == ([], {})


# ------------------------------------------------------------------------------------------------- ports and packets


def test_a_port_is_configured_bit_by_bit(controller: Controller, datapath: FakeDatapath) -> None:
    (status,) = controller.send(port_mod(2, ofproto.OFPPC_NO_FWD, ofproto.OFPPC_NO_FWD))
    assert (status.reason, status.desc.port_no) == (ofproto.OFPPR_MODIFY, 2)
    assert status.desc.config == ofproto.OFPPC_NO_FWD
    assert datapath.port_states[2] == PortState(sends=False)
    controller.fine(port_mod(2, ofproto.OFPPC_NO_FWD, ofproto.OFPPC_NO_FWD))
    controller.send(port_mod(2, ofproto.OFPPC_NO_RECV | ofproto.OFPPC_NO_PACKET_IN, 0x44))
    assert datapath.port_states[2] == PortState(receives=False, sends=False, packet_ins=False)
    (status,) = controller.send(port_mod(2, ofproto.OFPPC_PORT_DOWN, 0x65))
    assert status.desc.config == ofproto.OFPPC_PORT_DOWN
    assert not status.desc.state & ofproto.OFPPS_LIVE
    assert datapath.port_states[2] == PortState(receives=False, sends=False, live=False)


def test_a_link_that_goes_down_is_told(controller: Controller, datapath: FakeDatapath) -> None:
    controller.switch.set_link(3, False)
    (status,) = controller.take()
    assert (status.desc.port_no, status.desc.state) == (3, ofproto.OFPPS_LINK_DOWN)
    assert not datapath.port_states[3].live
    controller.switch.set_link(3, False)
    assert controller.take() == []
    controller.switch.set_link(3, True)
    (status,) = controller.take()
    assert status.desc.state == ofproto.OFPPS_LIVE


def test_what_a_port_is_called_now_is_told(controller: Controller) -> None:
    controller.switch.set_link(3, True, "p3")
    assert controller.take() == []
    controller.switch.set_link(3, True, "other")
    (status,) = controller.take()
    assert (status.reason, status.desc.port_no, status.desc.name) == (ofproto.OFPPR_MODIFY, 3, b"other")
    controller.switch.set_link(3, True)
    controller.switch.set_link(3, True, "other")
    assert controller.take() == []
    controller.switch.set_link(3, False, "third")
    (status,) = controller.take()
    assert (status.desc.name, status.desc.state) == (b"third", ofproto.OFPPS_LINK_DOWN)


def test_a_functions_port_is_called_as_its_device(controller: Controller) -> None:
    devices: dict[int, str] = {}
    plugs = create_autospec(Plugs, instance=True)
    plugs.__iter__.side_effect = lambda: iter(sorted(devices))
    plugs.link.side_effect = devices.get
    plugs.link_name.side_effect = devices.get
    plugs.link_up.return_value = True
    functions = SwitchFunctions(controller.switch, create_autospec(CardHardware), plugs, ports=2, held=None)
    functions.changed(0)
    controller.take()
    for name in ("tap0", "other"):
        devices[0] = name
        functions.look()
        (status,) = controller.take()
        assert (status.desc.port_no, status.desc.name, status.desc.state) == (3, name.encode(), ofproto.OFPPS_LIVE)
    functions.look()
    assert controller.take() == []
    del devices[0]
    functions.changed(0)
    (status,) = controller.take()
    assert (status.desc.name, status.desc.state) == (b"vf0", ofproto.OFPPS_LINK_DOWN)


def test_ports_and_the_switch_are_described(controller: Controller) -> None:
    (features,) = controller.send(parser.OFPFeaturesRequest(PROTOCOL))
    assert (features.datapath_id, features.n_tables, features.n_buffers, features.auxiliary_id) == (0x00ABCDEF, 4, 0, 0)
    (reply,) = controller.send(parser.OFPPortDescStatsRequest(PROTOCOL, 0))
    assert [(port.port_no, port.hw_addr, port.name) for port in reply.body] == [
        (n, f"02:00:00:00:00:0{n}", f"p{n}".encode()) for n in range(1, 5)
    ]
    assert {port.curr & 0xFFF for port in reply.body} == {ofproto.OFPPF_10GB_FD}
    (reply,) = controller.send(parser.OFPDescStatsRequest(PROTOCOL, 0))
    assert reply.body.mfr_desc == b"Headrace"


def test_each_port_has_one_queue(controller: Controller) -> None:
    (reply,) = controller.send(parser.OFPQueueGetConfigRequest(PROTOCOL, ofproto.OFPP_ANY))
    assert [(queue.port, queue.queue_id) for queue in reply.queues] == [(n, 0) for n in range(1, 5)]
    request = parser.OFPQueueStatsRequest(PROTOCOL, 0, 3, ofproto.OFPQ_ALL)
    (reply,) = controller.send(request)
    (queue,) = reply.body
    assert (queue.tx_packets, queue.tx_bytes, queue.tx_errors) == (304, 305, 306)
    (reply,) = controller.send(parser.OFPPortStatsRequest(PROTOCOL, 0, 3))
    (port,) = reply.body
    assert (port.rx_packets, port.rx_bytes, port.rx_dropped, port.rx_errors) == (300, 301, 302, 303)
    assert (port.tx_packets, port.tx_bytes, port.tx_dropped) == (304, 305, 306)


def test_table_features_have_all_that_controllers_ask_for() -> None:
    controller = Controller(switch(FakeDatapath(fields=(F.IN_PORT, F.ETH_TYPE, F.VLAN_VID))))
    (reply,) = controller.send(parser.OFPTableFeaturesStatsRequest(PROTOCOL, 0, []))
    assert [features.table_id for features in reply.body] == [0, 1, 2, 3]
    for features in reply.body:
        assert features.max_entries == 100
        found = {prop.type: prop for prop in features.properties}
        assert set(found) == {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15}
        assert list(found[2].table_ids) == list(range(features.table_id + 1, 4))
        goto = ofproto.OFPIT_GOTO_TABLE in [one.type for one in found[0].instruction_ids]
        assert goto == (features.table_id < 3)
        assert [(one.type, one.hasmask) for one in found[8].oxm_ids] == [
            ("in_port", 0),
            ("eth_type", 0),
            ("vlan_vid", 1),
        ]
        assert (features.metadata_match, features.metadata_write) == (0, 0)
        assert [one.type for one in found[14].oxm_ids] == ["eth_type", "vlan_vid"]
        actions = {one.type for one in found[6].action_ids}
        assert not {ofproto.OFPAT_PUSH_PBB, ofproto.OFPAT_PUSH_MPLS, ofproto.OFPAT_DEC_MPLS_TTL} & actions
        assert {ofproto.OFPAT_OUTPUT, ofproto.OFPAT_SET_FIELD, ofproto.OFPAT_GROUP} <= actions


def test_packets_are_sent_as_controllers_say(controller: Controller, datapath: FakeDatapath) -> None:
    controller.fine(packet_out([output(2), output(ofproto.OFPP_FLOOD)], in_port=3, data=b"x" * 60))
    assert [port for port, _ in datapath.sent] == [2, 1, 2, 4]
    assert datapath.packet_outs[0][0] == 3
    controller.fine(packet_out([output(ofproto.OFPP_TABLE)], in_port=ofproto.OFPP_ANY))
    assert datapath.packet_outs[1][0] == flows.CONTROLLER


def test_a_packet_in_says_which_flow_has_sent_it(controller: Controller, datapath: FakeDatapath) -> None:
    controller.fine(flow_mod([output(ofproto.OFPP_CONTROLLER)], cookie=0x77, table_id=2))
    (packet,) = arrive(controller, ofproto.OFPR_ACTION, flow=datapath.flows[0], metadata=5, tunnel_id=7)
    assert (packet.table_id, packet.cookie, packet.reason) == (2, 0x77, ofproto.OFPR_ACTION)
    assert (packet.buffer_id, packet.total_len, packet.data) == (ofproto.OFP_NO_BUFFER, 200, bytes(range(200)))
    assert dict(packet.match.items()) == {"in_port": 3, "metadata": 5, "tunnel_id": 7}
    (packet,) = arrive(controller, ofproto.OFPR_NO_MATCH)
    assert packet.cookie == 0xFFFF_FFFF_FFFF_FFFF


def test_packets_with_no_ttl_left_are_sent_where_asked_for(controller: Controller) -> None:
    assert arrive(controller, ofproto.OFPR_INVALID_TTL) == []
    ttl = 1 << ofproto.OFPR_INVALID_TTL
    controller.fine(parser.OFPSetAsync(PROTOCOL, [ttl, 0], [0, 0], [0, 0]))
    (packet,) = arrive(controller, ofproto.OFPR_INVALID_TTL)
    assert len(packet.data) == 200  # whole: there is no buffer for the rest
    controller.fine(parser.OFPSetConfig(PROTOCOL, ofproto.OFPC_FRAG_NORMAL, 20))
    (packet,) = arrive(controller, ofproto.OFPR_INVALID_TTL)
    assert (len(packet.data), packet.total_len) == (200, 200)
    controller.fine(parser.OFPSetConfig(PROTOCOL, ofproto.OFPC_FRAG_NORMAL, ofproto.OFPCML_NO_BUFFER))
    (packet,) = arrive(controller, ofproto.OFPR_INVALID_TTL)
    assert len(packet.data) == 200
    (reply,) = controller.send(parser.OFPGetConfigRequest(PROTOCOL))
    assert (reply.flags, reply.miss_send_len) == (0, ofproto.OFPCML_NO_BUFFER)
    assert arrive(controller, ofproto.OFPR_ACTION) == []


# ---------------------------------------------------------------------------------------------------------- symmetric


def test_a_barrier_is_answered_when_what_came_before_is_done(controller: Controller, datapath: FakeDatapath) -> None:
    controller.fine(flow_mod([]))
    (reply,) = controller.send(parser.OFPBarrierRequest(PROTOCOL), xid=0x55)
    assert (type(reply), reply.xid) == (parser.OFPBarrierReply, 0x55)
    assert len(datapath.flows) == 1


def test_an_echo_comes_back(controller: Controller) -> None:
    (reply,) = controller.send(parser.OFPEchoRequest(PROTOCOL, b"anybody?"), xid=3)
    assert (reply.data, reply.xid) == (b"anybody?", 3)
    controller.fine(parser.OFPEchoReply(PROTOCOL, b""))
    controller.fine(parser.OFPHello(PROTOCOL))


def test_all_fields_are_matched_by_default(controller: Controller) -> None:
    (reply,) = controller.send(parser.OFPTableFeaturesStatsRequest(PROTOCOL, 0, []))
    found = {prop.type: prop for prop in reply.body[0].properties}
    assert len(found[8].oxm_ids) == len(FIELDS) == 39
    assert ofproto.OFPAT_PUSH_MPLS in {one.type for one in found[6].action_ids}
