"""Up, down and same width; factors that are a power of two and one that is not."""

import pytest
from simulation import simulate
from soak import soak


@pytest.mark.parametrize(
    ("s_data_w", "m_data_w", "user_w"),
    [
        (64, 64, 1),
        (64, 8, 1),
        (8, 64, 1),
        (72, 24, 33),
        (24, 72, 33),
        soak(16, 8, 2),
        soak(8, 16, 2),
        soak(512, 128, 33),
        (128, 1024, 33),
    ],
)
def test_stream_width(s_data_w: int, m_data_w: int, user_w: int) -> None:
    simulate("stream_width", S_DATA_W=s_data_w, M_DATA_W=m_data_w, USER_W=user_w)
