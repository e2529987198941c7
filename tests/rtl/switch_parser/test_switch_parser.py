"""The switch's parser, of all widths, full and narrow."""

import pytest
import simulation
from soak import soak

FOLDER = simulation.RTL / "switch"
SOURCES = [
    FOLDER / "switch_pkg.sv",
    *simulation.rtl("pkg", "memory", "stream"),
    *(FOLDER / f"switch_{part}.sv" for part in ("headers", "parser")),
]


@pytest.mark.parametrize(("width", "narrow"), [(128, 0), (256, 1), (512, 0), soak(512, 1)])
def test_switch_parser(width: int, narrow: int) -> None:
    simulation.simulate("switch_parser", sources=SOURCES, DATA_W=width, NARROW=narrow)
