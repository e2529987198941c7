"""capture_engine: every bus width and burst length at its corners, with the smallest and with usual buffers."""

import pytest
from capture.building import simulate
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        soak({"MEM_W": 32, "BURST": 16, "SLOTS": 8, "READ_BUFFER": 64, "RECORDS": 32}),
        {"MEM_W": 32, "BURST": 1, "SLOTS": 4, "READ_BUFFER": 4, "RECORDS": 4},
        {"MEM_W": 64, "BURST": 256, "SLOTS": 64, "READ_BUFFER": 256, "RECORDS": 16},
        soak({"MEM_W": 128, "BURST": 4, "SLOTS": 16, "READ_BUFFER": 32, "RECORDS": 64}),
        {"MEM_W": 512, "BURST": 16, "SLOTS": 32, "READ_BUFFER": 128, "RECORDS": 64},
        soak({"MEM_W": 512, "BURST": 256, "SLOTS": 8, "READ_BUFFER": 64, "RECORDS": 256}),
    ],
    ids=str,
)
def test_capture_engine(parameters: dict[str, int]) -> None:
    simulate("capture_engine", "bench_capture_engine", **parameters)


@pytest.mark.parametrize("parameters", [{"MEM_W": 64, "BURST": 16}, soak({"MEM_W": 512, "BURST": 16})], ids=str)
def test_capture_engine_with_filters(parameters: dict[str, int]) -> None:
    simulate("capture_engine", "bench_capture_engine_filtered", FILTERED=1, READ_BUFFER=32, **parameters)
