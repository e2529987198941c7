"""S2H: at every width it is made for, with room for little more than a packet and for many buffers."""

import pytest
from bridge.building import simulate
from soak import soak

NEEDS = ("word_buffer", "s2h_fetch", "s2h_send")
SMALLEST = {"DATA_W": 32, "BUFFER_KB": 2, "BURST": 4, "HOST_BUFFERS": 2}
USUAL = {"DATA_W": 64, "BUFFER_KB": 16}
SHORT = {"DATA_W": 128, "BUFFER_KB": 16, "MAX_PACKET": 300, "BURST": 256, "HOST_BUFFERS": 4}
SEED = {"DATA_W": 32, "BUFFER_KB": 64}  # as EmbedNet's
WIDEST = {"DATA_W": 512, "BUFFER_KB": 64, "BURST": 64}


@pytest.mark.parametrize("parameters", [SMALLEST, USUAL, soak(SHORT), soak(SEED), WIDEST], ids=str)
def test_s2h(parameters: dict[str, int]) -> None:
    simulate("s2h", *NEEDS, **parameters)
