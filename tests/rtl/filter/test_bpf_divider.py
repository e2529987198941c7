"""bpf_divider."""

from filter.building import simulate


def test_bpf_divider() -> None:
    simulate("bpf_divider", "bench_bpf_divider")
