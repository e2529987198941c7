"""filter_order."""

import pytest
from filter.building import simulate


@pytest.mark.parametrize("cores", [1, 3])
def test_filter_order(cores: int) -> None:
    simulate("filter_order_numbered", "bench_filter_order", CORES=cores)
