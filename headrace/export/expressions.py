# SPDX-License-Identifier: Apache-2.0
"""Sizes as expressions of Verilog-2005."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable


def bracketed(expression: str) -> str:
    """In parentheses, unless it is a single word."""
    bare = re.fullmatch(r"\w+|(?:\$clog2)?\((.*)\)", expression)
    return expression if bare and _balanced(bare[1] or "") else f"({expression})"


def _balanced(text: str) -> bool:
    """No bracket of it is closed by one before its own."""
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0


def has_names(expression: str) -> bool:
    """Whether there are parameters in it."""
    return bool(re.search(r"(?<![\w$'])[A-Za-z_]", expression))


def verilog_number(value: int, width: int) -> str:
    """A parameter's value in Verilog."""
    return f"{width}'h{value:x}" if width > 1 else f"{width}'b{value}" if width else str(value)


def size_of_range(top: str, low: str) -> str:
    """Elements of a range."""
    if top.isdecimal() and low.isdecimal():
        return str(int(top) - int(low) + 1)
    if low == "0" and (match := re.fullmatch(r"(\w+|(?:\$clog2)?\(.*\)|[\w*/ ]+) ?- ?1", top)) and _balanced(match[1]):
        return match[1]
    return f"{bracketed(top)} + 1" if low == "0" else f"{bracketed(top)} - {bracketed(low)} + 1"


def high(size: str) -> str:
    """The highest index of a vector of so many bits."""
    return str(int(size) - 1) if size.isdecimal() else f"{bracketed(size)} - 1"


def product(sizes: Iterable[str]) -> str:
    """Of sizes."""
    factors = [each for each in sizes if each != "1"]
    if all(factor.isdecimal() for factor in factors):
        return str(math.prod(map(int, factors)))
    return factors[0] if len(factors) == 1 else " * ".join(map(bracketed, factors))
