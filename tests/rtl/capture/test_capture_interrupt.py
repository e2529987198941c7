"""capture_interrupt, which has no parameters."""

from capture.building import simulate


def test_capture_interrupt() -> None:
    simulate("capture_interrupt", "bench_capture_interrupt")
