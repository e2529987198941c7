# SPDX-License-Identifier: Apache-2.0
"""Counts what a model evaluates in every cycle, whatever happens: operators in Verilator's C++ outside of any ``if``.

No run and no compiler is needed, and one operator is about one instruction. What stands in an ``always_ff`` under a
condition counts nothing; what reads registers of a gated clock only counts in cycles in which that clock ticks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_OPERATOR = re.compile(r"\w\[|[-+|&^~?]|<<|>>|==|VL_\w+")
_FUNCTION = re.compile(r"^(?:VL_\w+ )*void (Vcard\w*?___\w+)\([^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"\b(Vcard\w*___(?:nba|ico)_\w+)\(")
_UNCOUNTED = re.compile(  # comments, and what functions begin with
    r"//[^\n]*|/\*.*?\*/|^ +(?:VL_DEBUG_IF\(|\w+__Syms\* const |auto& vlSelfRef )[^\n]*", re.MULTILINE | re.DOTALL
)
_BLOCK = re.compile(r"^\s*(?:if|else|for|while|switch|do)\b|^\s*$")
_TRIGGER = re.compile(r"trigger index (\d+) is active: @\((\w+) (.*)\)\\n")
_MASK = re.compile(r"^\s*if \(\(+(\w+?)U?L{0,2} & vlSelfRef\.__VnbaTriggered\[(\d+)U\]")
_CONDITION = re.compile(r"^    (if \(.*?)\{\n(.*?)^    \}", re.MULTILINE | re.DOTALL)
_CLOCK = "clk"  # of a card, which ticks in every cycle


@dataclass(frozen=True)
class Operators:
    """Of a model: in all; those evaluated in a cycle in which every clock ticks; and in one in which all gates are
    closed. A module that isn't inlined counts for each of its instances."""

    all: int
    awake: int
    asleep: int


def count(model: Path) -> Operators:
    """In a folder with Verilator's output, as ``models.translate`` writes it."""
    read = _Model(model)
    found = read.evaluated()
    return Operators(read.total, sum(found.values()), sum(n for (clocks, _), n in found.items() if "" in clocks))


class _Model:
    """The functions of a model, and the clocks that call them."""

    def __init__(self, folder: Path) -> None:
        self._functions: dict[str, str] = {}
        triggers: dict[int, str] = {}
        for path in sorted(folder.glob("*.cpp")):
            text = path.read_text()
            triggers |= {int(i): "" if clock == _CLOCK else clock for i, _, clock in _TRIGGER.findall(text)}
            if "Slow" not in path.name:
                self._functions |= {name: _UNCOUNTED.sub("", body) for name, body in _FUNCTION.findall(text)}
        self._triggers = triggers
        self.total = sum(
            len(_OPERATOR.findall(body)) for name, body in self._functions.items() if re.search("___(nba|ico)_", name)
        )

    def evaluated(self) -> Counter[tuple[frozenset[str], str]]:
        """Operators of each variable that are evaluated when one of several clocks ticks; "" is the card's own."""
        found: Counter[tuple[frozenset[str], str]] = Counter()
        for name, body in self._functions.items():
            if name.endswith("___eval_ico"):
                for text in _calls(body):
                    self._add(found, frozenset({""}), text)
            if name.endswith("___eval_nba"):
                for head, inside in _blocks(body):
                    mask = _MASK.match(head)
                    bits = int(mask[1], 0) << 64 * int(mask[2]) if mask else -1
                    clocks = frozenset(clock for i, clock in self._triggers.items() if bits >> i & 1)
                    for statement in _plain(inside):
                        self._add(found, clocks, statement)
        return found

    def _add(self, found: Counter[tuple[frozenset[str], str]], clocks: frozenset[str], statement: str) -> None:
        if call := _CALL.search(statement):
            for inner in _plain(self._functions[call[1]]):
                self._add(found, clocks, inner)
        else:
            found[clocks, statement.partition("=")[0].strip()] += len(_OPERATOR.findall(statement))


def _calls(body: str) -> Iterator[str]:
    return (line for line in body.splitlines() if _CALL.search(line))


def _blocks(body: str) -> Iterator[tuple[str, str]]:
    """Conditions at the outermost level, each with what depends on it."""
    for match in _CONDITION.finditer(body):
        yield match[1], match[2]


def _plain(body: str) -> Iterator[str]:
    """Statements, and conditions of blocks, that depend on no condition."""
    depth = start = parentheses = initial = 0
    for at, character in enumerate(body):
        if character == "(":
            parentheses += 1
        elif character == ")":
            parentheses -= 1
        elif parentheses:
            continue
        elif character == "{":
            if initial or not _BLOCK.match(body[start:at]):
                initial += 1  # of an array's values
                continue
            if depth == 0:
                yield body[start:at]
            depth, start = depth + 1, at + 1
        elif character == "}":
            if initial:
                initial -= 1
                continue
            depth, start = depth - 1, at + 1
        elif character == ";" and not initial:
            if depth == 0:
                yield body[start:at]
            start = at + 1
