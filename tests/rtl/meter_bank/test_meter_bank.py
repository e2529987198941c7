"""A bank of meters."""

import simulation

FOLDER = simulation.RTL / "switch"
SOURCES = [
    FOLDER / "switch_pkg.sv",
    *simulation.rtl("pkg", "memory", "stream"),
    FOLDER / "counter_bank.sv",
    FOLDER / "meter_bank.sv",
]


def test_meter_bank() -> None:
    simulation.simulate("meter_bank", sources=SOURCES, METERS=16)
