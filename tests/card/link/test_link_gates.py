"""Clock gates change nothing but a model's speed: the same comes out at the same time, with them and without. Without
them a simulation checks as well that each could have been closed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from link_bench import PARAMETERS, SEED

from headrace.card import Card
from headrace.cards.link.card import open_link_card
from headrace.engines.links import Links
from headrace.engines.netem import parse_netem
from headrace.registers.compile import load_map

SETTINGS = (
    "delay 0ms",
    "delay 1us",
    "delay 3us 2us",
    "delay 100us 90us 25% distribution normal",
    "rate 1gbit",
    "rate 5gbit delay 5us limit 50",
    "loss 10% 25% duplicate 8% corrupt 20% 50%",
    "loss gemodel 2% 25% delay 20us reorder 25% 50%",
)


def _emulated(card: Card, links: Links) -> list[Any]:
    """Frames both ways, in bursts and one by one, through links of many kinds."""
    rng = random.Random(1)
    found: list[Any] = []
    for step in range(300):
        if step % 15 == 0:
            card.memory.configure(
                read_latency_ns=rng.choice((0, 500)), write_latency_ns=rng.choice((0, 500)), stalls=step % 40
            )
            card.skip_idle(rng.random() < 0.7)
            for port in range(2):
                links.set(port, parse_netem(rng.choice(SETTINGS)))
                hold = rng.random() < 0.5
                links.hold_link(port, hold)
                card.flow_control(port, hold)
        for _ in range(rng.choice((0, 0, 1, 40))):
            card.send(rng.randrange(2), [rng.randbytes(rng.choice((60, rng.randint(60, 1514))))])
        card.run(until=rng.choice(("idle", None)), cycles=rng.choice((1, 10, 100, 3000, 10_000)))
        counted = [links.counters(port) for port in range(2)] if rng.random() < 0.2 else None
        found.append((card.stats().cycles, _out(card), counted))
    card.run()
    return [*found, (card.stats().cycles, _out(card), [links.counters(port) for port in range(2)])]


def _registers(card: Card, links: Links) -> list[Any]:
    """Whatever is written into registers and read from them while frames come."""
    rng = random.Random(2)
    found: list[Any] = []
    assert card.description.registers is not None
    nodes = [(at, node) for _, at, node in load_map(card.description.registers).walk() if at < 0x200]
    for port in range(2):
        links.set(port, parse_netem(SETTINGS[2]))
    for _ in range(400):
        for _ in range(rng.choice((0, 1, 20))):
            card.send(rng.randrange(2), [rng.randbytes(rng.randint(60, 1514))])
        at, _ = rng.choice([each for each in nodes if each[1].writable and "base" not in each[1].name])
        card.write(at, rng.choice((0, 1, 3, rng.getrandbits(10), rng.getrandbits(32))))
        card.run(until=None, cycles=rng.choice((1, 10, 1000)))
        at, _ = rng.choice(nodes)
        found.append((card.stats().cycles, _out(card), card.read(at), [card.read(at) for at, _ in nodes]))
    return found


def _out(card: Card) -> list[Any]:
    return [[(each.data, each.timestamp_ns) for each in card.received(port)] for port in range(2)]


@pytest.mark.soak
@pytest.mark.parametrize("load", [_emulated, _registers])
def test_what_comes_out_and_when_is_the_same_with_gates(load: Callable[[Card, Links], list[Any]]) -> None:
    found = []
    for gates in (0, 1):
        with open_link_card(2, SEED, PARAMETERS | {"GATED": gates}, progress=False) as (card, links):
            for port in range(2):
                card.source(port, "queue")
                card.sink(port, "memory")
            found.append(load(card, links))
    for number, (right, mine) in enumerate(zip(*found, strict=True)):
        assert mine == right, f"step {number}"
