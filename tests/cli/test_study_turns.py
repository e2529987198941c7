"""EmbedNet's taking turns, as a model: figure 5.9's finding, and what must hold of any such interface."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.cards.bridge.host import PROFILES, HostProfile
from headrace.evaluate.study.alternation import batches, carried_mbit_s, followed_mbit_s

EMBEDNET = PROFILES["embednet"]
MS = 1e6


def test_figure_5_9s_finding_comes_out() -> None:
    """1 ms follows much longer than 10 ms, and ends near 35 Mb/s (fitted); 10 ms leaves near 20 Mb/s (not fitted)."""
    assert carried_mbit_s(40, 1024, 1 * MS, EMBEDNET) == pytest.approx(35, rel=0.05)
    assert 15 <= followed_mbit_s(1024, 10 * MS, EMBEDNET) <= 20
    assert followed_mbit_s(1024, 1 * MS, EMBEDNET) >= 30


def test_software_that_takes_no_time_loses_nothing() -> None:
    assert followed_mbit_s(1024, 10 * MS, HostProfile("none", 0, 0), most=60) == 60


def test_a_batch_is_its_timeout_and_the_hosts_time() -> None:
    """A packet each 2 ms, a timeout of 5 ms from the beginning: at 0, 2 and 4 ms; then 1 ms of software."""
    found = batches(np.arange(0, 20, 2) * MS, 1024, 5 * MS, HostProfile("slow", 1 * MS, 0))
    assert found[0] == (6 * MS, 3)
    assert found[1] == (12 * MS, 3)  # that of 6 ms waited in front; those of 8 and 10
    assert sum(count for _, count in found) == 10


def test_what_finds_no_room_while_software_works_is_lost() -> None:
    found = batches(np.arange(100) * 0.1 * MS, 1024, 1 * MS, HostProfile("slow", 5 * MS, 0), store=4)
    assert [count for _, count in found] == [11, 14, 4]  # 50 come in 5 ms, of which 4 have room
