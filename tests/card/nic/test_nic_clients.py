"""Clients of the NIC card's functions that programs in the field are: DPDK's testpmd, iperf3 in network namespaces."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nic_ports import PARAMETERS

from headrace.card.control import ask
from headrace.cards.nic.service import CONTROL
from headrace.evaluate.loads import function_clients, function_rates, switch_network

NIC = replace(function_rates.NIC, parameters=PARAMETERS)


def slower(control: str) -> switch_network.Sent:
    """What the function that has got less has got; none is lost."""
    functions = ask(CONTROL, control, {"command": "stats"})["functions"]
    assert not any(each["received_dropped"] for each in functions)
    return switch_network.Sent(*(min(each[name] for each in functions) for name in ("received", "received_bytes")))


@pytest.mark.live
@pytest.mark.skipif(function_clients.no_testpmd() is not None, reason=function_clients.no_testpmd() or "")
def test_testpmd_forwards_from_function_to_function() -> None:
    pieces = 64, 100  # by indirect tables at first, whose entries have WRITE
    found = function_rates.forwarded(replace(NIC, sent=slower), 0.5, pieces)  # once each packet has gone round
    assert found.seconds >= 0.5
    assert found.bytes % sum(pieces) == 0, "whole packets; they go on while one counter after the other is read"


@pytest.mark.live
@pytest.mark.skipif(switch_network.why_not("iperf3") is not None, reason=switch_network.why_not("iperf3") or "")
def test_iperf3_streams_from_function_to_function() -> None:
    found = function_rates.streamed(NIC, 1)
    assert found.packets > found.bytes / 1514 > 0
