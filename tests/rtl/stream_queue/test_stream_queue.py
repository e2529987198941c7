"""The smallest queue, a small one and one as wide as a bus."""

import pytest
from simulation import simulate


@pytest.mark.parametrize(("width", "depth"), [(1, 2), (8, 4), (577, 32)])
def test_stream_queue(width: int, depth: int) -> None:
    simulate("stream_queue", WIDTH=width, DEPTH=depth)
