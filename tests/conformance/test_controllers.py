"""Controllers that the field uses program a switch, and hosts in network namespaces talk through it."""

from __future__ import annotations

import re
import shutil

import pytest

from headrace.evaluate.loads.switch_network import (
    ALL_BY_CONTROLLER,
    FAUCET,
    LEARNING,
    ROUTING,
    SWITCHES,
    TESTCONTROLLER,
    Reached,
    Switch,
    controlled,
    ofctl,
    reached,
)

pytestmark = pytest.mark.live

ALL = Reached(pairs=6, pinged=6, sent=6)


@pytest.fixture(params=SWITCHES)
def switch(request: pytest.FixtureRequest) -> Switch:
    return SWITCHES[request.param]


def test_os_kens_simple_switch_learns_the_hosts(switch: Switch) -> None:
    with controlled(LEARNING, switch) as hosts:
        assert reached(hosts) == ALL
        learned = re.findall(r"priority=1,in_port=\d+,dl_src=\S+,dl_dst=\S+ actions=output:\d+", ofctl("dump-flows"))
        assert len(learned) == 6


@pytest.mark.skipif(shutil.which(TESTCONTROLLER) is None, reason="ovs-testcontroller is not installed")
def test_long_packets_come_to_a_controller_whole(switch: Switch) -> None:
    with controlled(ALL_BY_CONTROLLER, switch) as (one, two, _):
        assert all(one.pings(two, 1, size=1000) for _ in range(4))
        assert "priority=1" not in ofctl("dump-flows"), "each of them went by the controller"


@pytest.mark.skipif(not FAUCET.exists(), reason="faucet is not installed")
def test_faucet_makes_two_vlans_a_router_and_an_acl_of_it(switch: Switch) -> None:
    with controlled(ROUTING, switch) as hosts:
        assert reached(hosts) == ALL
        one, two, three = hosts
        assert (one.hears(two), one.hears(three)) == (64, 63)
        assert not one.sends(two, port=5001, wait_s=3) and two.sends(one, port=5001)
        assert not one.sends(three, port=5001, wait_s=3)
