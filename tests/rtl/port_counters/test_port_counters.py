"""A port's counters."""

import simulation

FOLDER = simulation.RTL / "switch"


def test_port_counters() -> None:
    simulation.simulate("port_counters", sources=[FOLDER / "switch_pkg.sv", FOLDER / "port_counters.sv"])
