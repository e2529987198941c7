"""Builds blocks of the filter engine, or the modules of this folder around them, and runs cocotb benches on them."""

from functools import cache
from pathlib import Path

import simulation

from headrace.registers.compile import generate_rtl

HERE = Path(__file__).parent
LAYERS = ("pkg", "memory", "stream", "filter")
NEED_REGISTERS = ("filter_control", "filter_control_fields")


@cache
def registers() -> list[Path]:
    """The generated registers of the filter card, the package first."""
    files = generate_rtl(simulation.ROOT / "regs" / "filter.rdl", simulation.BUILD / "filter_regs")
    return [path for path in files if path.suffix == ".sv"]


def sources() -> list[Path]:
    """The RTL of the filter engine and what lies below it, packages first, and the modules of this folder.

    The block RAM is the strict one of this folder: noise is read from an address that is being written.
    """
    platform = [path for path in simulation.rtl(*LAYERS) if path.stem != "ram_sdp"]
    return [*platform, *sorted(HERE.glob("*.sv")), HERE / "strict" / "ram_sdp.sv"]


def simulate(block: str, bench: str, *, with_registers: bool = False, **parameters: int) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` on it.

    with_registers  the block contains filter_control: its generated registers are built in
    """
    if with_registers:
        needed = [*registers(), *sources()]
    else:
        needed = [path for path in sources() if path.stem not in NEED_REGISTERS]
    simulation.simulate(block, bench, folder="filter", sources=needed, build_args=["-O3"], **parameters)
