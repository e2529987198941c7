"""Clock gates change nothing but a model's speed: the same comes out at the same time, with them and without. Without
them a simulation checks as well that each could have been closed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from openflow_random import flow as random_flow
from openflow_random import group as random_group
from openflow_random import packet as random_packet

from headrace.cards.switch.card import CardHardware, open_switch_card
from headrace.cards.switch.flows import Band, Meter, PacketIn, RefusedError
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.evaluate.loads.switch_network import PARAMETERS

PORTS: int = PARAMETERS["PORTS"]
GROUPS = (7, 8, 9)


@pytest.mark.soak
def test_what_comes_out_and_when_is_the_same_with_gates() -> None:
    without, gated = (_ran(gates) for gates in (0, 1))
    for number, (mine, right) in enumerate(zip(gated, without, strict=True)):
        assert mine == right, f"step {number}"


def _ran(gates: int) -> list[Any]:
    """What a card does with random flows and packets, in bursts and one by one, and the cycles that it takes."""
    rng = random.Random(1)
    random.seed(1)
    found: list[Any] = []
    with open_switch_card(parameters=PARAMETERS | {"GATED": gates}, progress=False) as card:
        for port in range(PORTS):
            card.source(port, "queue")
            card.sink(port, "memory")
        datapath = HardwareDatapath(CardHardware(card), claim=2)
        datapath.set_meter(Meter(1, (Band(1000, 8),)))
        for number in GROUPS:
            datapath.set_group(random_group(rng, number, PORTS, False))
        for table in range(4):
            for priority in [0, *rng.sample(range(1, 1000), 20)]:
                try:
                    datapath.add(random_flow(rng, table, priority, 4, PORTS, list(GROUPS), False))
                except RefusedError:
                    continue
        for _ in range(200):
            for _ in range(rng.choice((1, 1, 1, 40))):
                card.send(rng.randrange(PORTS), [random_packet(rng)])
            card.run(until=rng.choice(("idle", None)), cycles=rng.choice((30, 300, 3000)))
            frames = [[(each.data, each.timestamp_ns) for each in card.received(port)] for port in range(PORTS)]
            told = [(each.data, each.in_port) for each in datapath.events() if isinstance(each, PacketIn)]
            counts = [datapath.count_port(port + 1) for port in range(PORTS)]
            found.append((card.stats().cycles, frames, told, counts))
    return found
