"""noc with lines of one to four switches, some blocks of which take no packets."""

import pytest
from bridge.building import simulate
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 64, "SWITCHES": 2, "SINKS": 0xF7},
        soak({"DATA_W": 32, "SWITCHES": 4, "SINKS": 0x1FF7}),
        {"DATA_W": 512, "SWITCHES": 3, "SINKS": 0xFFF},
        {"DATA_W": 128, "SWITCHES": 1, "SINKS": 0xB, "SOFTWARE": 0},
    ],
    ids=str,
)
def test_noc(parameters: dict[str, int]) -> None:
    simulate("noc", "noc_switch", **parameters)
