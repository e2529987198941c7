"""Builds the software twins of the accelerators, firmware/lib, for this machine and for the core."""

import subprocess
from pathlib import Path

from cffi import FFI
from simulation import ROOT

LIBRARY = ROOT / "firmware" / "lib"
WARNINGS = ("-std=c99", "-O2", "-ffreestanding", "-Wall", "-Wextra", "-Wconversion", "-Werror")
CORE = ("-march=rv32i", "-misa-spec=2.2", "-mabi=ilp32")


def native(name: str, declarations: str, folder: Path, *options: str) -> tuple[FFI, object]:
    """The functions of firmware/lib/<name>.c that `declarations` name, built into `folder`."""
    library = folder / f"{name}.so"
    build = [
        "gcc",
        *WARNINGS,
        "-fsanitize=undefined",
        "-fsanitize-undefined-trap-on-error",
        "-shared",
        "-fPIC",
        *options,
    ]
    subprocess.run([*build, "-o", str(library), str(LIBRARY / f"{name}.c")], check=True)
    ffi = FFI()
    ffi.cdef(declarations)
    return ffi, ffi.dlopen(str(library))


def for_core(name: str, folder: Path) -> set[str]:
    """What firmware/lib/<name>.c, compiled for the core, needs from elsewhere."""
    out = folder / f"{name}.o"
    build = ["riscv64-unknown-elf-gcc", *CORE, *WARNINGS, "-c", "-o", str(out), str(LIBRARY / f"{name}.c")]
    subprocess.run(build, check=True)
    symbols = subprocess.run(["riscv64-unknown-elf-nm", "-u", str(out)], check=True, capture_output=True, text=True)
    return set(symbols.stdout.split()) - {"U"}
