"""host_pcie and pcie_ultrascale on a machine: the whole way from a driver to the function engine and back."""

from pathlib import Path

import simulation

from headrace.registers.compile import generate_rtl


def test_host_ultrascale() -> None:
    folder = simulation.BUILD / "host_regs"
    folder.mkdir(parents=True, exist_ok=True)
    registers = generate_rtl(simulation.ROOT / "regs" / "host.rdl", folder)
    files = [
        *(path for path in registers if path.suffix == ".sv"),
        *simulation.rtl("pkg", "memory", "stream", "host", "pcie"),
        Path(__file__).parent / "host_on_ultrascale.sv",
    ]
    simulation.simulate("host_on_ultrascale", "bench_host_ultrascale", folder="pcie", sources=files)
