"""virtio_registers: one function, and several with several pairs; drivers that come by the window beside others."""

from pathlib import Path

import pytest
import simulation

PARAMETERS = [{"FUNCTIONS": 1}, {"FUNCTIONS": 5, "PAIRS": 3, "FIRST": 2, "VECTORS": 8, "QUEUE_SIZE": 64}]
SOURCES = simulation.rtl("pkg", "memory", "stream", "host", "pcie")


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_virtio_registers(parameters: dict[str, int]) -> None:
    simulation.simulate("virtio_registers", folder="pcie", sources=SOURCES, **parameters)


def test_virtio_registers_by_the_window() -> None:
    simulation.simulate(
        "virtio_by_window",
        "bench_virtio_registers",
        folder="pcie",
        sources=[*SOURCES, Path(__file__).parent / "virtio_by_window.sv"],
        **PARAMETERS[1],
    )
