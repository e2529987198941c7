# SPDX-License-Identifier: Apache-2.0
"""What a block or a card consists of, in the order of compilation, and where each file goes in an export."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

from headrace import paths
from headrace.build.description import CardDescription, data_files, load_card, waiver_files
from headrace.build.processor import VARIANT
from headrace.cache import note_reads
from headrace.errors import HeadraceError
from headrace.registers.compile import files_of, generate_header, generate_rtl
from headrace.synth.own import described
from headrace.synth.sources import Design, find_design, module_design

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_UNIT = re.compile(r"^\s*(?:module|package)\s+(?:automatic\s+)?(\w+)", re.MULTILINE)
_PACKAGE = re.compile(r"\b(\w+)::")
_INSTANCE = re.compile(r"\b(\w+)(?=\s+(?:#\s*\(|\w+\s*(?:\[[^\];]*\]\s*)?\())")
_INCLUDE = re.compile(r'^\s*`include\s+"([^"]+)"', re.MULTILINE)
_WAIVED = re.compile(r'-(?:file|module)\s+"(?:\*/)?([^"]+)"')


@dataclass(frozen=True)
class Contents:
    """A design's files. ``sources``, ``headers`` and ``data`` say by its place in the export where each lies now."""

    design: Design
    values: dict[str, str]
    """Parameters of the top module that were chosen, of a card all."""
    card: CardDescription | None
    sources: dict[PurePosixPath, Path]
    headers: dict[PurePosixPath, Path]
    data: dict[PurePosixPath, Path] = field(default_factory=dict)
    waivers: list[Path] = field(default_factory=list)
    """Verilator's configuration files."""
    crossings: list[Path] = field(default_factory=list)
    """Constraint files that lie beside modules: ``M.xdc`` and ``M.sdc`` of a module M."""
    synchronisers: list[str] = field(default_factory=list)
    """Modules with a ``cdc_sync`` and no such file."""

    @property
    def has_processor(self) -> bool:
        """Whether VexRiscv is among them, which has a licence of its own."""
        return any(path.stem.startswith(VARIANT) for path in self.sources.values())

    @property
    def include_folders(self) -> list[PurePosixPath]:
        """Where headers lie in the export."""
        return sorted({place.parent for place in self.headers})


def collect(what: str | Path, parameters: Mapping[str, object], work: Path) -> Contents:
    """Finds the files of a block or card; generated ones go into the folder ``work``.

    Raises HeadraceError when there is no such thing or it has no such parameter.
    """
    with described(str(what), parameters) as found:
        try:
            design, values = find_design(found, parameters)
        except HeadraceError:
            _check_name(str(what))
            raise
    card = _card(what)
    if design.top.endswith("_pkg"):
        raise HeadraceError(f"{what} is a package: it is exported with the blocks that use it", 2)
    generated = [path for rdl in design.registers for path in generate_rtl(rdl, work / rdl.stem)]
    files = _by_unit([*(path for path in generated if path.suffix == ".sv"), *design.files])
    users = {name for name, path in files.items() if not _is_ours(path, generated)}
    kept = _order({design.top, *users}, files)
    own = re.sub(r"\W", "_", design.name)
    sources = {_place(files[name], own, card, generated): files[name] for name in kept}
    if len(sources) != len(kept):
        raise HeadraceError(f"{what}: two of its files have the same name", 2)
    beside = data_files(sources.values())
    note_reads([*design.files, *beside, *(path for rdl in design.registers for path in files_of(rdl))])
    crossings = [path for name in kept for path in _beside(files[name])]
    having = {path.stem for path in crossings}
    return Contents(
        design,
        values,
        card,
        sources,
        dict(_headers(sources, beside)),
        dict(_data(sources, beside) | _registers(design, work)),
        _waivers(card, generated, kept, files),
        crossings,
        [name for name in kept if name not in {"cdc_sync", *having} and "cdc_sync" in named_in(files[name])],
    )


def _check_name(what: str) -> None:
    """Raises HeadraceError for a name of nothing that is nearer to a card's than to a module's."""
    try:
        module_design(what, paths.share())
    except HeadraceError:
        cards = [path.stem for path in paths.cards().glob("*.toml")]
        modules = [path.stem for path in sorted((paths.share() / "rtl").rglob("*.sv"))]
        near = get_close_matches(what, [*cards, *modules], n=1)
        if what not in cards and near and near[0] in cards:
            message = f"no card, card folder or module is called {what}; did you mean {near[0]}?"
            raise HeadraceError(message, 2) from None


def _card(what: str | Path) -> CardDescription | None:
    """As ``find_design`` understands ``what``; none of a module."""
    path = Path(what)
    built_in = path.name == str(what) and (paths.cards() / f"{what}.toml").is_file()
    return load_card(what) if built_in or path.suffix == ".toml" or path.is_dir() else None


