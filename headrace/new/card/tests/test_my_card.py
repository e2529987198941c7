"""Packets through the card. Run by ``headrace test``."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.card import Card


@pytest.fixture
def card() -> Iterator[Card]:
    with Card.open(Path(__file__).parents[1], progress=False) as card:
        yield card


def test_what_comes_in_by_one_port_leaves_by_the_other_and_is_counted(card: Card) -> None:
    packets = [[random.randbytes(random.randint(60, 1514)) for _ in range(50)] for _ in range(2)]
    for port in (0, 1):
        card.source(port, packets[port])
        card.sink(port, "memory")
    card.run()
    for port in (0, 1):
        assert [frame.data for frame in card.received(1 - port)] == packets[port]
        assert card.regs.port[port].frames.read() == 50
        assert card.regs.port[port].bytes.read() == sum(map(len, packets[port]))


def test_a_frame_arrives_after_one_cycle(card: Card) -> None:
    card.source(0, [bytes(60)])
    card.sink(1, "memory")
    card.expect_passthrough(0, 1)
    assert card.run().stats.latency_cycles == (1, 1)
