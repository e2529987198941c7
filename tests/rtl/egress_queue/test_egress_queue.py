"""A port's output queue, of all widths."""

import pytest
import simulation

FOLDER = simulation.RTL / "switch"
SOURCES = [
    *simulation.rtl("pkg", "memory", "stream"),
    FOLDER / "switch_pkg.sv",
    FOLDER / "byte_counter.sv",
    FOLDER / "egress_queue.sv",
]


@pytest.mark.parametrize("width", [128, 512])
def test_egress_queue(width: int) -> None:
    simulation.simulate("egress_queue", sources=SOURCES, DATA_W=width, QUEUE_KB=2, PORT=7)
