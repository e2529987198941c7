"""Finds the source files of what is to be synthesised: a card, a user's own card, or any single module."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headrace import paths
from headrace.build.description import black_box_files, load_card, rtl_sources
from headrace.build.processor import vexriscv
from headrace.errors import HeadraceError

_PROCESSOR = "VexRiscv"  # the module of headrace.build.processor
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_IMPORT = re.compile(r"\bimport\b[^;]*;")
_PARAMETER = re.compile(r"\b(localparam|parameter)\b|\b(\w+)\s*=(?!=)")
_ADDRMAP = re.compile(r"^\s*addrmap\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Design:
    """A top module with the SystemVerilog files it needs and the register maps to generate more of them from."""

    name: str
    top: str
    files: list[Path]
    registers: list[Path]


def find_design(what: str | Path, parameters: Mapping[str, object]) -> tuple[Design, dict[str, str]]:
    """The design that ``what`` names, and its parameters: a card's all, with defaults, or those given for a module.

    Raises HeadraceError when there is no such thing or it has no such parameter.
    """
    path = Path(what)
    built_in = path.name == str(what) and (paths.cards() / f"{what}.toml").is_file()
    if built_in or path.suffix == ".toml" or path.is_dir():
        card = load_card(what)
        chosen = {name: value if isinstance(value, int) else str(value) for name, value in parameters.items()}
        registers = [card.registers] if card.registers else []
        values = {name: str(value) for name, value in card.resolve(chosen, on_board=True).items()}
        return Design(card.name, card.top, [*rtl_sources(card), *black_box_files(card)], registers), values

    design = module_design(str(what), paths.share())
    known = parameter_names(design)
    for name in parameters:
        if name not in known:
            raise HeadraceError(
                f"{design.top} has no parameter {name}; there are: {', '.join(known) or 'none'}", exit_code=2
            )
    return design, {name: str(value) for name, value in parameters.items()}


def module_design(module: str, root: Path) -> Design:
    """A module of ``root/rtl`` or one generated from ``root/regs``, with every file that it may need.

    One module a file, the file named after it: so the files needed are those whose names occur in it, and in those.
    Raises HeadraceError when there is no such module.
    """
    files = {path.stem: path for path in sorted((root / "rtl").rglob("*.sv"))}
    registers = dict(_register_blocks(root / "regs"))
    if module not in files and module not in registers:
        close = difflib.get_close_matches(module, [*files, *registers], n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise HeadraceError(f"no card, card folder or module is called {module}{hint}", exit_code=2)
    names = _reached(module, files, {*registers, _PROCESSOR})
    return Design(
        name=module,
        top=module,
        files=[*(files[name] for name in sorted(names & files.keys())), *([vexriscv()] if _PROCESSOR in names else [])],
        registers=sorted({registers[name] for name in names & registers.keys()}),
    )


def needed(module: str, files: Sequence[Path]) -> list[Path]:
    """Those of ``files``, in their order, that the module may need, with the module's own."""
    by_name = {_PROCESSOR if path.stem.startswith(_PROCESSOR) else path.stem: path for path in files}
    names = _reached(module, by_name, set())
    return [path for name, path in by_name.items() if name in names]


def _reached(module: str, files: Mapping[str, Path], others: Set[str]) -> set[str]:
    """Names of files, and of ``others`` that have none, which occur in the module's file or in one of those."""
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        if name in files:
            waiting += _words(files[name].read_text()) & (files.keys() | others) - reached
    return reached


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(_IDENTIFIER.findall(_COMMENT.sub("", text)))


def parameter_names(design: Design) -> list[str]:
    """Parameters that may be set on the top module, from the head of its source; [] for a generated one."""
    for path in design.files:
        text = _IMPORT.sub("", _COMMENT.sub("", path.read_text()))
        if head := re.search(rf"\bmodule\s+{design.top}\b([^;]*);", text):
            settable = False
            names = []
            for match in _PARAMETER.finditer(head[1]):
                if match[1]:
                    settable = match[1] == "parameter"
                elif settable:
                    names.append(match[2])
            return names
    return []


def _register_blocks(folder: Path) -> Iterator[tuple[str, Path]]:
    """The names of generated modules and packages, each with the description that it comes from."""
    for path in sorted(folder.glob("*.rdl")):
        for name in _ADDRMAP.findall(path.read_text()):
            yield name, path
            yield f"{name}_pkg", path
