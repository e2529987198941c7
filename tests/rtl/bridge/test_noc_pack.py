"""noc_pack and noc_unpack, back to back and each for itself."""

import pytest
from bridge.building import simulate
from soak import soak

PARAMETERS = [
    {"DATA_W": 32, "MAX_PACKET": 59},
    soak({"DATA_W": 64, "MAX_PACKET": 1514}),
    {"DATA_W": 128, "MAX_PACKET": 64},
    {"DATA_W": 512, "MAX_PACKET": 130},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_noc_unpack(parameters: dict[str, int]) -> None:
    simulate("noc_unpack", **parameters)


@pytest.mark.parametrize("width", [32, soak(64), 128, 512])
def test_noc_pack(width: int) -> None:
    simulate("noc_pack", DATA_W=width)
