import pytest
from simulation import simulate


@pytest.mark.parametrize("width", [1, 577])
def test_stream_reg(width: int) -> None:
    simulate("stream_reg", WIDTH=width)
