"""record_time, which has no parameters."""

from capture.building import simulate


def test_record_time() -> None:
    simulate("record_time", "bench_record_time")
