"""Builds blocks of the filter engine, or the modules of this folder around them, and runs cocotb benches on them."""

from pathlib import Path

import simulation

HERE = Path(__file__).parent
LAYERS = ("pkg", "memory", "stream", "filter")


def sources() -> list[Path]:
    """The RTL of the filter engine and what lies below it, packages first, and the modules of this folder.

    The block RAM is the strict one of this folder: noise is read from an address that is being written.
    """
    absent = {"filter_control", "ram_sdp"}  # the first needs generated registers
    return [path for path in [*simulation.rtl(*LAYERS), *sorted(HERE.glob("*.sv"))] if path.stem not in absent]


def simulate(block: str, bench: str, **parameters: int) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` on it."""
    simulation.simulate(block, bench, folder="filter", sources=sources(), build_args=["-O3"], **parameters)
