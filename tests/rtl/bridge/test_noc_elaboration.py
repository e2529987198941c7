"""What Verilator says of the network on chip and its blocks before anything runs: lint, refused parameters."""

import shutil
import subprocess

import pytest
from simulation import RTL

BLOCKS = (
    "noc",
    "noc_switch",
    "noc_unpack",
    "noc_pack",
    "noc_route",
    "idp_table",
    "ethernet_block",
    "functional_block",
)


def lint(block: str, **parameters: int) -> str:
    """What Verilator has to say about `block` with `parameters`, with all warnings on; nothing if it is content."""
    verilator = shutil.which("verilator")
    assert verilator
    # A package has more than any one block needs.
    command = [verilator, "--lint-only", "-Wall", "-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM"]
    command += ["-Wno-PINCONNECTEMPTY", "--timescale", "1ns/1ps"]
    command += ["--top-module", block, *(f"-I{RTL / layer}" for layer in ("bridge", "stream", "memory"))]
    command += [f"-G{name}={value}" for name, value in parameters.items()]
    sources = (RTL / "pkg" / "headrace_pkg.sv", RTL / "bridge" / "bridge_pkg.sv", RTL / "bridge" / f"{block}.sv")
    run = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


@pytest.mark.parametrize("width", [32, 512])
@pytest.mark.parametrize("block", BLOCKS)
def test_lint_is_clean(block: str, width: int) -> None:
    assert not lint(block, **({} if block == "idp_table" else {"DATA_W": width}))


@pytest.mark.parametrize("switches", [1, 3, 16])
def test_lines_of_any_length_are_clean(switches: int) -> None:
    assert not lint("noc", SWITCHES=switches)
