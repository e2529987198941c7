"""pcie_core and pcie_stratix10 on a machine."""

from pathlib import Path

import simulation


def test_pcie_stratix10() -> None:
    simulation.simulate(
        "pcie_on_stratix10",
        "bench_pcie_stratix10",
        folder="pcie",
        sources=[*simulation.rtl("pkg", "memory", "stream", "pcie"), Path(__file__).parent / "pcie_on_stratix10.sv"],
    )
