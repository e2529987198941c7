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


@pytest.mark.parametrize(
    ("block", "parameters"),
    [
        ("noc", {"DATA_W": 48}),
        ("noc", {"DATA_W": 16}),
        ("noc", {"SWITCHES": 0}),
        ("noc", {"SWITCHES": 17}),
        ("noc_pack", {"DATA_W": 1024}),
        ("noc_unpack", {"DATA_W": 16}),
        ("noc_unpack", {"MAX_PACKET": 0}),
        ("noc_unpack", {"MAX_PACKET": 65536}),
        ("idp_table", {"ENTRIES": 0}),
        ("idp_table", {"ENTRIES": 9}),
        ("ethernet_block", {"DATA_W": 96}),
        ("ethernet_block", {"STORE_KB": 48}),
        ("ethernet_block", {"STORE_KB": 2}),
        ("functional_block", {"KIND": 2}),
        ("functional_block", {"STORE_KB": 1}),
        ("functional_block", {"STORE_KB": 12}),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_with_a_reason(block: str, parameters: dict[str, int]) -> None:
    message = lint(block, **parameters)
    assert "USERFATAL" in message and all(name in message for name in parameters), message
