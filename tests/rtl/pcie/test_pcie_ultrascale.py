"""pcie_core and pcie_ultrascale on a machine: every width of the integrated block."""

from pathlib import Path

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize("width", [128, soak(256), 512])
def test_pcie_ultrascale(width: int) -> None:
    simulation.simulate(
        "pcie_on_ultrascale",
        "bench_pcie_ultrascale",
        folder="pcie",
        sources=[*simulation.rtl("pkg", "memory", "stream", "pcie"), Path(__file__).parent / "pcie_on_ultrascale.sv"],
        DATA_W=width,
    )
