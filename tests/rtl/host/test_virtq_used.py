"""virtq_used: one queue, fewer functions than IDs, and more, functions with several pairs, all widths."""

from pathlib import Path

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"QUEUES": 16},
        soak({"QUEUES": 1, "DATA_W": 128, "FIRST": 5}),
        {"QUEUES": 9, "PAIRS": 3, "DATA_W": 256, "ELEMENTS": 16, "IDS": 2},
        {"QUEUES": 40, "DATA_W": 64, "IDS": 8, "ELEMENTS": 64},
    ],
    ids=str,
)
def test_virtq_used(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "virtq_used_on_bus",
        "bench_virtq_used",
        folder="host",
        sources=[*simulation.rtl("pkg", "memory", "stream", "host"), Path(__file__).parent / "virtq_used_on_bus.sv"],
        **parameters,
    )
