# SPDX-License-Identifier: Apache-2.0
"""Reads the interface of a block by slang, which elaborates it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.export.expressions import bracketed, has_names, high, product, size_of_range, verilog_number
from headrace.export.interface import Interface, Parameter, Part, Port

_NUMBER = re.compile(r"-?(0x[0-9a-fA-F]+|\d+|\d*'s?[hbdo][0-9a-fA-F_]+)")
_TOKEN = re.compile(
    r"\s+|(\$clog2\b|[A-Za-z_]\w*(?:::\w+)?)|\d*'s?[hbdo][0-9a-fA-F_]+|\d[\d_]*"
    r"|\*\*|<<|>>|[<>=!]=|&&|\|\||[-+*/%<>!?:()]"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def read_interface(top: str, files: Iterable[Path], values: Mapping[str, str]) -> Interface:
    """Elaborates the block ``top`` with slang. Raises HeadraceError with the first fault that it or the block finds."""
    compilation = _compilation({top}, files, values)
    _check(compilation)
    return _interface(compilation.getRoot().topInstances[0].body, compilation.sourceManager, values)


def read_interfaces(tops: set[str], files: Iterable[Path]) -> dict[str, Interface]:
    """Those of many blocks with their defaults, by name. Nothing that is wrong within a block is looked for."""
    compilation = _compilation(tops, files, {})
    found = compilation.getRoot().topInstances
    return {top.name: _interface(top.body, compilation.sourceManager, {}) for top in found}


def _compilation(tops: set[str], files: Iterable[Path], values: Mapping[str, str]) -> Any:
    from pyslang import Bag
    from pyslang.ast import Compilation, CompilationOptions
    from pyslang.syntax import SyntaxTree

    options = CompilationOptions()
    options.topModules = tops
    options.paramOverrides = [f"{name}={_literal(value)}" for name, value in values.items()]
    compilation = Compilation(Bag([options]))
    for file in files:
        compilation.addSyntaxTree(SyntaxTree.fromFile(str(file)))
    return compilation


def _interface(body: Any, manager: Any, values: Mapping[str, str]) -> Interface:
    plain = _Plain(body, manager)
    settable = [symbol for symbol in body.parameters if symbol.isPortParam and not symbol.isLocalParam]
    parameters = tuple(_parameter(symbol, plain, values) for symbol in settable)
    ports = tuple(_port(symbol, plain, body.name) for symbol in body.portList)
    return Interface(parameters, _told_apart(ports))


def _told_apart(ports: tuple[Port, ...]) -> tuple[Port, ...]:
    """With other names for the fields of a port of which one is called as another port."""
    names = Counter(part.name for port in ports for part in port.parts)
    return tuple(
        replace(port, parts=tuple(_renamed(part, port.name) for part in port.parts))
        if port.type and any(names[part.name] > 1 for part in port.parts)
        else port
        for port in ports
    )


def _renamed(part: Part, port: str) -> Part:
    return replace(part, name=f"{port}_field{part.name.removeprefix(port)}")


def _literal(value: str) -> str:
    if not _NUMBER.fullmatch(value):
        return f'"{value}"'
    return str(int(value, 16)) if value.startswith("0x") else value


def _check(compilation: Any) -> None:
    from pyslang import DiagnosticEngine, Diags, TextDiagnosticClient

    missing = {Diags.UnknownModule}  # that users bring
    follow = {Diags.ValueMustBePositive, Diags.ReplicationZeroOutsideConcat}  # where a size is 0, which is refused
    errors = [found for found in compilation.getAllDiagnostics() if found.isError() and found.code not in missing]
    for found in errors:
        if found.code == Diags.FatalTask:
            raise HeadraceError(str(found.args[0]).removeprefix(": "), 2)
    for found in errors:
        if found.code not in follow:
            engine = DiagnosticEngine(compilation.sourceManager)
            client = TextDiagnosticClient()
            engine.addClient(client)
            engine.issue(found)
            raise HeadraceError(client.getString().strip().splitlines()[0])


class _Plain:
    """Expressions of a module's head in Verilog-2005: parameters of the module, numbers and ``$clog2`` only."""

    def __init__(self, body: Any, manager: Any) -> None:
        self._body, self._manager = body, manager
        self._own = {symbol.name: symbol for symbol in body.parameters if symbol.isPortParam}

    def comment(self, symbol: Any) -> str:
        """What stands behind a declaration on its line."""
        lines = _lines(str(self._manager.getFullPath(symbol.location.buffer)))
        line = lines[self._manager.getLineNumber(symbol.location) - 1]
        return str(line.partition("//")[2].strip())

    def text(self, expression: Any) -> str | None:
        """The expression, or None where Verilog can't say it."""
        words = []
        text = _COMMENT.sub(" ", str(expression)).strip()
        place = 0
        while place < len(text):
            token = _TOKEN.match(text, place)
            if token is None:
                return None
            place = token.end()
            word = token[0] if token[1] is None else self._name(token[1])
            if word is None:
                return None
            words.append(" " if token[0].isspace() else word)
        return re.sub(r"\s+", " ", "".join(words))

    def _name(self, name: str) -> str | None:
        if name == "$clog2":
            return name
        symbol = self._own.get(name)
        if symbol is not None and not symbol.isLocalParam:
            return name
        if symbol is not None:
            inner = self.text(symbol.syntax.initializer.expr)
            return None if inner is None else bracketed(inner)
        found = self._body.lookupName(name)
        value = getattr(found, "value", None)
        return None if value is None or not hasattr(value, "value") else str(int(value.value))


