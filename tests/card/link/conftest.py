"""What the link card's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from link_bench import PARAMETERS, SEED, LinkBench

from headrace.cards.link.card import open_link_card


@pytest.fixture
def bench() -> Iterator[LinkBench]:
    with open_link_card(2, SEED, PARAMETERS, progress=False) as (card, links):
        for port in range(2):
            card.sink(port, "memory")
        card.memory.configure(read_latency_ns=500, write_latency_ns=500, stalls=3, out_of_order=5)
        made = LinkBench(card, links)
        yield made
        made.check()
