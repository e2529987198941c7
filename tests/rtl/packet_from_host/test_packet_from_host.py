"""Packets from the host, of all widths."""

import pytest
import simulation
from soak import soak

FOLDER = simulation.RTL / "switch"
SOURCES = [
    *simulation.rtl("pkg", "memory", "stream"),
    FOLDER / "switch_pkg.sv",
    FOLDER / "packet_from_host.sv",
]


@pytest.mark.parametrize("width", [128, soak(256), 512])
def test_packet_from_host(width: int) -> None:
    simulation.simulate("packet_from_host", sources=SOURCES, DATA_W=width, STORE_KB=2)