@cache
def _lines(file: str) -> list[str]:
    return Path(file).read_text(errors="replace").splitlines()


def _parameter(symbol: Any, plain: _Plain, values: Mapping[str, str]) -> Parameter:
    initial = symbol.syntax.initializer
    comment = plain.comment(symbol)
    if str(initial.expr).strip().startswith('"'):
        text = values.get(symbol.name, str(initial.expr).strip().strip('"'))
        return Parameter(symbol.name, None, f'"{text}"', text, comment)
    value = int(symbol.value.value)
    kind = symbol.type
    width = 0 if kind.isPredefinedInteger else kind.bitWidth
    written = None if symbol.name in values else plain.text(initial.expr)
    return Parameter(symbol.name, width, written or verilog_number(value, width), value, comment)


def _port(symbol: Any, plain: _Plain, top: str) -> Port:
    from pyslang.ast import ArgumentDirection, SymbolKind

    if symbol.kind != SymbolKind.Port:
        raise HeadraceError(f"{top}: port {symbol.name} is a SystemVerilog interface, which has no flat form", 2)
    directions = {ArgumentDirection.In: "input", ArgumentDirection.Out: "output", ArgumentDirection.InOut: "inout"}
    name, direction, comment = symbol.name, directions[symbol.direction], plain.comment(symbol)
    base, dims = _dimensions(symbol, plain)
    unpacked = [dim for dim in dims if dim.unpacked]
    packed = dims[len(unpacked) :]
    if not _is_vector(base):
        leaves = list(_leaves(base, "", _indices(dims, 0), dims))
        kind = str(base)
    else:
        size = product([*(dim.size for dim in packed), str(base.bitWidth)])
        bits = math.prod([*(dim.count for dim in packed), base.bitWidth])
        if not unpacked:
            return Port(name, direction, (Part(name, direction, size, bits),), comment)
        leaves = [_Leaf("", _indices(unpacked, 0), size, bits, "", unpacked)]
        kind, packed = f"logic [{high(size)}:0]", []
    parts = tuple(_part(name, direction, leaf) for leaf in leaves)
    kind = " ".join([kind, *(f"[{dim.left}:{dim.right}]" for dim in packed)])
    return Port(name, direction, parts, comment, kind, "".join(f"[{dim.left}:{dim.right}]" for dim in unpacked))


@dataclass(frozen=True)
class _Dimension:
    left: str
    right: str
    size: str
    count: int
    lowest: str
    unpacked: bool


