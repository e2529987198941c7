"""A list of turns: one item, few, a number that is no power of two, and so many that it lies in block RAM; with
newcomers that go first, and without."""

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize(
    ("items", "newcomers"),
    [(1, 0), (3, 0), (16, 0), (3, 1), (16, 1), soak(100, 0), soak(256, 0), soak(1, 1), soak(100, 1), soak(256, 1)],
)
def test_turn_list(items: int, newcomers: int) -> None:
    sources = [*simulation.rtl("pkg", "memory", "stream"), simulation.RTL / "host" / "turn_list.sv"]
    simulation.simulate("turn_list", folder="host", sources=sources, ITEMS=items, NEWCOMERS=newcomers)
