"""bpf_decode."""

from filter.building import simulate


def test_bpf_decode() -> None:
    simulate("bpf_decode_fields", "bench_bpf_decode")
