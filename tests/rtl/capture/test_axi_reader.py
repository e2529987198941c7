"""axi_reader: from 32 to 512 bits, bursts of 1 beat, of 16 and of as many as a page or AXI4 takes."""

import pytest
from capture.building import simulate
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"MEM_W": 32, "BURST": 16, "BUFFER": 64, "COMMANDS": 16},
        soak({"MEM_W": 32, "BURST": 256, "BUFFER": 256, "COMMANDS": 4}),
        {"MEM_W": 128, "BURST": 1, "BUFFER": 16, "COMMANDS": 32},
        {"MEM_W": 512, "BURST": 64, "BUFFER": 256, "COMMANDS": 32},
    ],
    ids=str,
)
def test_axi_reader(parameters: dict[str, int]) -> None:
    simulate("axi_reader_on_bus", "bench_axi_reader", **parameters)
