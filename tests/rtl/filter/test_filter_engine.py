"""filter_engine with two cores, as wide as the card or as narrow as can be, and with one that just holds two frames."""

import pytest
from filter.building import simulate
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 512, "CORES": 2},
        {"DATA_W": 128, "CORES": 2, "PACKET_KB": 16, "MAX_FRAME": 1518},
        soak({"DATA_W": 1024, "CORES": 1, "MAX_FRAME": 16384}),
    ],
)
def test_filter_engine(parameters: dict[str, int]) -> None:
    simulate("filter_engine_loaded", "bench_filter_engine", **parameters)
