"""Copies on their ways, of all widths."""

import pytest
import simulation
from soak import soak

FOLDER = simulation.RTL / "switch"
SOURCES = [
    *simulation.rtl("pkg", "memory", "stream"),
    FOLDER / "switch_pkg.sv",
    FOLDER / "egress_split.sv",
]


@pytest.mark.parametrize("width", [128, soak(256), 512])
def test_egress_split(width: int) -> None:
    simulation.simulate("egress_split", sources=SOURCES, DATA_W=width)
