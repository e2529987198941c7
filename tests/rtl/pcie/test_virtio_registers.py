"""virtio_registers: one function, and several with several pairs."""

import pytest
import simulation


@pytest.mark.parametrize(
    "parameters", [{"FUNCTIONS": 1}, {"FUNCTIONS": 5, "PAIRS": 3, "FIRST": 2, "VECTORS": 8, "QUEUE_SIZE": 64}], ids=str
)
def test_virtio_registers(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "virtio_registers",
        folder="pcie",
        sources=simulation.rtl("pkg", "memory", "stream", "host", "pcie"),
        **parameters,
    )
