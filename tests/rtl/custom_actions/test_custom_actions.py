"""Custom actions, of streams of all widths."""

import pytest
import simulation
from soak import soak

BLOCKS = (
    *("switch_pkg", "custom_pkg", "payload_finder", "fir_filter", "payload_crc", "checksum_delta", "patch_maker"),
    *("custom_patch", "custom_actions"),
)
SOURCES = [
    *simulation.rtl("pkg", "memory", "stream"),
    *(simulation.RTL / "switch" / f"{name}.sv" for name in BLOCKS),
]


@pytest.mark.parametrize("width", [128, soak(256), 512])
def test_custom_actions(width: int) -> None:
    simulation.simulate("custom_actions", sources=SOURCES, DATA_W=width, USER_W=8, STORE_KB=8)
