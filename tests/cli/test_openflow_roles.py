"""Several controllers of one switch: roles, and what each is told."""

from __future__ import annotations

import pytest
from fake_datapath import FakeDatapath
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

NOTIFY = ofproto.OFPFF_SEND_FLOW_REM


@pytest.fixture
def datapath() -> FakeDatapath:
    return FakeDatapath()


def role(of: Controller, wanted: int, generation: int = 0) -> tuple[int, int]:
    (reply,) = of.send(parser.OFPRoleRequest(PROTOCOL, wanted, generation))
    return reply.role, reply.generation_id


def test_there_is_one_master_at_most(datapath: FakeDatapath) -> None:
    of = switch(datapath)
    one, other = Controller(of), Controller(of)
    nobody = 0xFFFF_FFFF_FFFF_FFFF
    assert role(one, ofproto.OFPCR_ROLE_NOCHANGE) == (ofproto.OFPCR_ROLE_EQUAL, nobody)
    assert role(one, ofproto.OFPCR_ROLE_MASTER, 5) == (ofproto.OFPCR_ROLE_MASTER, 5)
    assert role(other, ofproto.OFPCR_ROLE_MASTER, 6) == (ofproto.OFPCR_ROLE_MASTER, 6)
    assert role(one, ofproto.OFPCR_ROLE_NOCHANGE) == (ofproto.OFPCR_ROLE_SLAVE, 6)
    stale = (ofproto.OFPET_ROLE_REQUEST_FAILED, ofproto.OFPRRFC_STALE)
    assert one.refused(parser.OFPRoleRequest(PROTOCOL, ofproto.OFPCR_ROLE_MASTER, 5)) == stale
    assert one.refused(parser.OFPRoleRequest(PROTOCOL, ofproto.OFPCR_ROLE_SLAVE, 5)) == stale
    bad = (ofproto.OFPET_ROLE_REQUEST_FAILED, ofproto.OFPRRFC_BAD_ROLE)
    assert one.refused(parser.OFPRoleRequest(PROTOCOL, 9, 7)) == bad
    assert role(one, ofproto.OFPCR_ROLE_EQUAL, 0) == (ofproto.OFPCR_ROLE_EQUAL, 6)
    late = 6 + (1 << 63) - 1
    assert role(one, ofproto.OFPCR_ROLE_SLAVE, late) == (ofproto.OFPCR_ROLE_SLAVE, late)
    around = (late + (1 << 63) - 1) % (1 << 64)  # numbers of elections go round
    assert around < late
    assert role(one, ofproto.OFPCR_ROLE_MASTER, around) == (ofproto.OFPCR_ROLE_MASTER, around)


def test_a_slave_may_look_but_not_touch(datapath: FakeDatapath) -> None:
    of = switch(datapath)
    one, slave = Controller(of), Controller(of)
    role(slave, ofproto.OFPCR_ROLE_SLAVE, 1)
    refused = (ofproto.OFPET_BAD_REQUEST, ofproto.OFPBRC_IS_SLAVE)
    for change in (
        flow_mod([]),
        group_mod(1, []),
        meter_mod(1),
        port_mod(1, 0, 0),
        packet_out([]),
        parser.OFPTableMod(PROTOCOL, 0, 0),
    ):
        assert slave.refused(change) == refused
    assert datapath.flows == []
    assert stats(slave) == []
    slave.send(parser.OFPBarrierRequest(PROTOCOL))
    one.fine(flow_mod([output(1)], flags=NOTIFY))
    one.send(flow_mod(command=ofproto.OFPFC_DELETE, table_id=255))
    arrive(one, ofproto.OFPR_ACTION)
    assert slave.take() == []
    of.set_link(1, False)
    (status,) = slave.take()
    assert status.desc.port_no == 1
    flow_removed = 1 << ofproto.OFPRR_DELETE
    slave.fine(parser.OFPSetAsync(PROTOCOL, [0, 2], [0, 0], [0, flow_removed]))
    (reply,) = slave.send(parser.OFPGetAsyncRequest(PROTOCOL))
    assert reply.packet_in_mask == [0, 2]
    assert reply.flow_removed_mask == [0, flow_removed]
    arrive(one, ofproto.OFPR_ACTION)
    of.set_link(1, True)
    assert [type(message) for message in slave.take()] == [parser.OFPPacketIn]


def test_each_controller_has_its_own_settings(datapath: FakeDatapath) -> None:
    of = switch(datapath)
    one, other = Controller(of), Controller(of)
    one.fine(parser.OFPSetConfig(PROTOCOL, 0, 99))
    (reply,) = other.send(parser.OFPGetConfigRequest(PROTOCOL))
    assert reply.miss_send_len == 128
    assert arrive(one, ofproto.OFPR_ACTION) != []
    assert other.take() != []
    of.disconnect(other.connection)
    assert arrive(one, ofproto.OFPR_ACTION) != []
    assert other.take() == []
