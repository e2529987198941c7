"""The function engine's registers: how many queues and functions there are makes no difference to where they are."""

from pathlib import Path

import pytest
import simulation

from headrace.registers.compile import generate_rtl


@pytest.mark.parametrize("parameters", [{"FUNCTIONS": 16}, {"FUNCTIONS": 5, "PAIRS": 3}], ids=str)
def test_host_control(parameters: dict[str, int], tmp_path: Path) -> None:
    registers = generate_rtl(simulation.ROOT / "regs" / "host.rdl", tmp_path)
    sources = [
        *simulation.rtl("pkg"),
        *registers,
        *simulation.rtl("memory", "stream"),
        *(simulation.RTL / "host" / f"{name}.sv" for name in ("host_pkg", "host_control")),
    ]
    simulation.simulate("host_control", folder="host", sources=sources, **parameters)
