"""host_interrupt: one queue, many, functions with several pairs, fewer reads than queues, all widths."""

from pathlib import Path

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"QUEUES": 16},
        soak({"QUEUES": 1, "DATA_W": 128, "FIRST": 5}),
        {"QUEUES": 9, "PAIRS": 3, "DATA_W": 256, "READS": 8},
        {"QUEUES": 40, "DATA_W": 64, "READS": 4},
    ],
    ids=str,
)
def test_host_interrupt(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "host_interrupt_on_bus",
        "bench_host_interrupt",
        folder="host",
        sources=[
            *simulation.rtl("pkg", "memory", "stream", "host"),
            Path(__file__).parent / "host_interrupt_on_bus.sv",
        ],
        **parameters,
    )
