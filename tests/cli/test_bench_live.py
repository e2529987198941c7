# SPDX-License-Identifier: Apache-2.0
"""What ``headrace bench live`` finds."""

from __future__ import annotations

import shutil

import pytest

from headrace.evaluate.bench import live as bench
from headrace.evaluate.loads import live
from headrace.evaluate.loads.live import Captured
from headrace.evaluate.points import quiet


@pytest.mark.live
@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is what the cards are compared with")
@pytest.mark.parametrize("program", ["tcpdump", "capture, iface:"])
def test_packets_that_are_sent_are_in_the_file(program: str) -> None:
    found = live.captured(program, 100, 400, 4000)
    assert found.sent == found.written == 400
    assert 399 / 4000 <= found.sending_s <= found.seconds


def test_rates_fall_until_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card takes 2,000 packets a second; tcpdump, which gets blocks after a second, all that are sent."""

    def captured(program: str, size: int, count: int, packets_per_s: float | None = None) -> Captured:
        if packets_per_s is None:
            return Captured(count, 0.5, count, 1.5 if program == "tcpdump" else 10.0)
        return Captured(count, 3.0, count - (program == "filter, xdp:" and packets_per_s > 1500), 3.0)

    monkeypatch.setattr(bench, "build_card", lambda *_, **__: None)
    monkeypatch.setattr(live, "captured", captured)
    rows = {row.what: (row.value, row.note) for row in bench.run(quiet)}
    assert len(rows) == 10
    assert rows["tcpdump 64 bytes"] == (32_000, "1.00 of tcpdump's; 96,000 packets, try 1")
    assert rows["filter, iface: 64 bytes"] == (1600, "0.05 of tcpdump's; 4,800 packets, try 1")
    assert rows["filter, xdp: 1518 bytes"] == (1280, "0.04 of tcpdump's; 3,840 packets, try 2")
