import pytest
from simulation import simulate
from soak import soak


@pytest.mark.parametrize(
    ("inputs", "data_w", "user_w", "round_robin"),
    [
        (1, 8, 1, 1),
        (2, 64, 33, 1),
        soak(4, 64, 1, 1),
        (5, 16, 2, 1),
        (8, 512, 33, 1),
        soak(1, 8, 1, 0),
        (3, 64, 1, 0),
        (4, 8, 210, 0),
    ],
)
def test_stream_arbiter(inputs: int, data_w: int, user_w: int, round_robin: int) -> None:
    simulate("stream_arbiter", INPUTS=inputs, DATA_W=data_w, USER_W=user_w, ROUND_ROBIN=round_robin)
