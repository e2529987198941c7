"""The few things that the reporter reads from Yosys's own netlist text (RTLIL)."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping

from headrace.synth.report import Level, Usage

_MODULE = re.compile(r"^((?:attribute [^\n]*\n)*)module (\S+)\n(.*?)^end\n", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^  cell (\S+) (\S+)$", re.MULTILINE)
_AUTO_NUMBER = re.compile(r"(?<=\$)\d+")


def merge_equal_modules(text: str) -> str:
    """Lets instances whose modules are the same in all but name share one module.

    The SystemVerilog reader makes a module of every instance; a card with eight cores would be synthesised eight times.
    Two modules are the same when their text is, up to the reader's running numbers and to submodules that are the same.
    """
    modules = list(_MODULE.finditer(text))
    head = text[: modules[0].start()]
    attributes = {m[2]: m[1] for m in modules}
    bodies = {m[2]: m[3] for m in modules}
    kept: dict[str, str] = {}  # module -> the one that stands for it
    by_digest: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in kept:
            return
        for match in _CELL.finditer(bodies[name]):
            if match[1] in bodies:
                visit(match[1])
        bodies[name] = _CELL.sub(lambda m: f"  cell {kept.get(m[1], m[1])} {m[2]}", bodies[name])
        digest = hashlib.sha256((attributes[name] + _renumbered(bodies[name])).encode()).hexdigest()
        kept[name] = by_digest.setdefault(digest, name)

    for name in bodies:
        visit(name)
    unique = set(kept.values())
    return head + "".join(f"{attributes[n]}module {n}\n{bodies[n]}end\n" for n in bodies if n in unique)


def _renumbered(body: str) -> str:
    numbers: dict[str, str] = {}
    return _AUTO_NUMBER.sub(lambda m: numbers.setdefault(m[0], str(len(numbers))), body)


def cells_of(text: str) -> dict[str, list[tuple[str, str]]]:
    """(type, name) of every cell by module, leading backslashes removed."""
    return {
        m[2].removeprefix("\\"): [(c[1].removeprefix("\\"), c[2].removeprefix("\\")) for c in _CELL.finditer(m[3])]
        for m in _MODULE.finditer(text)
    }


def modules_below(text: str, top: str, depth: int) -> set[str]:
    """``top`` and the modules of all instances down to ``depth`` levels below it."""
    modules = cells_of(text)
    found = level = {top}
    for _ in range(depth):
        level = {kind for module in level for kind, _ in modules[module] if kind in modules}
        found = found | level
    return found


def kept_apart(text: str, modules: Collection[str]) -> str:
    """The design, in which flattening leaves these modules as they are."""

    def marked(match: re.Match[str]) -> str:
        mark = "attribute \\keep_hierarchy 1\n" if match[2].removeprefix("\\") in modules else ""
        return mark + match[0]

    return _MODULE.sub(marked, text)


def cells_below(text: str, top: str, designed: Collection[str]) -> Counter[str]:
    """The target's own cells of all instances from ``top`` down, by type."""
    modules = cells_of(text)

    def visit(module: str) -> Counter[str]:
        kinds = [kind for kind, _ in modules[module] if kind != "$scopeinfo"]
        found = Counter(kind for kind in kinds if kind not in designed)
        for kind in kinds:
            found.update(visit(kind) if kind in designed else {})
        return found

    return visit(top)


def levels(text: str, top: str, designed: Collection[str], count: Callable[[Mapping[str, int]], Usage]) -> list[Level]:
    """Usage of every instance from ``top`` down, parents before their children, from a synthesised netlist.

    ``designed`` are the modules of the source; cells of any other type are the target's own.
    """
    modules = cells_of(text)

    def visit(module: str, path: str) -> list[Level]:
        below: list[Level] = []
        total = own = count(Counter(kind for kind, _ in modules[module] if kind not in designed))
        for kind, name in sorted(modules[module], key=lambda cell: _natural(cell[1])):
            if kind not in designed:
                continue
            inside = visit(kind, f"{path}.{name}" if path else name)
            total += inside[0].total
            below += inside
        return [Level(path, module.partition("$")[0], own, total), *below]

    return visit(top, "")


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts bank[2] before bank[10]."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
