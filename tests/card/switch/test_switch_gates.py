"""Clock gates change nothing but a model's speed: the same comes out at the same time, with them and without. Without
them a simulation checks as well that each could have been closed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from link_bench import SWITCH_PARAMETERS
from openflow_random import flow as random_flow
from openflow_random import group as random_group
from openflow_random import packet as random_packet

from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware, open_switch_card
from headrace.cards.switch.flows import Band, Meter, PacketIn, RefusedError
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.links import SwitchLinks
from headrace.cards.switch.ofctl import add_flow
from headrace.cards.switch.ports import PortInfo
from headrace.engines.netem import parse_netem
from headrace.evaluate.loads.switch_network import PARAMETERS

PORTS: int = PARAMETERS["PORTS"]
GROUPS = (7, 8, 9)


LINKS = ("delay 0ms", "delay 2us 1us", "rate 1gbit", "loss 10% duplicate 10%")


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


def _emulated(gates: int) -> list[Any]:
    """What leaves by emulated links, and goes to functions whose queues nobody has set up."""
    rng = random.Random(2)
    found: list[Any] = []
    with open_switch_card(parameters=SWITCH_PARAMETERS | {"FUNCTIONS": 1, "GATED": gates}, progress=False) as card:
        infos = [PortInfo(n + 1, f"port{n + 1}", bytes([2, 0, 0, 0, 0, n]), 10**8) for n in range(4)]
        switch = OpenFlowSwitch(HardwareDatapath(CardHardware(card)), 1, infos, description="links")
        add_flow(switch, "in_port=1,actions=output:2,output:3")
        add_flow(switch, "in_port=2,actions=output:1,output:4")
        links = SwitchLinks(card)
        for port in range(3):
            card.source(port, "queue")
            card.sink(port, "memory")
        for step in range(300):
            if step % 20 == 0:
                links.set(rng.randint(1, 4), parse_netem(rng.choice(LINKS)))
            for _ in range(rng.choice((0, 1, 1, 40))):
                card.send(rng.randrange(2), [rng.randbytes(rng.randint(60, 1514))])
            card.run(until=rng.choice(("idle", None)), cycles=rng.choice((30, 300, 3000)))
            frames = [[(each.data, each.timestamp_ns) for each in card.received(port)] for port in range(3)]
            counted = [links.counters(port) for port in range(1, 5)] if step % 10 == 0 else None
            found.append((card.stats().cycles, frames, counted))
    return found


@pytest.mark.soak
@pytest.mark.parametrize("load", [_ran, _emulated])
def test_what_comes_out_and_when_is_the_same_with_gates(load: Callable[[int], list[Any]]) -> None:
    without, gated = (load(gates) for gates in (0, 1))
    for number, (mine, right) in enumerate(zip(gated, without, strict=True)):
        assert mine == right, f"step {number}"
