# SPDX-License-Identifier: Apache-2.0
"""Cards that cables join: delay, hold-off, conservation, and the same result on any number of threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.card import Card
from headrace.card.coordinator import Coordinator
from headrace.errors import CardError

MYCARD = Path(__file__).parents[2] / "examples" / "mycard"
Open = Callable[..., Card]


def test_a_card_says_when_it_has_something_to_do_and_runs_until_then(loop: Open) -> None:
    card = loop(clock_hz=1_000_000_000)
    card.run()
    assert card.next_event_ns is None
    card.source(0, "gen:size=60,count=3,rate=1M")
    card.run(until=None, cycles=20)
    first = card.next_event_ns
    assert first is not None and first > card.stats().time_ns
    assert card.run(until=None, until_ns=first).stats.time_ns == first
    assert card.stats().rx_frames in (1, 2)
    before = card.stats().rx_frames
    assert card.run(until=None, until_ns=first + 1).stats.rx_frames == before + 1


def test_a_time_that_has_passed_ends_a_run_at_once(loop: Open) -> None:
    card = loop()
    card.run(until=None, cycles=1000)
    assert card.run(until=None, until_ns=1).stats.cycles == 1000


@pytest.mark.parametrize("delay", [1, 17, 1000, 5_000_000])
def test_a_frame_arrives_after_the_cables_delay_to_the_ns(loop: Open, delay: int) -> None:
    near, far = loop(clock_hz=1_000_000_000), loop(clock_hz=1_000_000_000)
    for card in (near, far):
        card.sink(1, "memory", timestamps="card")
    near.send(0, [b"x" * 60])
    coordinator = Coordinator(near, far)
    coordinator.connect(near, 1, far, 0, delay_ns=delay)
    assert coordinator.run() == "idle"
    (sent,), (came,) = near.received(1), far.received(1)
    whole = sent.timestamp_ns + 1  # the loop card's register
    on_the_wire = math.ceil((8 + 60 + 4) * 8 / 100)  # preamble, frame, FCS at 100 Gb/s
    assert came.timestamp_ns == whole + delay + on_the_wire
    assert came.data == sent.data


def ring(threads: int) -> list[Any]:
    """Three cards in a ring, with traffic at two of them; what each has seen."""
    cards = [Card.open(MYCARD, progress=False, clock_hz=hz) for hz in (322_265_625, 250_000_000, 322_265_625)]
    coordinator = Coordinator(*cards)
    for number, card in enumerate(cards):
        coordinator.connect(card, 1, cards[(number + 1) % 3], 0, delay_ns=300 + 7 * number)
        card.sink(1, "memory", timestamps="card")
        card.flow_control(0, True)
    cards[0].source(1, "gen:size=60-300,count=50,seed=3")
    cards[1].source(1, "gen:size=imix,count=50,seed=4")
    # What comes in at port 1 leaves at port 0, which no cable takes: the ring carries what is sent into port 0.
    cards[2].sink(0, "memory", timestamps="card")
    coordinator.run(until=None, seconds=30e-6, threads=threads)
    seen = [[(f.timestamp_ns, f.data) for f in card.received(1)] for card in cards]
    counters = [card.stats().ports for card in cards]
    for card in cards:
        card.close()
    return [seen, counters]


def test_the_result_is_the_same_on_any_number_of_threads() -> None:
    assert ring(1) == ring(2) == ring(3)


def test_hold_off_over_a_cable_loses_nothing() -> None:
    """The far card's wire is ten times slower than what comes in."""
    with Card.open(MYCARD, progress=False) as near, Card.open(MYCARD, progress=False) as far:
        coordinator = Coordinator(near, far)
        coordinator.connect(near, 1, far, 0, delay_ns=100)
        near.flow_control(0, True)
        far.flow_control(0, True)
        far.set_rate(0, 10e9)
        far.set_rate(1, 10e9)
        near.source(0, "gen:size=1514,count=200")
        assert coordinator.run() == "idle"
        first, last = near.stats().ports, far.stats().ports
    assert first[0].rx_frames == first[1].tx_frames == last[0].rx_frames == last[1].tx_frames == 200
    assert first[0].rx_overruns == last[0].rx_overruns == 0
    assert first[0].rx_held_cycles > 0


def test_cards_of_different_kinds_conserve_what_goes_through_them(loop: Open) -> None:
    """Through one card and back: what went in comes out, unchanged and in order."""
    other = loop()
    with Card.open(MYCARD, progress=False) as mine:
        coordinator = Coordinator(mine, other)
        coordinator.join(mine, 1, other, 0, delay_ns=50)
        mine.source(0, "gen:size=60-1514,count=300,rate=20G")
        other.sink(1, "memory", timestamps="card")
        assert coordinator.run() == "idle"
        sent, came = mine.stats().ports, other.stats().ports
        assert sent[0].rx_frames == sent[1].tx_frames == came[0].rx_frames == came[1].tx_frames == 300
        assert sent[0].rx_bytes == sum(len(frame.data) for frame in other.received(1))


def test_a_card_beside_the_filter_card_filters_what_it_sends(tmp_path: Path) -> None:
    from headrace.cards.filter.run import EAST, MONITOR, WEST, driver_of, open_filter_card
    from headrace.engines.filter import Slot, sink_of
    from headrace.net import bpf

    with Card.open(MYCARD, progress=False) as mine, open_filter_card(progress=False) as card:
        driver = driver_of(card)
        driver.load({0: Slot(bpf.compile("udp port 9"))})
        mine.run(until=None, until_ns=card.stats().time_ns)
        card.run(until=None, until_ns=mine.stats().time_ns)
        coordinator = Coordinator(mine, card)
        coordinator.connect(mine, 1, card, WEST, delay_ns=1000)
        card.sink(EAST, "null")
        card.sink(MONITOR, "memory", **sink_of(0))
        mine.source(0, "gen:size=60-200,count=100,dport=9,rate=10G")
        assert coordinator.run() == "idle"
        assert len(card.received(MONITOR, select=0)) == driver.counters().programs[0].matched == 100


def test_an_error_of_one_card_is_one_of_all(loop: Open) -> None:
    good, bad = loop(), loop()
    bad.write(0x08, 2)  # holes in tx_tkeep
    good.run(until=None, until_ns=bad.stats().time_ns)
    coordinator = Coordinator(good, bad)
    coordinator.connect(good, 1, bad, 0, delay_ns=100)
    good.send(0, [b"x" * 60])
    with pytest.raises(CardError, match="port 1: tx_tkeep has a hole"):
        coordinator.run()
    with pytest.raises(CardError, match="tx_tkeep has a hole"):
        good.run()


def test_wrong_cables_and_times_are_refused(loop: Open) -> None:
    near, far, other = loop(), loop(), loop()
    coordinator = Coordinator(near, far)
    with pytest.raises(CardError, match="at least 1 ns"):
        coordinator.connect(near, 1, far, 0, delay_ns=0)
    with pytest.raises(CardError, match="no port 9"):
        coordinator.connect(near, 9, far, 0, delay_ns=1)
    with pytest.raises(CardError, match="doesn't have this card"):
        coordinator.connect(near, 1, other, 0, delay_ns=1)
    other.run(until=None, cycles=5)
    with pytest.raises(CardError, match="must have the same time"):
        Coordinator(near, other)
    far.close()
    with pytest.raises(CardError, match="closed"):
        coordinator.run()
