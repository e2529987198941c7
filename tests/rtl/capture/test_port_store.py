"""port_store: small ones that fill up, and one of the usual size."""

import pytest
from capture.building import simulate
from soak import soak


@pytest.mark.parametrize(
    "parameters",
    [{"DATA_W": 64, "STORE_KB": 1}, {"DATA_W": 512, "STORE_KB": 64}, soak({"DATA_W": 512, "STORE_KB": 128})],
    ids=str,
)
def test_port_store(parameters: dict[str, int]) -> None:
    simulate("port_store", "bench_port_store", **parameters)
