"""The filter card of these tests, with its driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from headrace.card import Card
from headrace.cards.filter.run import EAST, MONITOR, WEST, driver_of, open_filter_card
from headrace.engines.filter import FilterCounters, FilterDriver


@dataclass
class Bench:
    """A card and its driver."""

    card: Card
    driver: FilterDriver

    def check_conservation(self) -> FilterCounters:
        """What came in is where the counters say it is, once the card is idle."""
        counters, stats = self.driver.counters(), self.card.stats()
        passed = sum(port.packets - port.uninspected for port in counters.ingress)
        assert counters.inspected == passed
        assert counters.accepted == counters.forwarded + counters.monitor_dropped
        assert counters.forwarded == stats.ports[MONITOR].tx_frames
        assert counters.forwarded_bytes == stats.ports[MONITOR].tx_bytes
        for source, destination in ((WEST, EAST), (EAST, WEST)):
            assert counters.ingress[source].packets == stats.ports[source].rx_frames
            assert counters.ingress[source].bytes == stats.ports[source].rx_bytes
            assert stats.ports[destination].tx_frames == stats.ports[source].rx_frames
        assert stats.passthrough_mismatches == 0
        return counters

    def lose_nothing(self) -> None:
        """Flow control on: the links wait for the card."""
        self.driver.set_flow_control(True)
        for port in (WEST, EAST):
            self.card.flow_control(port, True)


@pytest.fixture
def filter_bench() -> Iterator[Callable[..., Bench]]:
    """Opens filter cards that check their passthrough and keep the monitor's frames in memory unless told otherwise.
    What came in must be where the counters say it is, when the test ends, too."""
    benches: list[Bench] = []
    with ExitStack() as stack:

        def open_bench(monitor: str = "memory", **parameters: int) -> Bench:
            card = stack.enter_context(open_filter_card(parameters=parameters, progress=False))
            card.expect_passthrough(WEST, EAST)
            card.expect_passthrough(EAST, WEST)
            card.sink(WEST, "null")
            card.sink(EAST, "null")
            card.sink(MONITOR, monitor)
            benches.append(Bench(card, driver_of(card)))
            return benches[-1]

        yield open_bench
        for bench in benches:
            bench.check_conservation()
