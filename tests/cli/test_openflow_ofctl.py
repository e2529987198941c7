"""ovs-ofctl's commands against a switch, over its sockets; and files of flows."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from fake_datapath import SECOND, FakeDatapath
from openflow_controller import switch
from patience import HANG_S

from headrace.cards.switch import ofctl
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.controllers import Controllers
from headrace.cards.switch.flows import Action, ActionKind, Count, PacketIn
from headrace.cards.switch.ofctl import load_flows
from headrace.cards.switch.openflow.oxm import F
from headrace.errors import HeadraceError


class Bridge:
    """A switch, and ovs-ofctl to talk to it."""

    def __init__(self, folder: Path) -> None:
        self.datapath = FakeDatapath()
        self.switch = switch(self.datapath, description="in memory")
        self.controllers = Controllers(self.switch, listens=[f"punix:{folder}/switch"])
        self.folder = folder

    def start(self, said: IO[str], command: str, *arguments: str) -> subprocess.Popen[bytes]:
        options, _, name = command.rpartition(" ")
        words = ["ovs-ofctl", "-OOpenFlow13", *options.split(), name, self.controllers.listening[0], *arguments]
        environment = os.environ | {"OVS_RUNDIR": str(self.folder)}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": subprocess.STDOUT}
        return subprocess.Popen(words, env=environment, **pipes)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Polls until the condition is true."""
        deadline = time.monotonic() + HANG_S
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            self.controllers.poll(0.02)

    def run(self, command: str, *arguments: str, fails: bool = False) -> str:
        """What it says, but for the title."""
        path = self.folder / "said"
        with open(path, "w") as file, self.start(file, command, *arguments) as process:
            self.until(lambda: process.poll() is not None, command)
        said = path.read_text()
        assert bool(process.returncode) == fails, said
        said = re.sub(r"^OFPST_.*? reply \(.*?\) \(.*?\):", "", said)
        return "\n".join(line.strip() for line in said.strip().splitlines())

    def flows(self) -> list[str]:
        """Without cookie, duration and counters."""
        lines = self.run("--no-stats dump-flows").splitlines()
        return sorted(line.removeprefix("cookie=0x0, ").strip() for line in lines)


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Bridge]:
    found = Bridge(tmp_path)
    with found.controllers:
        yield found


def test_flows_come_and_go(bridge: Bridge) -> None:
    bridge.run("add-flow", "priority=10,tcp,nw_dst=10.0.0.0/24,tp_dst=80,actions=push_vlan:0x8100,set_vlan_vid:5,2")
    bridge.run("add-flow", "table=1,in_port=1,cookie=0x55,idle_timeout=7,actions=controller:100,goto_table:3")
    flow, other = bridge.datapath.flows
    assert (flow.table, flow.priority) == (0, 10)
    assert {o.field: (o.value, o.mask) for o in flow.match} == {
        F.ETH_TYPE: (0x0800, None),
        F.IP_PROTO: (6, None),
        F.IPV4_DST: (0x0A000000, 0xFFFFFF00),
        F.TCP_DST: (80, None),
    }
    assert flow.instructions.apply is not None
    assert [(action.kind, action.value) for action in flow.instructions.apply] == [
        (ActionKind.PUSH_VLAN, 0x8100),
        (ActionKind.SET_FIELD, 0x1005),
        (ActionKind.OUTPUT, 2),
    ]
    bridge.datapath.counts[id(other)] = Count(3, 333, bridge.datapath.time_ns)
    bridge.datapath.time_ns += 3 * SECOND // 2
    assert bridge.run("dump-flows", "table=1") == (
        "cookie=0x55, duration=1.500s, table=1, n_packets=3, n_bytes=333, idle_timeout=7, in_port=1 "
        "actions=CONTROLLER:100,goto_table:3"
    )
    assert "flow_count=2" in bridge.run("dump-aggregate")
    bridge.run("mod-flows", "tcp,actions=output:3")
    assert bridge.flows()[1].endswith("tp_dst=80 actions=output:3")
    bridge.run("--strict del-flows", "table=0,priority=11,tcp,nw_dst=10.0.0.0/24,tp_dst=80")
    assert len(bridge.flows()) == 2
    bridge.run("--strict del-flows", "table=0,priority=10,tcp,nw_dst=10.0.0.0/24,tp_dst=80")
    assert len(bridge.flows()) == 1
    bridge.run("del-flows", "cookie=0x50/0xf0")
    assert bridge.flows() == []


