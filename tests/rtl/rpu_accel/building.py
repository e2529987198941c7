"""Builds the accelerators of the RPU card, and says what they promise to all benches alike."""

from pathlib import Path

import simulation

FOLDER = simulation.RTL / "rpu" / "accel"
_PACKAGES = (simulation.RTL / "rpu" / "rpu_pkg.sv", FOLDER / "matcher_pkg.sv")


def sources() -> list[Path]:
    """The RTL files that an accelerator may need, the package first."""
    unit = [simulation.RTL / "rpu" / f"{name}.sv" for name in ("rpu_accelerator", "rpu_decoupler")]
    return [
        *_PACKAGES,
        *simulation.rtl("memory", "stream"),
        *unit,
        *(path for path in sorted(FOLDER.glob("*.sv")) if path not in _PACKAGES),
    ]


def simulate(block: str, bench: str | None = None, **parameters: int) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` (default bench_<block>) on it."""
    simulation.simulate(block, bench, folder="rpu_accel", sources=sources(), build_args=["-O3"], **parameters)
