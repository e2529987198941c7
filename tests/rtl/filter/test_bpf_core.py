"""The core as it stands in the card, in the narrowest one and in the widest, there with the longest frames."""

import pytest
from filter.building import simulate
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 512, "PACKET_KB": 32, "IMEM_WORDS": 1024, "MAX_FRAME": 9216},
        {"DATA_W": 128, "PACKET_KB": 16, "IMEM_WORDS": 512, "MAX_FRAME": 1518},
        soak({"DATA_W": 1024, "PACKET_KB": 256, "IMEM_WORDS": 4096, "MAX_FRAME": 65600}),
    ],
)
def test_bpf_core(parameters: dict[str, int]) -> None:
    simulate("bpf_core_loaded", "bench_bpf_core", **parameters)
