"""What the switch card's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from function_card import FUNCTIONS, PARAMETERS, FunctionCard

from headrace.card.functions import Functions, Plugs
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware, open_switch_card
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.ofctl import add_flow
from headrace.cards.switch.ports import PortInfo


@pytest.fixture
def functions() -> Iterator[FunctionCard]:
    """What the Ethernet port receives goes to function 1, what function 0 sends goes to function 1 and back, what
    function 2 sends comes back to it."""
    with open_switch_card(parameters=PARAMETERS, progress=False) as card:
        told: list[str] = []
        found = Functions(card, card.regs.functions)
        made = FunctionCard(card, found, Plugs(found, told.append), told)
        hardware = CardHardware(card)
        hardware.hold((1 << 1 + FUNCTIONS) - 1)
        ports = [PortInfo(number, f"p{number}", bytes((2, 0, 0, 0, 0, number)), 1) for number in range(1, 5)]
        switch = OpenFlowSwitch(HardwareDatapath(hardware), 1, ports, description="functions")
        for flow in (
            "in_port=1,actions=output:3",
            "in_port=2,actions=output:3",
            "in_port=3,actions=output:2",
            "in_port=4,actions=in_port",
        ):
            add_flow(switch, flow)
        yield made
