"""Units of flows: one, a number that is no power of two, and as many as there can be."""

import pytest
from rpu_fabric.building import simulate


@pytest.mark.parametrize("units", [1, 3, 16])
def test_rpu_flow_target(units: int) -> None:
    simulate("rpu_flow_target", UNITS=units)
