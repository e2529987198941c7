"""Clock gates change nothing but a model's speed: the same comes out at the same time, with them and without. Without
them a simulation checks as well that each could have been closed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from nic_model import random_frame
from nic_ports import FUNCTIONS, PARAMETERS, PORTS

from headrace.card.functions import Plugs, Side
from headrace.cards.nic.card import Nic, NicFunctions, Setting, open_nic_card


@pytest.mark.soak
def test_what_comes_out_and_when_is_the_same_with_gates() -> None:
    without, gated = (_ran(gates) for gates in (0, 1))
    for number, (mine, right) in enumerate(zip(gated, without, strict=True)):
        assert mine == right, f"step {number}"


def _ran(gates: int) -> list[Any]:
    """What a card does with random frames, in bursts and one by one, and the cycles that it takes, while its functions
    are stopped and begun anew."""
    random.seed(1)
    found: list[Any] = []
    macs = [bytes((2, 0, 0, 0, 0, number)) for number in range(FUNCTIONS)]
    with open_nic_card(parameters=PARAMETERS | {"GATED": gates}, progress=False) as card:
        nic = Nic(card)
        functions = NicFunctions(nic)
        told: list[str] = []
        plugs = Plugs(functions, told.append)
        nic.set_ports((1 << PORTS) - 1)
        ports = list(range(PORTS))

        def plug(number: int) -> None:
            setting = Setting(int.from_bytes(macs[number], "big"), random.choice((0, 5)), number % PORTS, number == 3)
            nic.enable(number, setting)
            plugs.plug(number, "queue:")
            port = plugs.port(number)
            assert port is not None
            card.source(port, "queue", timing=random.choice((2e8, 2e9, "line")))
            card.sink(port, "memory")
            ports.append(port)

        for port in ports:
            card.source(port, "queue")
            card.sink(port, "memory")
        for number in range(FUNCTIONS):
            plug(number)
        for step in range(300):
            if step % 40 == 0:
                card.memory.configure(
                    read_latency_ns=random.choice((100, 500, 2000)),
                    write_latency_ns=random.choice((50, 800)),
                    stalls=random.choice((0, 7)),
                    out_of_order=random.choice((0, 3)),
                )
            for _ in range(random.choice((0, 1, 1, 40))):
                frame = random_frame(macs, [0, 5], random.choice((100, 1600)), shortest=60)
                card.send(random.choice(ports), [frame.data])
            card.run(until=random.choice(("idle", None)), cycles=random.choice((30, 300, 3000)))
            frames = [[(each.data, each.timestamp_ns) for each in card.received(port)] for port in ports]
            counters = [functions.counters(side, random.randrange(FUNCTIONS)) for side in Side]
            found.append((card.stats().cycles, frames, counters, nic.path_counters(step % 2)))
        plugs.close()
        assert not told
    return found
