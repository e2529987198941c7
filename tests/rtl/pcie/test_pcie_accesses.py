"""pcie_accesses: two sides."""

import simulation


def test_pcie_accesses() -> None:
    simulation.simulate("pcie_accesses", folder="pcie", sources=simulation.rtl("pkg", "memory", "stream", "pcie"))
