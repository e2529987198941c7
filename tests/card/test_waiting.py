"""Drivers wait for a card as long as it gets on, however long that takes, and no longer."""

from __future__ import annotations

from itertools import count

from headrace.card.waiting import waited


def wait(rounds: int, moves: int) -> tuple[bool, int]:
    """For a card that is done after some rounds, and does something in each of the first ``moves`` of them."""
    passed = count()
    now = 0

    def advance() -> None:
        nonlocal now
        now = next(passed) + 1

    return waited(lambda: now == rounds, advance, lambda: min(now, moves)), now


def test_a_card_that_gets_on_is_waited_for() -> None:
    assert wait(rounds=200_000, moves=195_000) == (True, 200_000)


def test_one_that_does_nothing_any_more_is_not() -> None:
    done, rounds = wait(rounds=10**9, moves=50_000)
    assert not done and 55_000 <= rounds < 100_000


def test_nothing_is_waited_for_where_all_is_done() -> None:
    assert wait(rounds=0, moves=0) == (True, 0)
