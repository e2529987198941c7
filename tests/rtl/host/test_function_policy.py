"""What functions may send and are to receive: all widths, one function and many, pairs of queues."""

import pytest
import simulation
from soak import soak

FOLDER = simulation.RTL / "host"
PARTS = ("ram_through", "queue_owner", "policy_counters", "policy_stream", "function_policy")
SOURCES = [
    *(path for path in simulation.rtl("pkg", "memory", "stream") if path.stem.endswith("_pkg")),
    FOLDER / "host_pkg.sv",
    *(path for path in simulation.rtl("memory", "stream")),
    *(FOLDER / f"{part}.sv" for part in PARTS),
]


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 512, "FUNCTIONS": 16},
        {"DATA_W": 128, "FUNCTIONS": 5, "PAIRS": 3},
        soak({"DATA_W": 256, "FUNCTIONS": 1}),
    ],
    ids=str,
)
def test_function_policy(parameters: dict[str, int]) -> None:
    simulation.simulate("function_policy", folder="host", sources=SOURCES, **parameters)