@dataclass(frozen=True)
class _Leaf:
    name: str
    path: str
    size: str
    bits: int
    cast: str
    dims: list[_Dimension]


def _dimensions(symbol: Any, plain: _Plain) -> tuple[Any, list[_Dimension]]:
    """The type of a port's elements, and its dimensions from the outermost on: unpacked ones come first."""
    declarator = symbol.syntax
    written = [*declarator.dimensions, *_packed_dimensions(getattr(declarator.parent.header, "dataType", None))]
    base, dims = symbol.type, []
    while base.isUnpackedArray or (base.isPackedArray and (written or not _is_vector(base) or not base.isAlias)):
        dims.append(_dimension(base, written.pop(0) if written else None, plain))
        base = base.arrayElementType
    return base, dims


def _packed_dimensions(kind: Any) -> list[Any]:
    name = getattr(kind, "name", None)
    return [*getattr(kind, "dimensions", []), *getattr(getattr(name, "right", name), "selectors", [])]


def _is_vector(kind: Any) -> bool:
    """Bits without a structure or an enumeration in them."""
    while kind.isPackedArray or kind.isUnpackedArray:
        kind = kind.arrayElementType
    return bool(kind.isIntegral and not kind.isStruct and not kind.isEnum)


def _dimension(kind: Any, syntax: Any, plain: _Plain | None) -> _Dimension:
    left, right = kind.fixedRange.left, kind.fixedRange.right
    selector = getattr(getattr(syntax, "specifier", syntax), "selector", None)
    texts = [text for text in _bounds(selector, plain) if text is not None] if plain else []
    if len(texts) != 2 or not any(map(has_names, texts)):
        texts = [str(left), str(right)]
    low, top = (texts[1], texts[0]) if left >= right else (texts[0], texts[1])
    return _Dimension(texts[0], texts[1], size_of_range(top, low), abs(left - right) + 1, low, kind.isUnpackedArray)


def _bounds(selector: Any, plain: _Plain) -> list[str | None]:
    """Of a range as it is written: ``[left:right]``, or ``[size]``."""
    if hasattr(selector, "left"):
        return [plain.text(selector.left), plain.text(selector.right)]
    size = plain.text(selector.expr) if hasattr(selector, "expr") else None
    return ["0", None if size is None else high(size)]


def _leaves(kind: Any, name: str, path: str, dims: list[_Dimension]) -> Iterator[_Leaf]:
    """The fields of a type, with what leads there; ``dims`` are of the arrays above, in the order of the indices."""
    if kind.isStruct:
        for member in kind.canonicalType:
            yield from _leaves_of_member(member, name, path, dims)
    elif kind.isEnum:
        yield _Leaf(name, path, str(kind.bitWidth), kind.bitWidth, str(kind), dims)
    else:
        yield _Leaf(name, path, str(kind.bitWidth), kind.bitWidth, "", dims)


def _leaves_of_member(member: Any, name: str, path: str, dims: list[_Dimension]) -> Iterator[_Leaf]:
    kind, own = member.type, []
    while kind.isUnpackedArray or (kind.isPackedArray and not _is_vector(kind)):
        own.append(_dimension(kind, None, None))
        kind = kind.arrayElementType
    path = f"{path}.{member.name}{_indices(own, len(dims))}"
    yield from _leaves(kind, f"{name}_{member.name}", path, [*dims, *own])


def _indices(dims: list[_Dimension], first: int) -> str:
    return "".join(
        f"[i{number}]" if dim.lowest == "0" else f"[{bracketed(dim.lowest)} + i{number}]"
        for number, dim in enumerate(dims, first)
    )


def _part(port: str, direction: str, leaf: _Leaf) -> Part:
    bits = leaf.bits
    for dim in leaf.dims:
        bits *= dim.count
    size = product([*(dim.size for dim in leaf.dims), leaf.size])
    loops = tuple((dim.size, dim.lowest) for dim in leaf.dims)
    return Part(f"{port}{leaf.name}", direction, size, bits, leaf.path, loops, leaf.size, leaf.cast)
