"""ovs-ofctl, with all its flow, group, meter and stats commands of OpenFlow 1.3, programs a switch with three hosts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import until

from headrace.evaluate.loads.switch_network import DATAPATH_ID, SWITCH, SWITCHES, Host, network, ofctl, running

pytestmark = pytest.mark.live

ONE, TWO, THREE = "10.0.0.1", "10.0.0.2", "10.0.0.3"
BETWEEN_1_AND_2 = ("in_port=1,actions=output:2", "in_port=2,actions=output:1")


@pytest.fixture(params=SWITCHES, scope="module")
def network_of_hosts(request: pytest.FixtureRequest) -> Iterator[list[Host]]:
    with network(SWITCHES[request.param], [f"{ONE}/24", f"{TWO}/24", f"{THREE}/24"]) as hosts:
        yield hosts


@pytest.fixture
def hosts(network_of_hosts: list[Host]) -> list[Host]:
    """With an empty switch."""
    for command in ("del-flows", "del-groups", "del-meters"):
        ofctl(command)
    return network_of_hosts


def flows(*words: str) -> list[str]:
    """As ``dump-flows`` lists them, without what time and packets change."""
    lines = ofctl("--no-stats", "dump-flows", *words).splitlines()
    return sorted(line.strip().removeprefix("reset_counts ") for line in lines if "actions=" in line)


def counted(text: str, name: str) -> list[int]:
    """All values of a counter."""
    return [int(value) for value in re.findall(rf"\b{name}[=:](\d+)", text)]


def until_counted(command: tuple[str, ...], name: str, least: int) -> None:
    """Open vSwitch counts what its datapath passes from time to time."""
    until(lambda: sum(counted(ofctl(*command), name)) >= least, f"{name} of {least}")


def reaches(one: Host, other: Host) -> bool:
    """Three pings are answered, once the last change holds: Open vSwitch says too early that it does."""
    one.hears(other)
    return one.pings(other) == 3


def until_cut_off(one: Host, other: Host) -> None:
    """Until no ping is answered."""
    until(lambda: one.pings(other, 2, 1) == 0, "silence")


def test_what_a_switch_says_of_itself(hosts: list[Host]) -> None:
    shown = ofctl("show")
    assert f"dpid:{DATAPATH_ID:016x}" in shown
    assert re.findall(r"^ (\d)\(", shown, re.MULTILINE)[:3] == ["1", "2", "3"]
    assert all(f"{name}: " in ofctl("dump-desc") for name in ("Manufacturer", "Hardware", "Software", "Serial Num"))
    described = ofctl("dump-ports-desc")
    assert re.findall(r"^ (\d)\(", described, re.MULTILINE)[:3] == ["1", "2", "3"]
    assert not re.search(r"^ [123]\(.*\n.*\n +state: +LINK_DOWN", described, re.MULTILINE)
    assert "table 0" in ofctl("dump-table-features")
    assert "active=0" in ofctl("dump-tables")
    assert "bytes" in ofctl("ping")
    assert "normal" in ofctl("get-frags")
    ofctl("queue-stats")
    ofctl("probe")


def test_add_modify_delete_and_compare_flows(hosts: list[Host], tmp_path: Path) -> None:
    for flow in BETWEEN_1_AND_2:
        ofctl("add-flow", flow)
    assert reaches(hosts[0], hosts[1]) and hosts[0].sends(hosts[1])
    until_counted(("dump-flows",), "n_packets", 200)
    until_counted(("dump-aggregate",), "packet_count", 200)
    assert counted(ofctl("dump-aggregate", "in_port=1"), "flow_count") == [1]
    ofctl("mod-flows", "in_port=1,actions=output:3")
    until_cut_off(hosts[0], hosts[1])
    ofctl("del-flows", "in_port=1")
    assert flows() == ["in_port=2 actions=output:1"]
    ofctl("add-flow", "priority=7,cookie=0x5,in_port=2,actions=drop")
    ofctl("--strict", "mod-flows", "priority=7,in_port=2,actions=output:3")
    assert flows("cookie=0x5/-1") == ["cookie=0x5, priority=7,in_port=2 actions=output:3"]
    ofctl("--strict", "del-flows", "priority=7,in_port=2")
    assert flows() == ["in_port=2 actions=output:1"]
    file = tmp_path / "flows"
    file.write_text("\n".join((*BETWEEN_1_AND_2, "table=1,priority=3,arp,actions=CONTROLLER:128", "")))
    ofctl("replace-flows", str(file))
    assert ofctl("diff-flows", str(file)) == "" and len(flows()) == 3
    assert reaches(hosts[0], hosts[1])
    ofctl("del-flows")
    ofctl("add-flows", str(file))
    assert ofctl("diff-flows", str(file)) == ""


def test_each_kind_of_match_and_action_comes_back_as_it_was_told(hosts: list[Host]) -> None:
    told = [
        "table=0, priority=9,tcp,nw_src=10.0.0.0/8,tp_dst=80 actions=set_field:10.9.9.9->ip_dst,output:2",
        "table=0, priority=9,udp6,ipv6_src=2001:db8::/32,tp_src=53 actions=dec_ttl,output:3",
        "table=0, priority=9,dl_vlan=5,dl_vlan_pcp=3 actions=pop_vlan,output:1,output:2",
        "table=0, priority=9,arp,arp_tpa=10.0.0.2 actions=FLOOD",
        "table=1, priority=8,metadata=0x5/0xff actions=push_vlan:0x8100,set_field:4101->vlan_vid,output:3",
        "table=1, priority=8,mpls,mpls_label=7 actions=pop_mpls:0x0800,ALL",
        "table=1, priority=8,icmp6,icmp_type=135,nd_target=fe80::1 actions=CONTROLLER:64",
        "table=1, priority=8,sctp,tp_src=9 actions=set_field:10->sctp_src,IN_PORT",
        "table=1, priority=7,in_port=3 actions=write_metadata:0x1/0xff,goto_table:2",
        "table=2, priority=6,dl_src=02:00:00:00:00:00/02:00:00:00:00:00 actions=clear_actions,write_actions(output:1)",
        "table=2, priority=0 actions=drop",
    ]
    for flow in told:
        ofctl("add-flow", flow.replace(" actions", ",actions"))
    assert sorted(re.sub("^(?!table)", "table=0, ", line) for line in flows()) == sorted(told)


def test_groups_of_every_type(hosts: list[Host]) -> None:
    one, two, three = hosts
    ofctl("add-flow", "priority=1,in_port=2,actions=output:1")
    ofctl("add-flow", "priority=1,in_port=3,actions=output:1")
    assert "select" in ofctl("dump-group-features").lower()
    ofctl("add-group", "group_id=1,type=all,bucket=output:2,bucket=output:3")
    ofctl("add-flow", "priority=1,in_port=1,actions=group:1")
    assert reaches(one, two) and reaches(one, three)
    until_counted(("dump-group-stats", "group_id=1"), "packet_count", 6)
    ofctl("mod-group", "group_id=1,type=indirect,bucket=output:2")
    assert re.search(r"group_id=1,type=indirect,bucket=.*actions=output:2", ofctl("dump-groups"))
    assert reaches(one, two)
    until_cut_off(one, three)
    ofctl("mod-group", "group_id=1,type=select,bucket=weight:1,output:2,bucket=weight:1,output:2")
    assert reaches(one, two)
    ofctl("mod-group", "group_id=1,type=ff,bucket=watch_port:3,output:3,bucket=watch_port:2,output:2")
    assert reaches(one, three)
    until_cut_off(one, two)
    three.run("ip", "link", "set", "h3", "down")
    assert one.hears(two), "by the bucket of the port that is up"
    three.run("ip", "link", "set", "h3", "up")
    assert one.hears(three), "by the bucket of the port that is up again"
    ofctl("del-groups", "group_id=1")
    assert "group_id=1" not in ofctl("dump-groups") and len(flows()) == 2  # a flow to a group goes with it


def test_a_meter_drops_what_is_too_fast(hosts: list[Host]) -> None:
    one, two, _ = hosts
    assert "drop" in ofctl("meter-features")
    ofctl("add-meter", "meter=1,pktps,stats,bands=type=drop,rate=1000")
    ofctl("add-flow", "in_port=1,actions=meter:1,output:2")
    ofctl("add-flow", "in_port=2,actions=output:1")
    assert reaches(one, two)
    assert "type=drop rate=1000" in ofctl("dump-meters")
    ofctl("mod-meter", "meter=1,pktps,burst,stats,bands=type=drop,rate=1,burst_size=1")
    assert one.run("ping", "-n", "-c", "20", "-i", "0.05", "-W", "1", two.address).returncode <= 1
    until_counted(("meter-stats", "meter=1"), "packet_in_count", 20)
    assert counted(ofctl("meter-stats", "meter=1"), r"0: packet_count")[0] > 10
    ofctl("del-meters", "meter=1")
    assert "meter=1" not in ofctl("dump-meters")


def test_ports_count_and_can_be_switched_off(hosts: list[Host]) -> None:
    one, two, _ = hosts
    for flow in BETWEEN_1_AND_2:
        ofctl("add-flow", flow)
    before = counted(ofctl("dump-ports", "2"), "pkts")
    assert reaches(one, two)
    until(
        lambda: all(n >= b + 3 for n, b in zip(counted(ofctl("dump-ports", "2"), "pkts"), before, strict=True)),
        "counts",
    )
    ofctl("mod-port", "2", "no-forward")
    until_cut_off(one, two)
    ofctl("mod-port", "2", "forward")
    assert reaches(one, two)


def test_a_link_that_goes_down_is_told(hosts: list[Host], tmp_path: Path) -> None:
    with monitor(tmp_path) as said:
        for state, told in (("down", "LINK_DOWN"), ("up", "LIVE")):
            hosts[2].run("ip", "link", "set", "h3", state)
            until(lambda told=told: re.search(rf"PORT_STATUS.*MOD: 3\(.*\n.*\n +state: +{told}", said()), told)
            assert re.search(rf"^ 3\(.*\n.*\n +state: +{told}", ofctl("dump-ports-desc"), re.MULTILINE)


@contextmanager
def monitor(folder: Path) -> Iterator[Callable[[], str]]:
    """A controller that writes down what the switch says. It is there once a packet has come to it."""
    path = folder / "said"
    words = ["ovs-ofctl", "-OOpenFlow13", "monitor", f"tcp:127.0.0.1:{SWITCH}", "65534"]
    environment = os.environ | {"OVS_RUNDIR": str(folder)}
    with path.open("wb") as file, running(words, stdout=file, stderr=file, env=environment) as process:

        def said() -> str:
            assert process.poll() is None, path.read_text()
            return path.read_text()

        def hears() -> bool:
            ofctl("packet-out", f"in_port=controller,packet={'02' * 60},actions=controller")
            return "PACKET_IN" in said()

        until(hears, "a packet at the controller")
        yield said


def test_packets_go_to_a_controller_and_back(hosts: list[Host], tmp_path: Path) -> None:
    ofctl("add-flow", "priority=2,in_port=1,dl_type=0x88b5,actions=CONTROLLER:40,output:2")
    packet = bytes.fromhex("02" * 12 + "88b5").ljust(60, b"\0").hex()
    with monitor(tmp_path) as said:
        ofctl("packet-out", f"in_port=1,packet={packet},actions=TABLE")
        until(lambda: "total_len=60 in_port=1 (via action)" in said(), "the flow's packet at the controller")
    until_counted(("dump-flows", "in_port=1"), "n_packets", 1)
