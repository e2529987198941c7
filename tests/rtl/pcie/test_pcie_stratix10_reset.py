"""pcie_stratix10_reset: one physical function with VFs, and several."""

import pytest
import simulation


@pytest.mark.parametrize("parameters", [{"FUNCTIONS": 5}, {"FUNCTIONS": 5, "PHYSICAL": 3}], ids=str)
def test_pcie_stratix10_reset(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "pcie_stratix10_reset",
        folder="pcie",
        sources=[simulation.RTL / "pcie" / "pcie_stratix10_reset.sv"],
        **parameters,
    )
