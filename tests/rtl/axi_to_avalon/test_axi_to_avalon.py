"""axi_to_avalon: narrow and wide, posted and answered writes, with and without a buffer for read data."""

import pytest
from simulation import simulate


@pytest.mark.parametrize(
    "parameters",
    [
        {"MEM_W": 32, "ADDR_W": 32, "BURST": 16},
        {"MEM_W": 128, "ADDR_W": 64, "BURST": 256, "WRITE_RESPONSES": 1, "READ_BUFFER": 300},
        {"MEM_W": 64, "ADDR_W": 30, "BURST": 1, "READS": 2, "WRITES": 8, "READ_BUFFER": 4, "WRITE_RESPONSES": 1},
    ],
    ids=str,
)
def test_axi_to_avalon(parameters: dict[str, int]) -> None:
    simulate("axi_to_avalon", **parameters)
