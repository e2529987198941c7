"""What the demo shows of the switch card, beside tcpdump."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.evaluate import demo
from headrace.evaluate.loads.switch_network import PARAMETERS
from headrace.net import ovs
from headrace.traffic import realistic_capture


@pytest.mark.skipif(ovs.available() is not None, reason=ovs.available() or "")
def test_flows_count_what_tcpdump_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo, "SWITCH", dict(PARAMETERS))
    capture = tmp_path / "traffic.pcap"
    realistic_capture(capture, 1000, method="made")
    found = demo.run_switch(capture, tmp_path)
    assert found.same and found.received == 1000 > found.sent > 0
    assert [flow.packets > 0 for flow in found.flows] == [True] * 4
    assert "dec_nw_ttl\n    output:2\n" in found.trace
