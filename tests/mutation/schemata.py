"""Finds places in the RTL where one thing can be changed, and writes many such mutants into one copy of the RTL.

All mutants are compiled at once; `mutant_pkg::active`, read from the environment variable MUTANT when a model starts,
says which one is in force, 0 none. What is constant at elaboration stays as it is, as do checks and contracts.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyslang import Bag
from pyslang.parsing import PreprocessorOptions
from pyslang.syntax import BinaryExpressionSyntax, SyntaxNode, SyntaxTree

PACKAGE = r"""`ifndef MUTANT_PKG
`define MUTANT_PKG
package mutant_pkg;
  int unsigned active = $c32("std::getenv(\"MUTANT\") ? std::atoi(std::getenv(\"MUTANT\")) : 0");
endpackage
`endif
"""

FOLDERS = ("memory", "stream", "filter", "capture", "bridge", "rings", "rpu", "switch", "host", "pcie", "nic", "link")
LEAST = 12  # mutants of a folder

SWAPS = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&",
    "&": "|", "|": "&", "^": "|", "+": "-", "-": "+", "<<": ">>", ">>": "<<",
}  # fmt: skip

# Nothing below these changes at run time.
CONSTANT = re.compile(
    "Parameter|Type$|Typedef|Dimension|PortList|FunctionPrototype|ElabSystemTask|Immediate|AssertProperty|InitialBlock"
    "|FinalBlock|EventControl|ScopedName|SystemName|Genvar|NamedBlockClause|InstanceName"
)
# The children that do, of nodes that have constant ones beside them.
CHANGING = {
    "CastExpression": ("right",),
    "MultipleConcatenationExpression": ("concatenation",),
    "InsideExpression": ("expr",),
    "AscendingRangeSelect": ("left",),
    "DescendingRangeSelect": ("left",),
    "SimpleRangeSelect": (),
    "AssignmentPatternItem": ("expr",),
    "IfGenerate": ("block", "elseClause"),
    "CaseGenerate": ("items",),
    "LoopGenerate": ("block",),
    "LoopStatement": ("statement",),
    "ForLoopStatement": ("statement",),
    "ForeachLoopStatement": ("statement",),
    "StandardCaseItem": ("clause",),
}
CHANGING_CALLS = ("$signed", "$unsigned", "$countones", "$onehot", "$onehot0")
SIGNAL = re.compile(r"(?<![\w'$.])[a-z]\w*+(?!'|::)")  # parameters and constants have capitals
NUMBER = re.compile(r"(\d*'s?)([bdho])([0-9a-f_]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Mutant:
    """One change: `before`, at the bytes from `start` to `end` of `file` (its path in rtl/), becomes `after`.

    text  the line that it is in
    """

    file: str
    line: int
    text: str
    start: int
    end: int
    kind: str
    before: str
    after: str

    @property
    def folder(self) -> str:
        return self.file.partition("/")[0]

    def edits(self, number: int) -> Iterator[tuple[tuple[int, ...], bytes]]:
        """Where what is inserted, and in which order: ends before starts, outer mutants around inner ones."""
        if self.kind == "drop":
            opening, closing = f"begin if (mutant_pkg::active != 32'd{number}) ", " end"
        else:
            opening, closing = f"(mutant_pkg::active == 32'd{number} ? {self.after} : ", ")"
        yield (self.start, 1, -self.end), opening.encode()
        yield (self.end, 0, -self.start), closing.encode()


def draw(rtl: Path, count: int, seed: int) -> list[Mutant]:
    """`count` mutants, in random order: of each folder as many as its share of all that there are, but at least LEAST,
    and of each kind the same number as far as there are as many."""
    chance = random.Random(seed)
    folders: dict[str, dict[str, list[Mutant]]] = {folder: defaultdict(list) for folder in FOLDERS}
    every = _mutants(rtl)
    for mutant in every:
        folders[mutant.folder][mutant.kind].append(mutant)
    drawn = []
    for kinds in filter(None, folders.values()):
        share = count * sum(map(len, kinds.values())) / len(every)
        for places in kinds.values():
            chance.shuffle(places)
        for turn in range(max(LEAST, round(share))):
            drawn.append(list(kinds.values())[turn % len(kinds)].pop())
    chance.shuffle(drawn)
    return drawn


def write(rtl: Path, drawn: list[Mutant]) -> None:
    """Write the mutants into the files of `rtl`; the first one has the number 1."""
    edits: dict[str, list[tuple[tuple[int, ...], bytes]]] = defaultdict(list)
    for number, mutant in enumerate(drawn, 1):
        edits[mutant.file] += mutant.edits(number)
    for file, inserted in edits.items():
        source = (rtl / file).read_bytes()
        for place, text in sorted(inserted, reverse=True):
            source = source[: place[0]] + text + source[place[0] :]
        (rtl / file).write_bytes(PACKAGE.encode() + source)


def _mutants(rtl: Path) -> list[Mutant]:
    files = {str(path.relative_to(rtl)): path for folder in FOLDERS for path in sorted((rtl / folder).rglob("*.sv"))}
    trees = {file: (_parse(path), _parse(path, "SYNTHESIS")) for file, path in files.items()}
    constant = _constant_functions([tree for both in trees.values() for tree in both])
    found = []
    for file, (simulated, synthesised) in trees.items():
        source = files[file].read_bytes()
        real = {(node.sourceRange.start.offset, node.kind) for node in _changing(synthesised, constant)}
        for node in _changing(simulated, constant):
            start, end = node.sourceRange.start.offset, node.sourceRange.end.offset
            before, line = source[start:end].decode(), source.count(b"\n", 0, start) + 1
            if (start, node.kind) in real and (change := _change(node, before)):
                text = source.splitlines()[line - 1].decode().strip()
                found.append(Mutant(file, line, text, start, end, change[0], before, change[1]))
    return found


def _parse(path: Path, *defines: str) -> SyntaxNode:
    options = PreprocessorOptions()
    options.predefines = list(defines)
    return SyntaxTree.fromFile(str(path), SyntaxTree.getDefaultSourceManager(), Bag([options])).root


def _changing(node: SyntaxNode, constant: set[str]) -> Iterator[SyntaxNode]:
    """The nodes whose values may change at run time; functions of the names `constant` are left out."""
    kind = node.kind.name
    if CONSTANT.search(kind) or (kind == "DataDeclaration" and not str(node).strip().startswith("automatic")):
        return
    if kind == "FunctionDeclaration" and str(node.prototype.name).strip() in constant:
        return
    if kind == "InvocationExpression" and (name := _called(node)).startswith("$") and name not in CHANGING_CALLS:
        return
    yield node
    parts = ("right",) if kind.endswith("AssignmentExpression") else CHANGING.get(kind)
    for child in node if parts is None else [getattr(node, part) for part in parts]:
        if isinstance(child, SyntaxNode):
            yield from _changing(child, constant)


def _below(node: SyntaxNode, kind: str) -> Iterator[SyntaxNode]:
    if node.kind.name == kind:
        yield node
    for child in node:
        if isinstance(child, SyntaxNode):
            yield from _below(child, kind)


def _called(node: SyntaxNode) -> str:
    return str(node.left).strip().rpartition("::")[2]


def _constant_functions(trees: list[SyntaxNode]) -> set[str]:
    """Functions that are called where only a constant may stand, and what these call."""
    names: set[str] = set()
    bodies: dict[str, set[str]] = defaultdict(set)
    for tree in trees:
        changing = {
            node.sourceRange.start.offset for node in _changing(tree, set()) if node.kind.name == "InvocationExpression"
        }
        for call in _below(tree, "InvocationExpression"):
            if call.sourceRange.start.offset not in changing:
                names.add(_called(call))
        for function in _below(tree, "FunctionDeclaration"):
            bodies[str(function.prototype.name).strip()] |= {
                _called(call) for call in _below(function, "InvocationExpression")
            }
    while further := {called for name in names for called in bodies[name]} - names:
        names |= further
    return names


def _change(node: SyntaxNode, before: str) -> tuple[str, str] | None:
    """The kind of mutant that `node` gives, and its text."""
    kind = node.kind.name
    if kind in ("IntegerLiteralExpression", "UnbasedUnsizedLiteralExpression", "IntegerVectorExpression"):
        if before in ("'0", "'1"):
            return "literal", {"'0": "'1", "'1": "'0"}[before]
        if before.isdigit():
            return "literal", str(int(before) + 1)
        if number := NUMBER.fullmatch(before):
            base = {"b": 2, "d": 10, "h": 16, "o": 8}[number[2].lower()]
            return "literal", f"{number[1]}d{int(number[3], base) ^ 1}"
        return None
    if not SIGNAL.search(before) or before == "rst":
        return None
    if kind == "ExpressionStatement" and node.expr.kind.name == "NonblockingAssignmentExpression":
        return "drop", ""
    if kind == "ConditionalPredicate":
        return "negate", f"!({before})"
    if kind in ("UnaryLogicalNotExpression", "UnaryBitwiseNotExpression"):
        return "operator", f"({before[1:]})"
    swapped = SWAPS.get(node.operatorToken.valueText) if isinstance(node, BinaryExpressionSyntax) else None
    if swapped and not kind.endswith("AssignmentExpression"):
        at = node.operatorToken.range.start.offset - node.sourceRange.start.offset
        left, right = before.encode()[:at], before.encode()[at + len(node.operatorToken.valueText) :]
        return "operator", f"{left.decode()}{swapped}{right.decode()}"
    return None
