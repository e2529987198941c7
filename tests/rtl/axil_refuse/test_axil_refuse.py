"""axil_refuse has no parameters."""

from pathlib import Path

from simulation import rtl, simulate


def test_axil_refuse() -> None:
    sources = [*rtl("pkg", "memory"), Path(__file__).with_name("axil_refuse_flat.sv")]
    simulate("axil_refuse_flat", "bench_axil_refuse", folder="axil_refuse", sources=sources)
