# SPDX-License-Identifier: Apache-2.0
"""A module of one's own, wherever it lies, as a card of nothing else: what takes a card's description takes it."""

from __future__ import annotations

import glob
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from headrace import paths
from headrace.build.description import load_card, rtl_sources
from headrace.build.processor import PROCESSOR
from headrace.errors import HeadraceError
from headrace.synth.sources import Design, needed, parameter_names

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PROCESSOR = "VexRiscv"
_USE = re.compile(rf"\b{_PROCESSOR}\b")
_ADDRMAP = re.compile(r"^\s*addrmap\s+(\w+)", re.MULTILINE)


@contextmanager
def as_card(file: Path, parameters: Mapping[str, object] | None = None) -> Iterator[Path]:
    """The description of a card whose top is the module that ``file`` holds and is named after, for as long as needed.

    Its sources are those of the modules beside it and of Headrace's that it needs, its registers those whose address
    maps they name, of descriptions beside it and of Headrace's, and VexRiscv its processor where one names it.
    ``parameters`` are the card's, with their values as defaults. What Headrace's packages have and the module doesn't
    need is no fault.

    Raises HeadraceError when there is no such file, or no such parameter of the module.
    """
    if not file.is_file():
        raise HeadraceError(f"{file}: no such file", 2)
    place, top = file.resolve().parent, file.stem
    beside = sorted(place.glob("*.sv"))
    names = {path.stem for path in beside}
    sources = needed(top, [*(path for path in sorted(paths.rtl().rglob("*.sv")) if path.stem not in names), *beside])
    known = parameter_names(Design(top, top, sources, []))
    if unknown := [key for key in parameters or {} if key not in known]:
        raise HeadraceError(f"{top} has no parameter {unknown[0]}; there are: {', '.join(known) or 'none'}", 2)
    words = {word for path in sources for word in re.findall(r"\w+", path.read_text())}
    with tempfile.TemporaryDirectory(prefix="headrace-") as name:
        folder = Path(name).resolve()
        table: dict[str, object] = {"top": top, "ports": 1, "clock_hz": 1}
        table["sources"] = [glob.escape(os.path.relpath(path.resolve(), folder)) for path in sources]
        if maps := {name: rdl for name, rdl in _maps(paths.share() / "regs", place) if name in words}:
            registers = folder / f"{top}.rdl"  # an address map of all of them
            includes = [f'`include "{rdl}"' for rdl in dict.fromkeys(maps.values())]
            parts = [f"    {name} of_{name};" for name in maps]
            registers.write_text("\n".join([*includes, f"addrmap all_of_{top} {{", *parts, "};"]) + "\n")
            table["registers"] = registers.name
        waivers = []
        if lacks_processor(sources):
            table["processor"] = PROCESSOR
            waivers = [glob.escape(os.path.relpath((paths.rtl() / "rpu" / "vexriscv.vlt").resolve(), folder))]
        waiver = folder / f"{top}.vlt"
        waiver.write_text(f'`verilator_config\nlint_off -rule UNUSEDPARAM -file "{paths.rtl()}/*_pkg.sv"\n')
        table["waivers"] = [waiver.name, *waivers]
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
        for key, value in (parameters or {}).items():
            lines += [f"[parameters.{key}]", f"default = {json.dumps(value)}"]
        description = folder / f"{top}.toml"
        description.write_text("\n".join(lines) + "\n")
        yield description


def lacks_processor(sources: Sequence[Path]) -> bool:
    """Whether modules use VexRiscv, but none of their files holds it."""
    texts = (_COMMENT.sub("", path.read_text()) for path in sources)
    return not any(path.stem.startswith(_PROCESSOR) for path in sources) and any(map(_USE.search, texts))


def _maps(*folders: Path) -> Iterator[tuple[str, Path]]:
    """The address maps that descriptions in folders make."""
    for rdl in (path for folder in folders for path in sorted(folder.glob("*.rdl"))):
        for name in _ADDRMAP.findall(rdl.read_text()):
            yield name, rdl


@contextmanager
def described(what: str, parameters: Mapping[str, object] | None = None) -> Iterator[str | Path]:
    """A card's name or folder as it is, and the file of a module as a card. Raises HeadraceError as ``as_card``."""
    if not what.endswith(".sv"):
        yield what
        return
    with as_card(Path(what), parameters) as card:
        yield card


def module_files(file: Path) -> list[Path]:
    """The module's RTL and that of what it needs, packages first. Raises HeadraceError as ``as_card``."""
    with as_card(file) as card:
        return rtl_sources(load_card(card))
