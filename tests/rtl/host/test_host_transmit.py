"""The transmit side of virtual functions: all widths, one queue and many, pairs, and the least room."""

import pytest
import simulation
from soak import soak

PARTS = ("pace", "gather", "reads", "room", "assemble", "sum", "order", "verdict", "output")
FOLDER = simulation.RTL / "host"
SOURCES = [
    *(path for path in simulation.rtl("pkg", "memory", "stream") if path.stem.endswith("_pkg")),
    FOLDER / "host_pkg.sv",
    FOLDER / "offload_pkg.sv",
    FOLDER / "transmit_pkg.sv",
    *(path for path in simulation.rtl("memory", "stream")),
    FOLDER / "cell_store.sv",
    *(FOLDER / f"{part}.sv" for part in ("ip_view", "ip_heads", "lanes_below", "word_sum")),
    *(FOLDER / f"{part}.sv" for part in ("segment_cut", "segment_emit", "segment")),
    *(FOLDER / f"{part}.sv" for part in ("turn_list", "queue_owner", "ram_through")),
    *(FOLDER / f"transmit_{part}.sv" for part in PARTS),
    FOLDER / "host_transmit.sv",
    simulation.ROOT / "tests" / "rtl" / "host" / "host_transmit_on_bus.sv",
]


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 512, "QUEUES": 16},
        {"DATA_W": 128, "QUEUES": 3, "STORE_KB": 16, "JOBS": 16, "MAX_FRAME": 3000},
        soak({"DATA_W": 256, "QUEUES": 1}),
        {"DATA_W": 128, "QUEUES": 16, "PAIRS": 3, "FIRST": 7},
        soak({"DATA_W": 512, "QUEUES": 5, "STORE_KB": 256, "MAX_FRAME": 65600}),
        {"DATA_W": 512, "QUEUES": 5, "STORE_KB": 256, "SEGMENT": 1},
        soak({"DATA_W": 128, "QUEUES": 3, "PAIRS": 3, "STORE_KB": 256, "MAX_FRAME": 3000, "SEGMENT": 1}),
    ],
    ids=str,
)
def test_host_transmit(parameters: dict[str, int]) -> None:
    simulation.simulate(
        "host_transmit_on_bus", "bench_host_transmit", folder="host", sources=SOURCES, build_args=["-O3"], **parameters
    )
