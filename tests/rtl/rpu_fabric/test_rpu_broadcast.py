"""Stores to all units: none but the sender, a few, and as many as there can be."""

import pytest
from rpu_fabric.building import simulate


@pytest.mark.parametrize("units", [1, 3, 16])
def test_rpu_broadcast(units: int) -> None:
    simulate("rpu_broadcast", UNITS=units)
