"""receive_sum: all widths."""

import pytest
import simulation
from soak import soak

FOLDER = simulation.RTL / "host"
PARTS = ("offload_pkg", "ip_view", "ip_heads", "lanes_below", "word_sum", "receive_sum")
SOURCES = [*simulation.rtl("pkg", "memory", "stream"), *(FOLDER / f"{part}.sv" for part in PARTS)]


@pytest.mark.parametrize("parameters", [{"DATA_W": 512}, soak({"DATA_W": 256, "QUEUES": 1}), {"DATA_W": 128}], ids=str)
def test_receive_sum(parameters: dict[str, int]) -> None:
    simulation.simulate("receive_sum", folder="host", sources=SOURCES, **parameters)
