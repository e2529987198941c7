"""Others beside a running card: it stops where they ask, and rests as long as nobody does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from unittest.mock import Mock

import pytest
from loop_card import GO, READ
from patience import HANG_S

from headrace.card import Card, attended
from headrace.card.attended import run_attended
from headrace.card.stats import RunResult

Open = Callable[..., Card]


@pytest.fixture
def line() -> Iterator[tuple[int, int]]:
    """The ends of a pipe."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_card_that_waits_for_others_stops_where_one_asks(loop: Open, line: tuple[int, int]) -> None:
    card, bell = loop(), os.eventfd(0, os.EFD_NONBLOCK)
    card.bind_doorbell(bell, GO, READ)  # so that it sleeps
    assert card.run("interrupt", wall_s=0.01, asking=line[:1]).reason == "wall"
    os.write(line[1], b"x")
    assert card.run("interrupt", wall_s=HANG_S, asking=line[:1]).reason == "asked"
    assert card.run("interrupt", wall_s=0.01).reason == "wall"
    card.unbind_doorbell(bell)
    os.close(bell)


def test_a_card_at_work_stops_too(loop: Open, line: tuple[int, int]) -> None:
    card = loop()
    card.source(0, "gen:size=60")
    card.sink(0, "null")
    os.write(line[1], b"x")
    assert card.run(wall_s=HANG_S, asking=line[:1]).reason == "asked"


def runs(reasons: list[str], done: list[int], asking: list[int]) -> list[tuple[float, list[int]]]:
    """How long the runs of a card are and who may end them, where they end for ``reasons`` and after each look
    so much of ``done`` was done."""
    card, stop, found = Mock(), False, []

    class Stop:
        at_once = True

        def __bool__(self) -> bool:
            return stop

    def run(_: str, wall_s: float, until_ns: int | None, asking: list[int]) -> RunResult:
        nonlocal stop
        found.append((wall_s, list(asking)))
        stop = len(found) == len(reasons)
        return RunResult(reasons[len(found) - 1], Mock())  # type: ignore[arg-type]

    card.run = run
    said = iter(done)
    run_attended(card, Stop(), lambda: next(said), lambda: asking, True, Mock())  # type: ignore[arg-type]
    return found


def test_looks_are_rare_once_nobody_wants_anything_for_long() -> None:
    count = attended._LATELY + 5
    found = runs(["wall"] * count, [1] + [0] * count, [3])
    assert [wall_s for wall_s, _ in found] == [attended._BUSY_S] * attended._LATELY + [attended._CALM_S] * 5
    assert all(asking == [3] for _, asking in found)


def test_who_asks_for_what_cannot_be_done_yet_does_not_keep_the_card_from_its_work(line: tuple[int, int]) -> None:
    assert [asking for _, asking in runs(["asked"] * 4, [1, 1, 0, 0], [7])] == [[7], [7], [], []]
    os.write(line[1], b"x")  # also where the card is idle, and it is waited for here
    found = runs(["asked", "idle", "idle", "idle"], [0, 0, 0, 0], [line[0]])
    assert [asking for _, asking in found] == [[line[0]], [], [line[0]], []]
