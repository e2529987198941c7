"""stream_elastic: in front of a card and behind it, narrow with a shallow store and wide."""

import pytest
from simulation import simulate


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 64, "DEPTH": 128, "DROP_WHEN_FULL": 1},
        {"DATA_W": 64, "DEPTH": 128, "DROP_WHEN_FULL": 0},
        {"DATA_W": 512, "DEPTH": 64, "DROP_WHEN_FULL": 1},
    ],
    ids=str,
)
def test_stream_elastic(parameters: dict[str, int]) -> None:
    simulate("stream_elastic", **parameters)
