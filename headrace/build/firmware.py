# SPDX-License-Identifier: Apache-2.0
"""Firmware of a card's processors, compiled."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from headrace import cache as cachedir
from headrace.build import libraries, toolchain
from headrace.build.description import CardDescription, load_card
from headrace.build.firmware_table import PREFIX, Firmware
from headrace.build.toolchain import Show, Workshop
from headrace.errors import HeadraceError


def build_firmware(
    card: str | Path | CardDescription,
    *,
    program: Sequence[str | Path] = (),
    flags: Sequence[str] = (),
    progress: bool = True,
) -> Path:
    """The ELF file of a card's firmware, compiled if it isn't in the cache.

    ``program``: sources beside those of the description, such as a user's own; ``flags``: of the compiler, behind the
    description's. What the compiler reads decides whether there is one already, headers from anywhere too; of what
    assembler includes by ``.incbin`` it isn't known. Raises HeadraceError when the card has no firmware, the compiler
    is missing, or the firmware doesn't compile; then the log stays in the cache and the message has its path.
    """
    description = card if isinstance(card, CardDescription) else load_card(card)
    if description.firmware is None:
        raise HeadraceError(f"card {description.name} has no firmware: its description has no [firmware]", 2)
    title = f"firmware of {description.name}"
    return compile_firmware(
        description.firmware, description.name, title, program=program, flags=flags, progress=progress
    )


def compile_firmware(
    firmware: Firmware,
    name: str,
    title: str,
    *,
    program: Sequence[str | Path] = (),
    flags: Sequence[str] = (),
    progress: bool = True,
    said: Callable[[str], object] = len,
) -> Path:
    """The ELF file of firmware that needs no card, in the cache as NAME-KEY.elf; otherwise as ``build_firmware``.

    ``title``: for messages. ``said`` is called with what the compiler says, if
    it says something: warnings, each time, or errors before HeadraceError is raised.
    """
    sources = [*firmware.sources, *(Path(source).resolve() for source in program)]
    for source in sources:
        if not source.is_file():
            raise HeadraceError(f"no source file of firmware: {source}", 2)
    compiler = shutil.which(f"{firmware.prefix}gcc")
    if compiler is None:
        hint = f": apt install gcc-{PREFIX[:-1]}" if firmware.prefix == PREFIX else ""
        raise HeadraceError(f"the compiler {firmware.prefix}gcc is missing{hint}")
    command = [compiler, *firmware.flags, *flags, *(f"-I{folder}" for folder in firmware.includes)]
    searched = [flag for flag in command if flag.startswith("-l")]  # for what is missing until then
    debug = any(flag.startswith("-g") for flag in command)  # then line numbers and names of files are part of it

    def reads(source: Path) -> bytes:  # what is wrong with it, the compiler says later
        preprocess = [*command, "-E", *([] if debug else ["-P"]), str(source)]
        return subprocess.run(preprocess, capture_output=True, check=False).stdout

    def make(workshop: Workshop, show: Show) -> None:
        show("compiling")
        placed = ["-T", str(firmware.linker_script)] if firmware.linker_script else []
        try:
            output = workshop.run([*command, *placed, *map(str, sources), *searched, "-o", target.name], "compiling")
        except HeadraceError:
            said(target.with_suffix(".log").read_text(errors="replace").partition("\n")[2])
            raise
        if output:
            cachedir.write_atomically(warnings, output)

    cachedir.note_reads([*firmware.scripts, *sources])
    key = toolchain.digest(
        toolchain.compiler_version(compiler),
        command[1:],
        *(path.read_bytes() for path in (*firmware.scripts, *sources)),
        *map(reads, sources),
    )
    target = cachedir.cache_folder("firmware") / f"{name}-{key}.elf"
    warnings = target.with_suffix(".warnings")
    libraries.make_once(target, title, make, progress, "once for these sources")
    if warnings.is_file():
        said(warnings.read_text(errors="replace"))
    return target
