"""measure_counters."""

from filter.building import simulate


def test_measure_counters() -> None:
    simulate("measure_counters", "bench_measure_counters")
