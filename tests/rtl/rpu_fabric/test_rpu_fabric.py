"""The fabric with few units and narrow, and at full rate with all units and wide."""

from rpu_fabric.building import simulate


def test_rpu_fabric() -> None:
    simulate("rpu_fabric", UNITS=3, DATA_W=128, STORE_KB=4, SLOTS=16, FUNCTIONS=5)


def test_rates() -> None:
    simulate("rpu_fabric", "bench_rpu_fabric_rates", UNITS=16)
