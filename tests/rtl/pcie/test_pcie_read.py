"""pcie_read: every width, few tags and all of them, requests of 128 bytes to 1 KB."""

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 128, "TAGS": 16, "READ_BYTES": 1024},
        soak({"DATA_W": 256}),
        {"DATA_W": 512},
        {"DATA_W": 512, "TAGS": 256, "READ_BYTES": 128, "ID_W": 8},
    ],
    ids=str,
)
def test_pcie_read(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "pcie_read", folder="pcie", sources=simulation.rtl("pkg", "memory", "stream", "pcie"), **parameters
    )
