"""pcie_ultrascale_reset: some functions, and VFs that begin later."""

import pytest
import simulation


@pytest.mark.parametrize("parameters", [{"FUNCTIONS": 5}, {"FUNCTIONS": 3, "FIRST_VF": 9}], ids=str)
def test_pcie_ultrascale_reset(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "pcie_ultrascale_reset",
        folder="pcie",
        sources=[simulation.RTL / "pcie" / "pcie_ultrascale_reset.sv"],
        **parameters,
    )