MANY = [
    "arp,arp_spa=10.0.0.1,arp_op=1 actions=output:4",
    "icmp6,icmp_type=135,icmp_code=0,nd_target=fe80::1,nd_sll=02:00:00:00:00:01 actions=output:4",
    "ip,nw_tos=32,nw_ecn=1 actions=dec_ttl,output:1",
    "ip,nw_ttl=5 actions=drop",
    "ipv6,ipv6_src=fe80::/10,ipv6_label=0x12345 actions=mod_nw_ttl:5,output:1",
    "metadata=0x10/0xf0 actions=write_metadata:0x3/0xf,goto_table:1",
    "mpls,mpls_label=100,mpls_tc=3,mpls_bos=1 actions=dec_mpls_ttl,pop_mpls:0x0800,output:2",
    "sctp,tp_src=5 actions=set_field:7->sctp_dst,output:3",
    "tun_id=0x5/0xff actions=set_field:0x7->tun_id,output:3",
    "tcp,tp_src=0x8000/0x8000 actions=clear_actions,write_actions(output:2)",
    "udp6,tp_dst=9 actions=FLOOD",
    "dl_vlan=7,dl_vlan_pcp=2 actions=pop_vlan,IN_PORT",
    "vlan_tci=0x1000/0x1000 actions=set_queue:0,ALL",
    "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 actions=set_field:02:00:00:00:00:01->eth_src,output:1",
]


def test_flows_of_every_kind_come_back_as_they_were_written(bridge: Bridge, tmp_path: Path) -> None:
    lines = [line for line in MANY if "nw_ttl=5 " not in line]  # which OpenFlow 1.3 can't match
    path = tmp_path / "flows"
    path.write_text("\n".join(f"priority={n},{line}" for n, line in enumerate(lines, 1)))
    bridge.run("add-flows", str(path))
    assert len(bridge.datapath.flows) == len(lines)
    assert bridge.run("diff-flows", str(path)) == ""
    path.write_text("priority=3,in_port=2,actions=output:3\n")
    bridge.run("replace-flows", str(path))
    assert bridge.flows() == ["priority=3,in_port=2 actions=output:3"]


def test_groups(bridge: Bridge) -> None:
    bridge.run("add-group", "group_id=1,type=all,bucket=output:1,bucket=output:2")
    bridge.run("add-group", "group_id=2,type=select,bucket=weight:5,output:1,bucket=weight:9,output:2")
    bridge.run("add-group", "group_id=3,type=ff,bucket=watch_port:1,output:1,bucket=watch_group:1,output:2")
    bridge.run("mod-group", "group_id=1,type=indirect,bucket=output:4")
    bridge.run("add-flow", "in_port=1,actions=group:3")
    assert bridge.run("dump-groups").splitlines() == [
        "group_id=1,type=indirect,bucket=actions=output:4",
        "group_id=2,type=select,bucket=weight:5,actions=output:1,bucket=weight:9,actions=output:2",
        "group_id=3,type=ff,bucket=watch_port:1,actions=output:1,bucket=watch_group:1,actions=output:2",
    ]
    assert bridge.run("dump-group-stats", "group_id=1") == (
        "group_id=1,duration=0s,ref_count=0,packet_count=30,byte_count=3000,bucket0:packet_count=10,byte_count=1000"
    )
    assert "fast failover group:\nmax_groups=0x8" in bridge.run("dump-group-features")
    assert "OFPGMFC_CHAINED_GROUP" in bridge.run("del-groups", "group_id=1", fails=True)
    bridge.run("del-groups", "group_id=3")
    assert bridge.flows() == []
    bridge.run("del-groups")
    assert bridge.run("dump-groups") == ""


def test_meters(bridge: Bridge) -> None:
    bridge.run("add-meter", "meter=1,kbps,burst,band=type=drop,rate=1000,burst_size=100")
    bridge.run("add-meter", "meter=2,pktps,stats,band=type=dscp_remark,rate=50,prec_level=1")
    bridge.run("mod-meter", "meter=1,kbps,band=type=drop,rate=2000")
    bridge.run("add-flow", "in_port=1,actions=meter:1,output:2")
    assert bridge.run("dump-meters").split("\n\n") == [
        "meter=1 kbps bands=\ntype=drop rate=2000",
        "meter=2 pktps stats bands=\ntype=dscp_remark rate=50 prec_level=1",
    ]
    assert "meter:1 flow_count:1 packet_in_count:7 byte_in_count:700" in bridge.run("meter-stats", "meter=1")
    assert "max_meter:8 max_bands:2" in bridge.run("meter-features")
    bridge.run("del-meter", "meter=1")
    assert bridge.flows() == []
    bridge.run("del-meters")
    assert bridge.run("dump-meters") == ""


