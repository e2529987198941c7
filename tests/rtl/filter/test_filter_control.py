"""filter_control as the card has it, and with other parameters."""

import pytest
from filter.building import simulate


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 512, "CORES": 8, "IMEM_WORDS": 1024, "MAX_FRAME": 9216},
        {"DATA_W": 128, "CORES": 1, "IMEM_WORDS": 32768, "MAX_FRAME": 65535},
    ],
)
def test_filter_control(parameters: dict[str, int]) -> None:
    simulate("filter_control_fields", "bench_filter_control", with_registers=True, **parameters)
