"""The harness's test card, and small helpers that several of the harness's tests use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.card import Card

HERE = Path(__file__).parent
LOOP = HERE / "cards" / "loop"
MYCARD = HERE.parents[1] / "examples" / "mycard"


@pytest.fixture
def loop() -> Iterator[Callable[..., Card]]:
    """Opens loop cards (cards/loop/loop_card.sv says what they do); they are closed at the end of the test."""
    cards: list[Card] = []

    def open_loop(parameters: dict[str, Any] | None = None, **options: Any) -> Card:
        cards.append(Card.open(LOOP, parameters, progress=False, **options))
        return cards[-1]

    yield open_loop
    for card in cards:
        card.close()


@pytest.fixture
def mycard() -> Iterator[Card]:
    """The example of a user's own card."""
    with Card.open(MYCARD, progress=False) as card:
        yield card
