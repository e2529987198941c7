"""Clock gates change nothing but a model's speed: the same comes out at the same time, with them and without. Without
them a simulation checks as well that each could have been closed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from oracle import TCP_SOURCE_100, random_packets

from headrace.cards.filter.run import EAST, MONITOR, WEST, driver_of, open_filter_card
from headrace.engines.filter import Slot
from headrace.net import bpf
from headrace.net.assembler import assemble


@pytest.mark.soak
def test_what_comes_out_and_when_is_the_same_with_gates() -> None:
    without, gated = (_ran(gates) for gates in (0, 1))
    for number, (mine, right) in enumerate(zip(gated, without, strict=True)):
        assert mine == right, f"step {number}"


def _ran(gates: int) -> list[Any]:
    """What a card does with random packets, in bursts and one by one, while its programs and flow control change."""
    rng = random.Random(1)
    found: list[Any] = []
    packets = [packet.data for packet in random_packets(seed=3, count=500)]
    with open_filter_card(parameters={"CORES": 3, "GATED": gates}, progress=False) as card:
        driver = driver_of(card)
        for port in (WEST, EAST):
            card.source(port, "queue")
            card.sink(port, "memory")
        card.sink(MONITOR, "memory")
        for step in range(300):
            if step % 20 == 0:
                filters = [Slot(bpf.compile(text)) for text in rng.sample(("", "udp", TCP_SOURCE_100, "less 100"), 2)]
                counted = Slot(assemble("ldb [0]\n ret a"), measurement=True)
                driver.load(dict(enumerate([*filters, counted][: rng.randint(0, 3)])))
                driver.set_flow_control(rng.random() < 0.5)
            for _ in range(rng.choice((0, 1, 1, 40))):
                card.send(rng.choice((WEST, EAST)), [rng.choice(packets)])
            card.run(until=rng.choice(("idle", None)), cycles=rng.choice((10, 100, 1000)))
            frames = [[(each.data, each.timestamp_ns) for each in card.received(port)] for port in range(3)]
            measured = driver.measurement() if step % 20 == 10 and len(driver.slots) == 3 else None
            found.append((card.stats().cycles, frames, driver.counters(), measured))
    return found
