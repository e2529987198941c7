"""filter_monitor with one core and the narrowest rows, and with three and those of the card."""

import pytest
from filter.building import simulate


@pytest.mark.parametrize("parameters", [{"DATA_W": 128, "CORES": 1}, {"DATA_W": 512, "CORES": 3}])
def test_filter_monitor(parameters: dict[str, int]) -> None:
    simulate("filter_monitor_fed", "bench_filter_monitor", **parameters)
