"""pcie_interrupt: a single function, a few, and as many vectors as there can be."""

import pytest
import simulation


@pytest.mark.parametrize(
    "parameters",
    [{"FUNCTIONS": 1, "VECTORS": 2}, {"FUNCTIONS": 16}, {"FUNCTIONS": 5, "VECTORS": 64}],
    ids=str,
)
def test_pcie_interrupt(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "pcie_interrupt", folder="pcie", sources=simulation.rtl("pkg", "memory", "stream", "pcie"), **parameters
    )
