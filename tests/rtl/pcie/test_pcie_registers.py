"""pcie_registers: the widest bus and the narrowest that a hard IP has."""

import pytest
import simulation


@pytest.mark.parametrize("parameters", [{"DATA_W": 128}, {"DATA_W": 512}], ids=str)
def test_pcie_registers(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "pcie_registers", folder="pcie", sources=simulation.rtl("pkg", "memory", "stream", "pcie"), **parameters
    )
