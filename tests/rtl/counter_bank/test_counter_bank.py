"""A bank of counters."""

import simulation

FOLDER = simulation.RTL / "switch"
SOURCES = [FOLDER / "switch_pkg.sv", *simulation.rtl("pkg", "memory"), FOLDER / "counter_bank.sv"]


def test_counter_bank() -> None:
    simulation.simulate("counter_bank", sources=SOURCES, COUNTERS=16)
