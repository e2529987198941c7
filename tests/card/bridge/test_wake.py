"""Idle time up to a timer is skipped: the card says when it is due, and nothing is different for it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from soak import soak

from headrace.card.stats import Irq
from headrace.cards.bridge.card import driver_of, let_go, open_bridge_card
from headrace.cards.bridge.formats import Header
from headrace.cards.bridge.tables import SOFTWARE

TIMEOUT_NS = 60_000


def interrupts(skip: bool, until: str) -> tuple[list[Irq], int]:
    """What three frames raise that come far from each other, and the cycles that were skipped."""
    with open_bridge_card(progress=False) as card:
        card.skip_idle(skip)
        driver = driver_of(card)
        driver.start()
        driver.h2s.configure(timeout_ns=TIMEOUT_NS)
        driver.classify(0, 0, 0, 0, Header(SOFTWARE, 1, 1))
        driver.setup_port(0)
        found = []
        for _ in range(3):
            driver.arm()
            card.send(0, [bytes(100)])
            card.run(until=until)
            found += card.irqs()
            driver.receive()
        return found, card.stats().skipped_cycles


# Idle is the card only when a window of its statistics is over, some 10 ms.
@pytest.mark.parametrize("until", ["interrupt", soak("idle")])
def test_a_batch_is_handed_over_at_its_timeout_whether_or_not_time_is_skipped(until: str) -> None:
    skipped, cycles = interrupts(True, until)
    evaluated, none = interrupts(False, until)
    assert [irq.vector for irq in skipped] == [irq.vector for irq in evaluated] == [0, 0, 0]
    first, second = (round((irqs[1].time_ns - irqs[0].time_ns) / 100) for irqs in (skipped, evaluated))
    assert first == pytest.approx(second, abs=1)
    assert min(b.time_ns - a.time_ns for a, b in pairwise(skipped)) > TIMEOUT_NS
    assert cycles > 3 * TIMEOUT_NS * 0.3 * 0.8 and none == 0


def test_a_port_without_a_rate_of_its_own_takes_a_frame_in_half_the_time_of_10_gb_s() -> None:
    def arrival_ns(free: bool) -> int:
        with open_bridge_card(progress=False) as card:
            driver_of(card)
            if free:
                let_go(card)
            before = card.stats().time_ns
            card.source(0, "gen:size=1514,count=20")
            stats = card.run().stats
            assert (stats.ports[0].rx_frames, stats.ports[0].rx_overruns) == (20, 0)
            return stats.time_ns - before

    line_ns = 20 * (1514 + 24) * 8 / 10
    assert arrival_ns(free=False) >= line_ns
    assert arrival_ns(free=True) < 0.55 * line_ns
