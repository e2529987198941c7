"""pcie_write: every width, the least of room and more."""

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize("parameters", [{"DATA_W": 128}, soak({"DATA_W": 256, "ROWS": 512}), {"DATA_W": 512}], ids=str)
def test_pcie_write(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "pcie_write", folder="pcie", sources=simulation.rtl("pkg", "memory", "stream", "pcie"), **parameters
    )
