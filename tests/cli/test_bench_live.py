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


def test_a_program_that_loses_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a burst none may be lost, or it doesn't tell the rate."""

    def captured(program: str, size: int, count: int, packets_per_s: float | None = None) -> Captured:
        lost = packets_per_s is not None and program == "filter, xdp:"
        return Captured(count, 0.5, count - lost, 2.0 if "tcpdump" not in program else 0.5)

    monkeypatch.setattr(bench, "build_card", lambda *_, **__: None)
    monkeypatch.setattr(live, "captured", captured)
    rows = bench.run(quiet)
    assert [row.what for row in rows if not row.ok] == ["filter, xdp: 64 bytes", "filter, xdp: 1518 bytes"]
    assert [row.note for row in rows][:2] == [
        "1.00 of tcpdump's; 0 of 96,000 lost at 32,000/s; as fast as they were sent",
        "0.25 of tcpdump's; 0 of 24,000 lost at 8,000/s",
    ]
