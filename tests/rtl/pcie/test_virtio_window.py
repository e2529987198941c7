"""virtio_window: one device, and several with several pairs."""

import pytest
import simulation


@pytest.mark.parametrize("parameters", [{"FUNCTIONS": 1}, {"FUNCTIONS": 5, "PAIRS": 3, "FIRST": 2}], ids=str)
def test_virtio_window(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "virtio_window", folder="pcie", sources=simulation.rtl("pkg", "memory", "stream", "pcie"), **parameters
    )
