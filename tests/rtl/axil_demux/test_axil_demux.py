"""axil_demux, with the boundary in the middle and where the capture card has it."""

import pytest
from simulation import simulate


@pytest.mark.parametrize("boundary", [0x8000, 0xF000])
def test_axil_demux(boundary: int) -> None:
    simulate("axil_demux", BOUNDARY=boundary)
