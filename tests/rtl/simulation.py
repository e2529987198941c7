"""Runs a block's cocotb bench, on a program of its own for each set of parameters, and lints blocks.

A run repeats in each bit, so one that passed is not made again while neither its program nor its Python, seed and
packages have changed; `--fresh` makes all. What runs say lands in build/rtl/<block>/<parameters>.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kept import packages
from reads import closure

from headrace import cache
from headrace.build import toolchain
from headrace.build.processor import vexriscv
from headrace.synth.sources import needed
from headrace.testing import simulation

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "rtl"
REGISTERS = ROOT / "regs"
BUILD = ROOT / "build" / "rtl"
LAYERS = (
    "pkg",
    "memory",
    "stream",
    "capture",
    "filter",
    "bridge",
    "rpu",
    "rpu/accel",
    "switch",
    "host",
    "pcie",
    "nic",
    "link",
    "card",
)

LOOSE = ("bridge", "rpu/accel")

kept: list[str] = []  # benches that passed before and weren't run again, since the last one who cleared it


def rtl(*layers: str) -> list[Path]:
    """The RTL files of the named layers, packages first."""
    files = [path for layer in layers for path in sorted((RTL / layer).glob("*.sv"))]
    return sorted(files, key=lambda path: not path.stem.endswith("_pkg"))


def lint(block: str, files: Sequence[Path] = (), **parameters: int) -> str:
    """What Verilator has to say about `block` with `parameters` and all warnings on; nothing if it is content.

    `files` are further ones, registers that were generated and what uses them: as with cards, they may have signals
    that nobody uses. So may blocks of LOOSE, through which structures travel whole.
    """
    program = shutil.which("verilator")
    assert program
    source = next(path for path in rtl(*LAYERS) if path.stem == block)
    cache.note_reads(needed(block, [*rtl(*LAYERS), *files]))
    text = source.read_text()
    layer = source.relative_to(RTL).parts[0]
    loose = ["-Wno-UNUSEDSIGNAL"] if files or str(source.parent.relative_to(RTL)) in LOOSE else []
    engine = layer not in ("memory", "stream")  # whose parts may use any package of theirs, and cards all
    packages = [
        path
        for path in rtl(*LAYERS)
        if path.stem.endswith("_pkg")
        and (path.stem in text or (engine and (layer == "card" or path.relative_to(RTL).parts[0] in ("pkg", layer))))
    ]
    command = [
        program,
        "--lint-only",
        "-Wall",
        "-Wno-PINCONNECTEMPTY",
        "-Wno-SYMRSVDWORD",  # an interrupt is called so
        *(["-Wno-UNUSEDPARAM"] if engine else []),  # packages have more than any one block needs
        *loose,
        "--timescale",
        "1ns/1ps",
        "--top-module",
        block,
        *(f"-I{RTL / layer}" for layer in LAYERS),
        *(f"-G{name}={value}" for name, value in parameters.items()),
        *map(str, dict.fromkeys([*packages, *files])),
        *([str(RTL / "rpu" / "vexriscv.vlt"), str(vexriscv())] if "VexRiscv" in text else []),
        str(source),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


def simulate(
    block: str,
    bench: str | None = None,
    *,
    folder: str | None = None,
    sources: Sequence[Path] | None = None,
    build_args: Sequence[str] = (),
    data: Sequence[Path] = (),
    **parameters: int,
) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` on it.

    bench       name of a module without .py; default bench_<block>
    folder      of tests/rtl where the bench lies; default: the one named after the block
    sources     RTL files that the block needs, packages first; default: the stream layer and what lies below it
    build_args  more options for Verilator
    data        files that the bench reads beside RTL and Python

    The bench reads parameters from its handle (dut.WIDTH.value). Random numbers repeat: see COCOTB_RANDOM_SEED.
    Raises AssertionError when a cocotb test fails, RuntimeError when the simulation ends before, HeadraceError when
    the build fails.
    """
    bench = bench or f"bench_{block}"
    name = "-".join(f"{key.lower()}{value}" for key, value in parameters.items()) or "default"
    files = needed(block, sources or rtl("pkg", "memory", "stream"))
    program = simulation.build(block, files, parameters, build_args)
    passed = program.parent / f"passed-{_run_key(folder or block, bench, data)}"
    if passed.exists() and "HEADRACE_FRESH" not in os.environ:
        kept.append(name)
        return
    simulation.run(program, f"{folder or block}.{bench}", BUILD / block / name)
    passed.touch()


def _run_key(folder: str, bench: str, data: Sequence[Path]) -> str:
    """Of all that a run depends on beside its program."""
    read = [*sorted(closure([ROOT / "tests" / "rtl" / folder / f"{bench}.py"])), *sorted(REGISTERS.glob("*.rdl"))]
    chosen = sorted(item for item in os.environ.items() if item[0].startswith(("COCOTB_", "HEADRACE_SOAK")))
    settings = (simulation.seed(), chosen, simulation.RUN_ARGS, packages())
    return toolchain.digest(*settings, *toolchain.contents([*read, *data]))
