"""host_bus: managers with IDs like the function engine's at its widths, three of which one has 192,
and two with all IDs there are."""

from pathlib import Path

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"MANAGERS": 7, "MEM_W": 128},
        soak({"MANAGERS": 7, "MEM_W": 512}),
        {"MANAGERS": 3, "MEM_W": 128},
        {"MANAGERS": 2, "MEM_W": 64},
    ],
    ids=str,
)
def test_host_bus(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "host_bus_flat",
        "bench_host_bus",
        folder="host",
        sources=[*simulation.rtl("pkg", "memory", "stream", "host"), Path(__file__).parent / "host_bus_flat.sv"],
        **parameters,
    )
