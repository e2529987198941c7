"""A list of turns: one item, few, a number that is no power of two, and so many that it lies in block RAM."""

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize("items", [1, 3, 16, soak(100), soak(256)])
def test_turn_list(items: int) -> None:
    sources = [*simulation.rtl("pkg", "memory", "stream"), simulation.RTL / "host" / "turn_list.sv"]
    simulation.simulate("turn_list", folder="host", sources=sources, ITEMS=items)
