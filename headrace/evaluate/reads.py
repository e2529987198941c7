"""What of the Python package a function uses: definitions, found by the names that stand in it, over all modules.

Functions and constants count with all that they name; of a class those methods whose name stands anywhere in what is
used, whoever's they are. A string that names a module, as for ``python -m``, stands for all of that module. Names that
are made when code runs are not seen.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

from headrace.errors import HeadraceError

_FRAME = (
    *("errors", "paths", "cache", "registers", "build", "card", "emulator", "extcap", "cli"),
    *(f"evaluate.{name}" for name in ("points", "reads", "measured", "figures", "statements", "report")),
)
"""What runs cards, calls and shows: it doesn't decide what comes out. Nodes of the emulator are programs of their own,
which no name leads to."""
_PARTS_OF_FRAME = ("evaluate.bench", "evaluate.study")  # by themselves: what all benches and studies share
_INSIDE = "card.functions"  # drivers of functions, which do
_PLAIN = ("NamedTuple", "TypedDict", "Enum", "IntEnum", "IntFlag", "Protocol", "Exception")
"""Of other classes that aren't ours, methods may be called by what isn't ours."""
_MODULE = re.compile(r"headrace(\.\w+)+")


class _Piece:
    """A statement of a module; of a class, all but its methods, which are pieces as well."""

    def __init__(self, module: Module, statement: ast.stmt) -> None:
        self._module = module
        self._statement = statement
        self.line = statement.lineno
        self._parts: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        if isinstance(statement, ast.ClassDef) and all(map(module.is_known, statement.bases)):
            self._parts = [
                each
                for each in statement.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not each.name.startswith("__")
            ]

    @cached_property
    def methods(self) -> dict[str, _Piece]:
        """By name. Those that Python itself calls are no pieces."""
        return {each.name: _Piece(self._module, each) for each in self._parts}

    @cached_property
    def text(self) -> str:
        """Its lines."""
        left_out = {line for each in self._parts for line in _lines(each)}
        return "".join(self._module.lines[line - 1] for line in _lines(self._statement) if line not in left_out)

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        waiting: list[ast.AST] = [self._statement]
        found = []
        while waiting:
            found.append(node := waiting.pop())
            waiting += [each for each in ast.iter_child_nodes(node) if each not in self._parts]
        return found

    @cached_property
    def words(self) -> set[str]:
        """Names of attributes that stand in it, and strings that could be some."""
        found = {node.attr for node in self._nodes if isinstance(node, ast.Attribute)}
        return found | {
            node.value for node in self._nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }

    @cached_property
    def names(self) -> set[str]:
        """Dotted names of Headrace that stand in it."""
        found = {self._module.dotted(node) for node in self._nodes if isinstance(node, ast.Name | ast.Attribute)}
        return {name for name in found if name} | {f"{word}.*" for word in self.words if _MODULE.fullmatch(word)}


class Module:
    """A file's definitions by name, what it imports by the name that it has there, and statements that define
    nothing."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = text.splitlines(keepends=True)
        self.definitions: dict[str, list[_Piece]] = {}
        self.rest: list[_Piece] = []
        self.imports: dict[str, str] = {}
        body = [each for each in ast.parse(text).body if not _for_types(each)]
        for statement in body:
            if any("import " in line for line in self.lines[statement.lineno - 1 : statement.end_lineno]):
                self.imports |= _imported(statement)
        for statement in body:
            piece, names = _Piece(self, statement), list(_defined(statement))
            for each in names:
                self.definitions.setdefault(each, []).append(piece)
            text_alone = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not names and not text_alone and not isinstance(statement, ast.Import | ast.ImportFrom):
                self.rest.append(piece)

    def is_known(self, base: ast.expr) -> bool:
        """Whether nothing but Headrace calls the methods of a class with such a base."""
        plain = isinstance(base, ast.Subscript) or _chain(base).rpartition(".")[2] in _PLAIN
        return plain or self.dotted(base) is not None

    def dotted(self, node: ast.expr) -> str | None:
        """The name by which others would import what a name here stands for; None for what isn't of Headrace."""
        name, dot, rest = _chain(node).partition(".")
        if name in self.definitions:
            return f"{self.name}.{name}"
        return f"{self.imports[name]}{dot}{rest}" if name in self.imports else None


