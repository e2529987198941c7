"""virtq_fetch: all widths; 1 to 40 queues, several of a function; buffers to read and to write."""

from pathlib import Path

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 512, "QUEUES": 16},
        {"DATA_W": 256, "QUEUES": 3, "PAIRS": 2, "FIRST": 7, "WRITABLE": 1, "DEPTH": 32, "READS": 4, "BURST": 16},
        soak({"DATA_W": 128, "QUEUES": 1, "FIRST": 0}),
        {"DATA_W": 128, "QUEUES": 20, "PAIRS": 2, "WRITABLE": 1},
        soak({"DATA_W": 128, "QUEUES": 40, "PAIRS": 2, "WRITABLE": 1}),
    ],
    ids=str,
)
def test_virtq_fetch(parameters: dict[str, int]) -> None:
    parts = sorted((simulation.RTL / "host").glob("virtq_fetch*.sv"))
    packages = [simulation.RTL / "host" / "host_pkg.sv", *(part for part in parts if part.stem.endswith("_pkg"))]
    simulation.simulate(
        "virtq_fetch_on_bus",
        "bench_virtq_fetch",
        folder="host",
        sources=[
            *simulation.rtl("pkg", "memory", "stream"),
            *packages,
            *(part for part in parts if part not in packages),
            Path(__file__).parent / "virtq_fetch_on_bus.sv",
        ],
        **parameters,
    )
