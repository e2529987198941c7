"""What Verilator says of the fabric before anything runs."""

import shutil
import subprocess

import pytest
from rpu_fabric.building import BLOCKS
from simulation import RTL


def lint(block: str, **parameters: int) -> str:
    """What Verilator has to say about `block` with `parameters`, with all warnings on; nothing if it is content."""
    verilator = shutil.which("verilator")
    assert verilator
    # Packages have more than any one block needs.
    command = [verilator, "--lint-only", "-Wall", "-Wno-UNUSEDPARAM", "-Wno-PINCONNECTEMPTY", "--timescale", "1ns/1ps"]
    command += ["--top-module", block, *(f"-I{RTL / layer}" for layer in ("rpu", "stream", "memory"))]
    command += [f"-G{name}={value}" for name, value in parameters.items()]
    names = ("pkg/headrace_pkg", "rpu/rpu_pkg", "rpu/rpu_fabric_pkg", f"rpu/{block}")
    sources = (RTL / f"{name}.sv" for name in names)
    run = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


@pytest.mark.parametrize("block", BLOCKS)
def test_lint_is_clean(block: str) -> None:
    assert not lint(block)


@pytest.mark.parametrize(("units", "width"), [(1, 128), (16, 256)])
def test_all_sizes_are_clean(units: int, width: int) -> None:
    assert not lint("rpu_fabric", UNITS=units, DATA_W=width)
