"""filter_dispatch with one core (one half stays empty), with halves of the same and of different size."""

import pytest
from filter.building import simulate
from soak import soak


@pytest.mark.parametrize("cores", [1, soak(2), soak(3), soak(8), 9])
def test_filter_dispatch(cores: int) -> None:
    simulate("filter_dispatch_driven", "bench_filter_dispatch", CORES=cores)
