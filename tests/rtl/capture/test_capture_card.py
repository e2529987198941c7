"""capture_card without filters: a port narrower than the bus, as wide, and wider."""

import pytest
import simulation
from capture.building import LAYERS

from headrace.registers.compile import generate_rtl


@pytest.mark.parametrize(("data_w", "mem_w"), [(32, 64), (64, 64), (64, 32)])
def test_capture_card(data_w: int, mem_w: int) -> None:
    generated = generate_rtl(simulation.ROOT / "regs" / "capture_card.rdl", simulation.BUILD / "capture_card_regs")
    cards = [path for path in simulation.rtl("card") if path.stem.startswith("capture")]
    filters = [path for path in simulation.rtl("filter") if path.stem.endswith("_pkg")]
    files = [*simulation.rtl(*LAYERS), *filters, *(path for path in generated if path.suffix == ".sv")]
    packages = [path for path in files if path.stem.endswith("_pkg")]
    simulation.simulate(
        "capture_card",
        "bench_capture_card",
        folder="capture",
        sources=[*packages, *(path for path in [*files, *cards] if path not in packages)],
        build_args=["-O3"],
        DATA_W=data_w,
        MEM_W=mem_w,
        READ_BUFFER=64,
        STORE_KB=16,
    )