def _by_unit(files: Iterable[Path]) -> dict[str, Path]:
    """Files by each module and package in them."""
    return {name: path for path in files for name in _UNIT.findall(_code(path))}


def _order(tops: set[str], files: Mapping[str, Path]) -> list[str]:
    """What ``tops`` need, with themselves: packages first, then each module after those that it consists of.

    ``headrace.synth.sources`` finds what a module may need by words; here only names of packages and modules count.
    """
    graph: dict[str, set[str]] = {}
    waiting = sorted(tops)
    while waiting:
        name = waiting.pop()
        if name not in graph:
            graph[name] = {used for used in named_in(files[name]) if used in files and used != name}
            waiting += sorted(graph[name])
    try:
        order = list(TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)}).static_order())
    except CycleError as error:
        raise HeadraceError(f"modules use each other in a cycle: {' -> '.join(error.args[1])}", 2) from None
    packages = [name for name in order if name.endswith("_pkg")]
    found = [*packages, *(name for name in order if name not in packages)]
    return list({files[name]: name for name in reversed(found)}.values())[::-1]


def named_in(source: Path) -> set[str]:
    """Packages and modules that a file uses, and more words that look like such."""
    return _used(_code(source))


def _used(code: str) -> set[str]:
    return {*_PACKAGE.findall(code), *_INSTANCE.findall(code)}


def _code(path: Path) -> str:
    return _COMMENT.sub("", path.read_text(errors="replace"))


def _is_ours(path: Path, generated: list[Path]) -> bool:
    return path in generated or path.is_relative_to(paths.rtl()) or path.stem.startswith(VARIANT)


def _place(path: Path, name: str, card: CardDescription | None, generated: list[Path]) -> PurePosixPath:
    rtl = PurePosixPath("rtl")
    if path in generated:
        return rtl / "registers" / path.name
    if path.is_relative_to(paths.rtl()):
        return rtl / path.relative_to(paths.rtl())
    if path.stem.startswith(VARIANT):
        return rtl / "third_party" / path.name
    folder = card.path.parent if card else path.parent
    return rtl / name / (path.relative_to(folder) if path.is_relative_to(folder) else path.name)


def _headers(sources: Mapping[PurePosixPath, Path], beside: list[Path]) -> Mapping[PurePosixPath, Path]:
    """What the sources include, and what that includes."""
    folders = {path.parent: place.parent for place, path in sources.items()}
    named = {path.name: path for path in beside}
    found: dict[PurePosixPath, Path] = {}
    waiting = list(sources.values())
    while waiting:
        for name in _INCLUDE.findall(waiting.pop().read_text(errors="replace")):
            path = named.get(Path(name).name)
            if path is not None and path not in found.values():
                found[folders[path.parent] / path.name] = path
                waiting.append(path)
    return found


def _data(sources: Mapping[PurePosixPath, Path], beside: list[Path]) -> dict[PurePosixPath, Path]:
    """Memory images that the sources name."""
    folders = {path.parent: place.parent for place, path in sources.items()}
    text = "\n".join(path.read_text(errors="replace") for path in sources.values())
    images = [path for path in beside if path.suffix in (".mem", ".hex") and f'{path.name}"' in text]
    return {folders[path.parent] / path.name: path for path in images}


def _registers(design: Design, work: Path) -> dict[PurePosixPath, Path]:
    """The register descriptions and a C header of each: for the software of whoever takes the block."""
    found: dict[PurePosixPath, Path] = {}
    for rdl in design.registers:
        header = work / f"{rdl.stem}.h"
        generate_header(rdl, header)
        found |= {PurePosixPath("registers") / path.name: path for path in (*files_of(rdl), header)}
    return found


def _waivers(
    card: CardDescription | None, generated: list[Path], kept: list[str], files: Mapping[str, Path]
) -> list[Path]:
    """Those that name a file or module which is kept, and those of the card."""
    names = {*kept, *(files[name].name for name in kept)}
    ours = sorted(paths.rtl().rglob("*.vlt"))
    named = [path for path in (*generated, *ours) if path.suffix == ".vlt" and _names_one(path, names)]
    return list(dict.fromkeys([*named, *(waiver_files(card) if card else [])]))


def _names_one(waiver: Path, names: set[str]) -> bool:
    return any(PurePosixPath(name).match(pattern) for pattern in _WAIVED.findall(waiver.read_text()) for name in names)


def _beside(source: Path) -> list[Path]:
    """The constraint files of a module."""
    return [path for suffix in (".xdc", ".sdc") if (path := source.with_suffix(suffix)).is_file()]
