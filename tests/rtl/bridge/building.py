"""Builds blocks of the bridge and runs cocotb benches on them."""

import simulation


def simulate(block: str, *needs: str, bench: str | None = None, **parameters: int) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` (default bench_<block>) on it.

    needs  other modules of rtl/bridge that it contains
    """
    files = simulation.rtl("pkg", "memory", "stream")
    folder = simulation.RTL / "bridge"
    sources = [folder / "bridge_pkg.sv", *files, *(folder / f"{name}.sv" for name in (*needs, block))]
    packages = [path for path in sources if path.stem.endswith("_pkg")]
    simulation.simulate(
        block,
        bench,
        folder="bridge",
        sources=[*packages, *(path for path in sources if path not in packages)],
        build_args=["-O3"],
        **parameters,
    )
