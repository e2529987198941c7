"""``headrace switch run`` between TAP devices in network namespaces, as a user starts it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from patience import until

from headrace.cards.switch.run import SwitchJob, run
from headrace.evaluate.loads.switch_network import OFCTL, PARAMETERS, controlled, iperf, ofctl
from headrace.net.namespaces import own_network


def test_a_run_of_files_begins_with_its_flows_and_ends_with_the_last_timeout(tmp_path: Path) -> None:
    flows = tmp_path / "flows"
    flows.write_text("idle_timeout=5,in_port=1,actions=output:2\n")
    sources, sinks = {1: "gen:count=30"}, {2: str(tmp_path / "out.pcap")}
    report = run(SwitchJob(sources, sinks, flows=str(flows), parameters=PARAMETERS))
    assert [(port.received, port.sent, port.rx_dropped) for port in report.ports[:2]] == [(30, 0, 0), (0, 30, 0)]
    assert report.flows == 0
    assert 5 < report.cycles / 322265625 < 6


@pytest.mark.live
def test_flows_of_a_file_are_timed_by_the_time_of_day(tmp_path: Path) -> None:
    flows = tmp_path / "flows"
    flows.write_text("hard_timeout=600,actions=output:2\nidle_timeout=600,priority=1,actions=output:1\n")
    with own_network():
        job = SwitchJob({1: "tap:h1", 2: "tap:h2"}, flows=str(flows), seconds=1, parameters=PARAMETERS)
        assert run(job).flows == 2


@pytest.mark.live
def test_a_device_that_goes_takes_its_port_down_and_no_other() -> None:
    with controlled(OFCTL) as (one, two, three):
        assert one.hears(three)
        three.run("ip", "link", "del", "h3")
        until(lambda: re.search(r"^ 3\(.*\n.*\n +state: +LINK_DOWN", ofctl("dump-ports-desc"), re.MULTILINE), "port 3")
        three.run("ip", "tuntap", "add", "h3", "mode", "tap")
        three.run("ip", "link", "set", "h3", "up")
        assert one.pings(two) == 3
        assert ofctl("dump-ports-desc").count("LINK_DOWN") == 2, "the fourth port has no link"


@pytest.mark.live
def test_a_device_that_is_renamed_renames_its_port() -> None:
    with controlled(OFCTL) as (_, _, three):
        for change in (("down",), ("name", "other3"), ("up",)):
            three.run("ip", "link", "set", "other3" if change == ("up",) else "h3", *change)
        until(lambda: " 3(other3): " in ofctl("dump-ports-desc"), "port 3's new name")


@pytest.mark.live
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_iperf3_streams_through_the_card() -> None:
    found = iperf(1, PARAMETERS)
    assert found.bytes > 0 and found.seconds >= 1
    assert found.packets > found.bytes / 1514
