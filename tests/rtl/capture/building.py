"""Builds blocks of the capture engine, or the modules of this folder around them, and runs cocotb benches on them."""

from functools import cache
from pathlib import Path

import simulation

from headrace.registers.compile import generate_rtl

HERE = Path(__file__).parent
LAYERS = ("pkg", "memory", "stream", "capture")


@cache
def registers() -> list[Path]:
    """The generated registers of the capture engine, the package first."""
    files = generate_rtl(simulation.ROOT / "regs" / "capture.rdl", simulation.BUILD / "capture_regs")
    return [path for path in files if path.suffix == ".sv"]


def simulate(block: str, bench: str, *, with_registers: bool = False, **parameters: int) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` on it.

    with_registers  the block contains capture_control: its generated registers are built in
    """
    needed = simulation.rtl(*LAYERS)
    if not with_registers:
        needed = [path for path in needed if path.stem not in ("capture_control", "capture_avalon")]
    packages = [path for path in needed if path.stem.endswith("_pkg")]
    others = [path for path in needed if path not in packages]
    generated = registers() if with_registers else []
    simulation.simulate(
        block,
        bench,
        folder="capture",
        sources=[*packages, *generated, *others, *sorted(HERE.glob("*.sv"))],
        build_args=["-O3"],
        **parameters,
    )
