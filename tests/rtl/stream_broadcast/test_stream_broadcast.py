import pytest
from simulation import simulate


@pytest.mark.parametrize(("width", "outputs"), [(8, 1), (32, 2), (577, 3), (1, 5)])
def test_stream_broadcast(width: int, outputs: int) -> None:
    simulate("stream_broadcast", WIDTH=width, OUTPUTS=outputs)
