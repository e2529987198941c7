# SPDX-License-Identifier: Apache-2.0
"""Firmware of a card's processors: the ``[firmware]`` table of a card's description, and its compiler.

=================  ===================================================================================================
``sources``        C, C++ and assembler files, relative to the .toml; patterns are allowed
``includes``       folders of headers (optional)
``linker_script``  where things lie in the processor's memories (optional)
``prefix``         of the compiler's programs; ``riscv64-unknown-elf-`` if absent
``flags``          of the compiler, for the processor: ``["-march=rv32i", "-mabi=ilp32", "-O2"]`` (optional)
=================  ===================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.build.description import CardDescription
    from headrace.build.toolchain import Show, Workshop

PREFIX = "riscv64-unknown-elf-"
_LISTS, _TEXTS = ("sources", "includes", "flags"), ("linker_script", "prefix")


@dataclass(frozen=True)
class Firmware:
    """What a card's description says about its firmware."""

    sources: tuple[Path, ...]
    includes: tuple[Path, ...] = ()
    linker_script: Path | None = None
    prefix: str = PREFIX
    flags: tuple[str, ...] = ()

    @property
    def files(self) -> list[Path]:
        """All that it is made from, as far as the description knows: sources, headers, linker scripts."""
        headers = [path for folder in self.includes for path in sorted(folder.rglob("*")) if path.is_file()]
        return [*dict.fromkeys([*self.sources, *headers, *self.scripts])]

    @property
    def scripts(self) -> list[Path]:
        """The linker script, and those beside it, which it may include."""
        script = self.linker_script
        return [script, *sorted(script.parent.glob("*.ld"))] if script else []


def parse_firmware(table: dict[str, Any], path: Path) -> Firmware:
    """The ``[firmware]`` table of the description at ``path``. Raises HeadraceError when it is wrong, or a file of it
    doesn't exist."""

    def wrong(what: str) -> HeadraceError:
        return HeadraceError(f"{path}: firmware: {what}", 2)

    for key, value in table.items():
        if key not in (*_LISTS, *_TEXTS):
            raise wrong(f"unknown key '{key}'; the keys are {', '.join((*_LISTS, *_TEXTS))}")
        if key in _TEXTS and not isinstance(value, str):
            raise wrong(f"'{key}' must be a text")
        if key in _LISTS and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise wrong(f"'{key}' must be a list of texts")
    sources: dict[Path, None] = {}
    for pattern in table.get("sources", ()):
        found = sorted(p.resolve() for p in path.parent.glob(pattern) if p.is_file())
        if not found:
            raise wrong(f"no source file '{pattern}'")
        sources.update(dict.fromkeys(found))
    if not sources:
        raise wrong("'sources' is missing")
    for folder in table.get("includes", ()):
        if not (path.parent / folder).is_dir():
            raise wrong(f"no folder '{folder}'")
    script = table.get("linker_script")
    if script is not None and not (path.parent / script).is_file():
        raise wrong(f"no linker script '{script}'")
    return Firmware(
        sources=tuple(sources),
        includes=tuple((path.parent / folder).resolve() for folder in table.get("includes", ())),
        linker_script=(path.parent / script).resolve() if script is not None else None,
        prefix=table.get("prefix", PREFIX),
        flags=tuple(table.get("flags", ())),
    )


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
    from headrace.build.description import CardDescription, load_card

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
    import shutil
    import subprocess

    from headrace import cache as cachedir
    from headrace.build import libraries, toolchain

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
