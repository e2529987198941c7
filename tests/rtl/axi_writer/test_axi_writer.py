"""axi_writer: from 32 to 512 bits, bursts of 1 beat, of 16 and of as many as a page or AXI4 takes."""

from pathlib import Path

import pytest
import simulation


@pytest.mark.parametrize(
    "parameters",
    [{"MEM_W": 32, "BURST": 256}, {"MEM_W": 128, "BURST": 1}, {"MEM_W": 128}, {"MEM_W": 512, "BURST": 64}],
    ids=str,
)
def test_axi_writer(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "axi_writer_on_bus",
        "bench_axi_writer",
        folder="axi_writer",
        sources=[*simulation.rtl("pkg", "memory", "stream"), Path(__file__).parent / "axi_writer_on_bus.sv"],
        **parameters,
    )
