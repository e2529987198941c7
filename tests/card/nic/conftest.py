"""What the NIC card's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from nic_model import NicModel
from nic_ports import FUNCTIONS, PARAMETERS, PORTS, NicBench
from rpu_fabric.flows import KEY

from headrace.card.functions import Plugs
from headrace.cards.nic.card import Nic, NicFunctions, open_nic_card


@pytest.fixture
def bench() -> Iterator[NicBench]:
    with open_nic_card(parameters=PARAMETERS, progress=False) as card:
        told: list[str] = []
        nic = Nic(card)
        assert (nic.ports, nic.count, nic.stations) == (PORTS, FUNCTIONS, 1024)
        functions = NicFunctions(nic)
        nic.set_ports((1 << PORTS) - 1)
        for port in range(PORTS):
            card.sink(port, "memory")
        made = NicBench(card, nic, functions, Plugs(functions, told.append), NicModel({}, KEY), told)
        yield made
        made.plugs.close()
        assert not told
