"""Builds blocks of the RPU card's fabric and runs cocotb benches on them."""

import simulation

BLOCKS = (
    "rpu_toeplitz",
    "rpu_flow_key",
    "rpu_broadcast",
    "rpu_flow_target",
    "rpu_ingress",
    "rpu_slot_book",
    "rpu_policy",
    "rpu_source_head",
    "rpu_parking",
    "rpu_unit_feed",
    "rpu_from_units",
    "rpu_port_tx",
    "rpu_fabric",
)


def simulate(block: str, bench: str | None = None, **parameters: int) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` (default bench_<block>) on it."""
    folder = simulation.RTL / "rpu"
    packages = [folder / "rpu_pkg.sv", folder / "rpu_fabric_pkg.sv"]
    simulation.simulate(
        block,
        bench,
        folder="rpu_fabric",
        sources=[
            *packages,
            *simulation.rtl("pkg", "memory", "stream"),
            *(folder / f"{name}.sv" for name in BLOCKS[: BLOCKS.index(block) + 1]),
        ],
        build_args=["-O3"],
        **parameters,
    )
