"""Controllers that the field uses program a switch, and hosts in network namespaces talk through it."""

from __future__ import annotations

import os
import re
import sys
from itertools import permutations
from pathlib import Path

import pytest
from patience import until
from switch_network import CONTROLLER, DATAPATH_ID, SWITCHES, Host, network, ofctl, running

ROOT = Path(__file__).parents[2]
FAUCET = ROOT / ".venv-faucet/bin/faucet"

pytestmark = pytest.mark.live


@pytest.fixture(params=SWITCHES)
def switch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def everyone_reaches_everyone(hosts: list[Host]) -> None:
    """Once they are known: a router drops what comes for a host that it still looks for."""
    for one, other in permutations(hosts, 2):
        until(lambda one=one, other=other: one.pings(other, 1, 1), "the first answer")
        assert one.pings(other) == 3
    assert hosts[0].sends(hosts[1]) and hosts[1].sends(hosts[2]) and hosts[2].sends(hosts[0])


def test_os_kens_simple_switch_learns_the_hosts(switch: str) -> None:
    with network(switch, ["10.0.0.1/24", "10.0.0.2/24", "10.0.0.3/24"]) as hosts:
        app = ROOT / "examples/controller/simple_switch.py"
        with running([sys.executable, str(app), str(CONTROLLER)]) as controller:
            until(lambda: controller.poll() is not None or "CONTROLLER" in ofctl("dump-flows"), "the controller's flow")
            assert controller.poll() is None
            everyone_reaches_everyone(hosts)
            learned = re.findall(
                r"priority=1,in_port=\d+,dl_src=\S+,dl_dst=\S+ actions=output:\d+", ofctl("dump-flows")
            )
            assert len(learned) == 6


FAUCET_CONFIG = f"""
acls:
  no-5001:
    - rule: {{dl_type: 0x800, nw_proto: 6, tcp_dst: 5001, actions: {{allow: 0}}}}
    - rule: {{actions: {{allow: 1}}}}
vlans:
  office: {{vid: 100, faucet_mac: "0e:00:00:00:01:00", faucet_vips: [10.0.1.254/24]}}
  lab: {{vid: 200, faucet_mac: "0e:00:00:00:02:00", faucet_vips: [10.0.2.254/24]}}
routers:
  between: {{vlans: [office, lab]}}
dps:
  switch:
    dp_id: {DATAPATH_ID}
    hardware: Open vSwitch
    interfaces:
      1: {{native_vlan: office, acls_in: [no-5001]}}
      2: {{native_vlan: office}}
      3: {{native_vlan: lab}}
"""


@pytest.mark.skipif(not FAUCET.exists(), reason="faucet is not installed")
def test_faucet_makes_two_vlans_a_router_and_an_acl_of_it(tmp_path: Path, switch: str) -> None:
    (tmp_path / "faucet.yaml").write_text(FAUCET_CONFIG)
    log, wrong = tmp_path / "faucet.log", tmp_path / "exception.log"
    environment = {
        "FAUCET_CONFIG": str(tmp_path / "faucet.yaml"),
        "FAUCET_LOG": str(log),
        "FAUCET_EXCEPTION_LOG": str(wrong),
        "FAUCET_EVENT_SOCK": "0",
        "PATH": os.pathsep.join((str(FAUCET.parent), os.environ["PATH"])),
    }
    with network(switch, ["10.0.1.1/24", "10.0.1.2/24", "10.0.2.3/24"]) as hosts:
        one, two, three = hosts
        for host, router in ((one, "10.0.1.254"), (two, "10.0.1.254"), (three, "10.0.2.254")):
            host.run("ip", "route", "add", "default", "via", router)
        with running([str(FAUCET), "--ryu-ofp-tcp-listen-port", str(CONTROLLER)], env=environment) as controller:
            until(lambda: controller.poll() is not None or one.pings(two), "faucet's flows")
            assert controller.poll() is None
            everyone_reaches_everyone(hosts)
            assert (one.ttl(two), one.ttl(three)) == (64, 63)
            assert not one.sends(two, port=5001, wait_s=3) and two.sends(one, port=5001)
            assert not one.sends(three, port=5001, wait_s=3)
            flows = ofctl("dump-flows")
    assert len(re.findall(r"^ .*table=", flows, re.MULTILINE)) > 40
    assert "OFError" not in log.read_text()
    assert not wrong.exists() or not wrong.read_text()
