"""What comes in by a port, of two widths."""

import pytest
import simulation

FOLDER = simulation.RTL / "switch"
SOURCES = [
    *simulation.rtl("pkg", "memory", "stream"),
    FOLDER / "switch_pkg.sv",
    FOLDER / "byte_counter.sv",
    FOLDER / "ingress_port.sv",
]


@pytest.mark.parametrize("width", [128, 512])
def test_ingress_port(width: int) -> None:
    simulation.simulate("ingress_port", sources=SOURCES, DATA_W=width, STORE_KB=2)
