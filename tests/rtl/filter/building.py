"""Builds blocks of the filter engine, or the modules of this folder around them, and runs cocotb benches on them."""

import hashlib
import os
import shutil
from pathlib import Path

from cocotb_tools.runner import get_runner
from simulation import BUILD, RTL, _first_failure

HERE = Path(__file__).parent
LAYERS = ("pkg", "memory", "stream", "filter")


def sources() -> list[Path]:
    """The RTL of the filter engine and what lies below it, packages first, and the modules of this folder."""
    files = [path for layer in LAYERS for path in sorted((RTL / layer).glob("*.sv"))] + sorted(HERE.glob("*.sv"))
    files = [path for path in files if path.stem != "filter_control"]  # it needs generated registers
    return sorted(files, key=lambda path: not path.stem.endswith("_pkg"))


def simulate(block: str, bench: str, **parameters: int) -> None:
    """Build `block` with `parameters` and run every cocotb test of the module `bench` on it."""
    name = "-".join(f"{key.lower()}{value}" for key, value in parameters.items()) or "default"
    build_dir = BUILD / block / name
    stamp = build_dir / "fingerprint"
    fingerprint = hashlib.sha256(b"".join(path.read_bytes() for path in sources())).hexdigest()
    runner = get_runner("verilator")
    if not stamp.exists() or stamp.read_text() != fingerprint:
        shutil.rmtree(build_dir, ignore_errors=True)
    runner.build(
        sources=sources(),
        hdl_toplevel=block,
        parameters=parameters,
        build_dir=build_dir,
        build_args=["-Wno-fatal", "-O3", "--x-assign", "fast", "--x-initial", "unique"],
        log_file=build_dir / "build.log",
    )
    stamp.write_text(fingerprint)
    log = build_dir / f"{bench}.log"
    try:
        runner.test(
            test_module=f"filter.{bench}",
            hdl_toplevel=block,
            build_dir=build_dir,
            test_dir=build_dir,
            seed=os.environ.get("COCOTB_RANDOM_SEED", 1),
            log_file=log,
        )
    except SystemExit:
        raise AssertionError(f"{block} with {parameters}, {log}:\n{_first_failure(log.read_text())}") from None