def test_ports(bridge: Bridge) -> None:
    bridge.run("mod-port", "p2", "no-forward")
    bridge.run("mod-port", "3", "down")
    assert not bridge.datapath.port_states[2].sends
    assert not bridge.datapath.port_states[3].receives
    shown = bridge.run("show")
    assert "dpid:0000000000abcdef\nn_tables:4, n_buffers:0" in shown
    assert re.search(r"2\(p2\): addr:02:00:00:00:00:02\nconfig:     NO_FWD\nstate:      LIVE", shown)
    assert "config:     PORT_DOWN\nstate:      0\ncurrent:    10GB-FD FIBER" in shown
    assert "rx pkts=300, bytes=301, drop=302, errs=303" in bridge.run("dump-ports", "3")
    assert len(bridge.run("dump-ports").splitlines()) == 1 + 3 * 4
    assert len(bridge.run("dump-ports-desc").splitlines()) == 7 * 4
    assert "port 2 queue 0: bytes=205, pkts=204, errors=206" in bridge.run("queue-stats", "2")
    assert "queue 0:" in bridge.run("queue-get-config", "1")


def test_tables_and_the_switch(bridge: Bridge) -> None:
    bridge.run("add-flow", "table=2,actions=drop")
    assert "table 2:\nactive=1, lookup=22, matched=12" in bridge.run("dump-tables")
    features = bridge.run("dump-table-features")
    assert "max_entries=100" in features
    assert "next tables: 1-3" in features
    assert "instructions: meter apply_actions clear_actions write_actions write_metadata goto_table" in features
    assert "DP Description: in memory" in bridge.run("dump-desc")
    assert bridge.run("get-frags") == "normal"
    assert "OFPSCFC_BAD_FLAGS" in bridge.run("set-frags", "drop", fails=True)
    bridge.run("probe")
    assert "5000 bytes from" in bridge.run("ping", "5000")
    assert "packets/s" in bridge.run("benchmark", "1000", "10")


def test_a_packet_is_sent(bridge: Bridge) -> None:
    frame = "ffffffffffff0200000000010800" + "00" * 46
    bridge.run("packet-out", f"in_port=controller,packet={frame},actions=output:1,flood")
    assert [port for port, _ in bridge.datapath.sent] == [1, 1, 2, 3, 4]
    assert {data.hex() for _, data in bridge.datapath.sent} == {frame}
    assert bridge.datapath.packet_outs[0][1][0] == Action(ActionKind.OUTPUT, 1, 0)


def test_a_monitor_sees_packets_and_removed_flows(bridge: Bridge, tmp_path: Path) -> None:
    bridge.run("add-flow", "in_port=1,idle_timeout=5,send_flow_rem,actions=controller")
    (flow,) = bridge.datapath.flows
    path = tmp_path / "monitored"
    with open(path, "w") as file, bridge.start(file, "monitor", "65534") as process:
        # Before it has its own socket, it reads only what it waits for.
        bridge.until(lambda: list(tmp_path.glob("ovs-ofctl.*.ctl")), "ovs-ofctl")
        bridge.datapath.happened.append(PacketIn(bytes(60), 60, 1, 1, 0, flow))
        bridge.datapath.time_ns += 5 * SECOND
        bridge.until(lambda: "reason=idle" in path.read_text(), "a removed flow")
        process.terminate()
    said = path.read_text()
    assert "OFPT_PACKET_IN (OF1.3)" in said
    assert "total_len=60 in_port=1 (via action) data_len=60" in said


@pytest.mark.parametrize(
    ("flow", "error"),
    [
        ("actions=output:17", "OFPBAC_BAD_OUT_PORT"),
        ("actions=normal", "OFPBAC_BAD_OUT_PORT"),
        ("actions=group:5", "OFPBAC_BAD_OUT_GROUP"),
        ("actions=meter:5,output:1", "OFPMMFC_INVALID_METER"),
        ("ct_mark=5,actions=output:1", "OFPBMC_BAD_FIELD"),
        ("actions=resubmit(,1)", "OFPBAC_BAD_VENDOR"),
        ("table=9,actions=output:1", "OFPFMFC_BAD_TABLE_ID"),
        ("check_overlap,actions=drop", "OFPFMFC_OVERLAP"),
    ],
)
def test_what_is_refused_is_said(bridge: Bridge, flow: str, error: str) -> None:
    bridge.run("add-flow", "in_port=1,actions=drop")
    assert error in bridge.run("add-flow", flow, fails=True)
    assert len(bridge.datapath.flows) == 1


