"""bpf_core."""

from filter.building import simulate


def test_bpf_core() -> None:
    simulate("bpf_core_loaded", "bench_bpf_core", DATA_W=512)
