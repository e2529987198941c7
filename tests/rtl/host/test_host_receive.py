"""host_receive: all widths, one queue and three, more queues than IDs, long frames."""

from pathlib import Path

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"QUEUES": 16},
        soak({"QUEUES": 1, "DATA_W": 128, "FIRST": 5}),
        {"QUEUES": 3, "PAIRS": 3, "DATA_W": 256, "STORE_KB": 256, "MAX_FRAME": 65600},
        {"QUEUES": 132, "PAIRS": 2, "DATA_W": 128, "STORE_KB": 32, "MAX_FRAME": 2000},
    ],
    ids=str,
)
def test_host_receive(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "host_receive_on_bus",
        "bench_host_receive",
        folder="host",
        sources=[*simulation.rtl("pkg", "memory", "stream", "host"), Path(__file__).parent / "host_receive_on_bus.sv"],
        **parameters,
    )
