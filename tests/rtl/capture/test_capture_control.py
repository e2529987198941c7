"""capture_control inside capture_avalon, where its outputs can be seen."""

from capture.building import simulate


def test_capture_control() -> None:
    simulate("capture_avalon", "bench_capture_control", with_registers=True, MEM_W=32)
