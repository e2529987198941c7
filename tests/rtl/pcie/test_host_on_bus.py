"""host_pcie and a shim on a machine: the whole way from a driver to the function engine and back."""

from pathlib import Path

import pytest
import simulation

from headrace.registers.compile import generate_rtl


@pytest.mark.parametrize("top", ["host_on_ultrascale", "host_on_stratix10"])
def test_host_on_bus(top: str, tmp_path: Path) -> None:
    registers = generate_rtl(simulation.ROOT / "regs" / "host.rdl", tmp_path)
    files = [
        *(path for path in registers if path.suffix == ".sv"),
        *simulation.rtl("pkg", "memory", "stream", "host", "pcie"),
        Path(__file__).parent / f"{top}.sv",
    ]
    simulation.simulate(top, "bench_host_on_bus", folder="pcie", sources=files)
