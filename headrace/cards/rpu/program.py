"""Programs of RPUs: C compiled with the library in ``firmware/``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from headrace import paths
from headrace.build.firmware import compile_firmware
from headrace.build.firmware_table import Firmware
from headrace.cards.rpu import elf
from headrace.errors import HeadraceError

OPTIMISATIONS = ("0", "1", "2", "3", "s", "g", "fast")

FLAGS = (
    # The core: RV32I. Since version 2.1 of the ISA its CSRs are an extension, for which this GCC has no libraries.
    "-march=rv32i", "-mabi=ilp32", "-misa-spec=2.2",
    # What firmware of the Rosebud framework is written in; its functions that are only `inline` must exist.
    "-std=gnu99", "-fgnu89-inline",
    # No C library but libgcc. GCC still knows memcpy, and doesn't take main for a function that runs once.
    "-ffreestanding", "-fbuiltin", "-nostdlib", "-lgcc",
    # A taken branch costs one cycle more, a wrongly predicted one three.
    "-mbranch-cost=3",
    # Loads before their uses, also where a structure is copied: a load's value is there in the third cycle.
    "-frename-registers",
    # The core shifts one bit a cycle: nothing that makes shifts of separate stores, or of a switch.
    "-fno-store-merging", "-fno-tree-slp-vectorize", "-fno-bit-tests",
    # There are registers at address 0.
    "-fno-delete-null-pointer-checks", "--param=min-pagesize=0",
    # Functions of the library that a program doesn't use take no room.
    "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections",
    "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments",
    # For `headrace rpu debug` and gdb; nothing of it is loaded.
    "-g",
)  # fmt: skip

_OWN_BSWAP = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+bswap_(?:16|32)\b", re.MULTILINE)


def library() -> Firmware:
    """What every program is linked with."""
    folder = paths.firmware()
    sources = sorted(path for kind in ("*.S", "*.c") for path in (folder / "lib").glob(kind))
    return Firmware(
        sources=tuple(sources),
        includes=(folder / "include", folder / "lib"),
        linker_script=folder / "lib" / "rpu.ld",
        flags=FLAGS,
    )


def programs() -> dict[str, Path]:
    """The programs that come with Headrace, by name."""
    return {path.stem: path for path in sorted((paths.firmware() / "programs").glob("*.c"))}


def build(
    sources: Sequence[str | Path],
    *,
    defines: Sequence[str] = (),
    includes: Sequence[str | Path] = (),
    optimisation: str = "2",
    progress: bool = False,
    said: Callable[[str], object] = len,
) -> Path:
    """Compiles C and assembler files into a program; gives its ELF file in the cache, once for these sources.

    ``sources``: files, or names of ``programs()``; ``defines``: ``NAME`` or ``NAME=VALUE``; ``includes``: folders of
    headers, before Headrace's; ``said`` is called with what the compiler says. Raises HeadraceError when it doesn't
    compile, doesn't fit into the memories, or the compiler is missing.
    """
    files = [_source(source) for source in sources]
    if not files:
        raise HeadraceError("no source file of a program", 2)
    if optimisation not in OPTIMISATIONS:
        raise HeadraceError(f"-O {optimisation}: none of {', '.join(OPTIMISATIONS)}", 2)
    flags = [f"-O{optimisation}"]
    for define in defines:
        if not re.fullmatch(r"[A-Za-z_]\w*(\([^)]*\))?(=.*)?", define, re.DOTALL):
            raise HeadraceError(f"-D {define}: not NAME or NAME=VALUE", 2)
        flags.append(f"-D{define}")
    for folder in includes:
        if not Path(folder).is_dir():
            raise HeadraceError(f"-I {folder}: no such folder", 2)
        flags.append(f"-I{Path(folder).resolve()}")
    if any(_OWN_BSWAP.search(path.read_bytes()) for path in files):
        flags.append("-DHEADRACE_OWN_BSWAP")
    name = re.sub(r"\W+", "-", files[0].stem)
    target = compile_firmware(library(), name, files[0].name, program=files, flags=flags, progress=progress, said=said)
    elf.read(target)
    return target


def _source(source: str | Path) -> Path:
    known = programs()
    if str(source) in known and not Path(source).exists():
        return known[str(source)]
    path = Path(source)
    if path.is_dir():
        raise HeadraceError(f"{source}: a folder, not a source file", 2)
    if not path.is_file():
        hint = "" if path.suffix else f"; programs that come with Headrace: {', '.join(known)}"
        raise HeadraceError(f"{source}: no such file{hint}", 2)
    if path.suffix not in (".c", ".S", ".s"):
        raise HeadraceError(f"{source}: neither C (.c) nor assembler (.S)", 2)
    return path
