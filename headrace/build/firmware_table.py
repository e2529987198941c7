"""The ``[firmware]`` table of a card's description.

=================  ===================================================================================================
``sources``        C, C++ and assembler files, relative to the .toml; patterns are allowed
``includes``       folders of headers (optional)
``linker_script``  where things lie in the processor's memories (optional)
``prefix``         of the compiler's programs; ``riscv64-unknown-elf-`` if absent
``flags``          of the compiler, for the processor: ``["-march=rv32i", "-mabi=ilp32", "-O2"]`` (optional)
=================  ===================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError

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
