import pytest
from simulation import simulate


@pytest.mark.parametrize(("width", "depth", "stages"), [(8, 4, 2), (577, 16, 2), (33, 32, 3)])
def test_stream_cdc_fifo(width: int, depth: int, stages: int) -> None:
    simulate("stream_cdc_fifo", WIDTH=width, DEPTH=depth, SYNC_STAGES=stages)
