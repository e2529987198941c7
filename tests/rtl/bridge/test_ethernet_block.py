"""ethernet_block at each kind of width, with small stores and one of the usual size."""

import pytest
from bridge.building import simulate
from soak import soak

PARTS = ("noc_unpack", "noc_pack", "idp_table", "noc_route", "ethernet_rx", "ethernet_tx")


@pytest.mark.parametrize(
    "parameters",
    [
        soak({"DATA_W": 32, "STORE_KB": 4, "MAX_PACKET": 1514}),
        {"DATA_W": 64, "STORE_KB": 64, "MAX_PACKET": 1514},
        {"DATA_W": 128, "STORE_KB": 2, "MAX_PACKET": 200},
        {"DATA_W": 512, "STORE_KB": 4, "MAX_PACKET": 700},
    ],
    ids=str,
)
def test_ethernet_block(parameters: dict[str, int]) -> None:
    simulate("ethernet_block", *PARTS, **parameters)
