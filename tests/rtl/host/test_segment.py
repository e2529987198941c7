"""segment: all widths, long frames and short ones."""

import pytest
import simulation
from soak import soak

FOLDER = simulation.RTL / "host"
PARTS = ("offload_pkg", "ip_view", "ip_heads", "lanes_below", "word_sum", "segment_cut", "segment_emit", "segment")
SOURCES = [*simulation.rtl("pkg", "memory", "stream"), *(FOLDER / f"{part}.sv" for part in PARTS)]


@pytest.mark.parametrize(
    "parameters", [{"DATA_W": 512}, soak({"DATA_W": 256, "QUEUES": 1, "MAX_FRAME": 1600}), {"DATA_W": 128}], ids=str
)
def test_segment(parameters: dict[str, int]) -> None:
    simulation.simulate("segment", folder="host", sources=SOURCES, **parameters)