class Code:
    """The package of a tree. What was read once is kept: a tree that changes needs another one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._modules: dict[str, Module | None] = {}

    def used(self, functions: Iterable[str]) -> dict[str, list[str]]:
        """What functions (dotted names) need, themselves included: pieces of text by the file's path relative to the
        root. Raises HeadraceError where there is no such function.
        """
        for name in functions:
            if self._find(name) is None:
                raise HeadraceError(f"{self._root}: no {name}, on which figures depend")
        reached: dict[str, dict[_Piece, None]] = defaultdict(dict)
        names, seen = list(functions), set[str]()
        words, methods = set[str](), defaultdict[str, list[tuple[Module, _Piece]]](list)
        pieces: list[tuple[Module, _Piece]] = []
        while names or pieces:
            while names:
                if (name := names.pop()) not in seen and (found := self._find(name)) is not None:
                    module, chosen = found
                    pieces += [(module, each) for each in (*chosen, *module.rest)]
                seen.add(name)
            while pieces:
                module, piece = pieces.pop()
                if piece in reached[module.name]:
                    continue
                reached[module.name][piece] = None
                names += piece.names
                for word in piece.words - words:
                    pieces += methods.pop(word, [])
                words |= piece.words
                for method, part in piece.methods.items():
                    if method in words:
                        pieces.append((module, part))
                    else:
                        methods[method].append((module, part))
        return {
            self._path(name).relative_to(self._root).as_posix(): [
                each.text for each in sorted(of, key=lambda piece: piece.line)
            ]
            for name, of in reached.items()
        }

    def _find(self, dotted: str) -> tuple[Module, list[_Piece]] | None:
        """The module in which a name is defined, and its statements; None where it isn't one that counts."""
        words = dotted.split(".")
        for count in range(len(words), 0, -1):
            name = ".".join(words[:count])
            if (module := self._module(name)) is None:
                continue
            if count == len(words):
                return None
            if (wanted := words[count]) == "*":
                module = self._module(f"{name}.__main__") or module
                return module, [each for found in module.definitions.values() for each in found]
            if wanted in module.definitions:
                return module, module.definitions[wanted]
            return self._find(module.imports[wanted]) if wanted in module.imports else None
        return None

    def _module(self, name: str) -> Module | None:
        if name not in self._modules:
            path = self._path(name)
            self._modules[name] = _module(path.read_text(), name) if _counts(name) and path.is_file() else None
        return self._modules[name]

    def _path(self, name: str) -> Path:
        path = self._root.joinpath(*name.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache  # most modules of another tree are the same
def _module(text: str, name: str) -> Module:
    return Module(text, name)


def _counts(module: str) -> bool:
    """Whether a module is no part of the frame."""
    room = f"{module.removeprefix('headrace.')}."
    frame = room[:-1] in _PARTS_OF_FRAME or any(room.startswith(f"{each}.") for each in _FRAME)
    return not frame or room.startswith(f"{_INSIDE}.")


def _for_types(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def _lines(statement: ast.stmt) -> range:
    """Numbers of its lines, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return range(min([statement.lineno, *(each.lineno for each in decorators)]), (statement.end_lineno or 0) + 1)


def _imported(statement: ast.stmt) -> dict[str, str]:
    """Dotted names of Headrace that are imported anywhere in a statement, by the names that they get."""
    found: dict[str, str] = {}
    for node in ast.walk(statement):
        if isinstance(node, ast.ImportFrom):
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.asname or each.name.partition(".")[0]: each.name for each in node.names}
    return {name: dotted for name, dotted in found.items() if dotted.startswith("headrace.")}


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _chain(node: ast.expr) -> str:
    """``a.b.c``; nothing where it begins with something else than a name."""
    words = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(words)]) if isinstance(node, ast.Name) else ""