# ----------------------------------------------------------------------------------------------------- files of flows


@pytest.fixture
def loaded() -> OpenFlowSwitch:
    return switch(FakeDatapath())


def test_a_file_of_flows_is_loaded(loaded: OpenFlowSwitch, tmp_path: Path) -> None:
    path = tmp_path / "flows"
    path.write_text(
        "# web\npriority=10,tcp,tp_dst=80,actions=output:2\n\nin_port=3 actions=p1\n"
        + "".join(f"table=1,ip,nw_src=10.0.0.{n},actions=output:1\n" for n in range(90))
    )
    load_flows(loaded, path)
    assert len(list(loaded.flow_tables)) == 92
    assert loaded.connections == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("in_port=1,actions=output:1\nfoo=3,actions=drop", "2: unknown keyword foo"),
        ("in_port=1", "1: must specify an action"),
        ("in_port=1,actions=CRC,FIRE", "1: unknown action FIRE"),
        (
            "# a comment\n\nin_port=1,actions=drop\n  # another\nin_port=1,actions=output:99 # here\nactions=drop",
            "5: no port 99 (OFPBAC_BAD_OUT_PORT)",
        ),
        ("actions=drop\nct_mark=1,actions=drop", "2: field 107 of class 0x1 (OFPBMC_BAD_FIELD)"),
        ("in_port=1,actions=drop\ncheck_overlap,actions=drop", "2: overlaps a flow (OFPFMFC_OVERLAP)"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(
    loaded: OpenFlowSwitch, tmp_path: Path, text: str, error: str
) -> None:
    path = tmp_path / "flows"
    path.write_text(text)
    with pytest.raises(HeadraceError, match=f"^{re.escape(f'{path}:{error}')}$"):
        load_flows(loaded, path)
    assert loaded.connections == []


def test_what_is_wrong_with_a_flow_is_said_in_one_line(loaded: OpenFlowSwitch) -> None:
    with pytest.raises(HeadraceError, match=r"^actions=output:99: no port 99 \(OFPBAC_BAD_OUT_PORT\)$"):
        ofctl.add_flow(loaded, "actions=output:99")
    with pytest.raises(HeadraceError, match=r"^foo=3: unknown keyword foo$"):
        ofctl.del_flows(loaded, "foo=3")


def test_a_file_that_is_not_there_is_named(loaded: OpenFlowSwitch, tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="none: no such file"):
        load_flows(loaded, tmp_path / "none")


def custom_actions(found: OpenFlowSwitch) -> list[int]:
    """Of the flows, by their order."""
    actions = (action for flow in found.flow_tables for action in flow.instructions.apply or ())
    return [action.value for action in actions if action.kind == ActionKind.EXPERIMENTER]


def test_custom_actions_are_notes_of_ovs_ofctl(bridge: Bridge) -> None:
    bridge.run("add-flow", "in_port=1,udp,actions=note:48.52.01,output:2")
    assert custom_actions(bridge.switch) == [1]
    assert bridge.flows() == ["udp,in_port=1 actions=note:48.52.01.00.00.00,output:2"]
    for note in ("49.52.01", "48.52.00", "48.52.04", "48.52.01.00.00.00.01"):
        assert "OFPBAC_BAD_VENDOR" in bridge.run("add-flow", f"in_port=2,actions=note:{note}", fails=True)


def test_custom_actions_have_names_in_flows(loaded: OpenFlowSwitch, tmp_path: Path) -> None:
    path = tmp_path / "flows"
    path.write_text("in_port=1,actions=FIR,output:2\nin_port=2,udp,actions=dec_ttl,CRC,FIR,output:1\n")
    load_flows(loaded, path)
    ofctl.add_flow(loaded, "in_port=3,udp,actions=write_actions(CRC,output:4)")
    assert custom_actions(loaded) == [1, 3]
    written = [flow.instructions.write for flow in loaded.flow_tables if flow.instructions.write]
    assert [action.value for action in written[0]] == [2, 4]
    with pytest.raises(HeadraceError, match="in_port=4,actions=FIRE: .*FIRE"):
        ofctl.add_flow(loaded, "in_port=4,actions=FIRE")
    ofctl.del_flows(loaded, "in_port=1")
    assert custom_actions(loaded) == [3]
    ofctl.del_flows(loaded, "")
    assert not list(loaded.flow_tables)


def test_without_ovs_ofctl_it_is_asked_for(
    loaded: OpenFlowSwitch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ofctl.shutil, "which", lambda _: None)
    with pytest.raises(HeadraceError, match="install openvswitch-common"):
        ofctl.add_flow(loaded, "actions=drop")
