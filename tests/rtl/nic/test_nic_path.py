"""A direction of the NIC: all widths, one function and many, queue pairs."""

import pytest
import simulation

SWITCH, RPU = simulation.RTL / "switch", simulation.RTL / "rpu"
SOURCES = [
    *simulation.rtl("pkg", "memory", "stream"),
    *(RPU / f"{name}.sv" for name in ("rpu_fabric_pkg", "rpu_flow_key", "rpu_toeplitz")),
    *(SWITCH / f"{name}.sv" for name in ("table_pkg", "key_equal", "exact_hash", "exact_table")),
    *(
        simulation.RTL / "nic" / f"{name}.sv"
        for name in ("nic_pkg", "nic_lookup", "nic_copies", "nic_store", "nic_path")
    ),
]


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 512, "FUNCTIONS": 16, "PAIRS": 8, "DEPTH": 32},
        {"DATA_W": 128, "FUNCTIONS": 5, "PAIRS": 3, "STATIONS": 16, "DEPTH": 64},
        {"DATA_W": 256, "FUNCTIONS": 2, "PAIRS": 1, "STATIONS": 4096, "DEPTH": 256},
    ],
    ids=str,
)
def test_nic_path(parameters: dict[str, int]) -> None:
    simulation.simulate("nic_path", folder="nic", sources=SOURCES, **parameters)
