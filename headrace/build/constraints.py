"""Constraints between a card's parameters, checked before anything is built: comparisons of products, nothing more.

A comparison is ``PRODUCT OPERATOR PRODUCT`` with ``<=``, ``>=``, ``<``, ``>``, ``==`` or ``!=``; a product is names of
parameters and whole numbers with ``*`` between them: ``MAX_FRAME * 3 <= PACKET_KB * 2048``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_OPERATORS: Mapping[str, Callable[[int, int], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
_COMPARISON = re.compile(r"([\w\s*]+)(<=|>=|<|>|==|!=)([\w\s*]+)")
_FACTOR = re.compile(r"[A-Za-z_]\w*|[0-9][0-9_]*", re.ASCII)

Product = tuple[int | str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two products, of numbers and names of parameters, and what must hold between them."""

    left: Product
    operator: str
    right: Product

    @classmethod
    def parse(cls, text: str) -> Comparison:
        """Raises ValueError when ``text`` is no comparison of products."""
        match = _COMPARISON.fullmatch(text)
        if match is None:
            raise ValueError(f"'{text}' is no comparison such as 'A * 2 <= B'")
        left, sign, right = match.groups()
        return cls(_product(left, text), sign, _product(right, text))

    @property
    def names(self) -> list[str]:
        """The parameters it is about, in order of occurrence."""
        return [factor for factor in (*self.left, *self.right) if isinstance(factor, str)]

    def holds(self, values: Mapping[str, int | str]) -> bool:
        """Whether it is true of the given parameters, which must be whole numbers."""
        left, right = (_value(product, values) for product in (self.left, self.right))
        return _OPERATORS[self.operator](left, right)


@dataclass(frozen=True)
class Constraint:
    """Comparisons of which at least one must hold, and what to tell a user when none does."""

    any: tuple[Comparison, ...]
    message: str

    @property
    def names(self) -> list[str]:
        """The parameters it is about, each once."""
        return list(dict.fromkeys(name for comparison in self.any for name in comparison.names))

    def holds(self, values: Mapping[str, int | str]) -> bool:
        """Whether the given parameters, a card's all, go together."""
        return any(comparison.holds(values) for comparison in self.any)

    def refusal(self, values: Mapping[str, int | str]) -> str:
        """One line for a user whose parameters don't go together."""
        return f"parameters {', '.join(f'{name} = {values[name]}' for name in self.names)}: {self.message}"


def _value(product: Product, values: Mapping[str, int | str]) -> int:
    return math.prod(int(values[factor]) if isinstance(factor, str) else factor for factor in product)


def _product(text: str, comparison: str) -> Product:
    factors = [factor.strip() for factor in text.split("*")]
    for factor in factors:
        if not _FACTOR.fullmatch(factor):
            raise ValueError(f"'{comparison}': '{factor}' is neither a parameter nor a number")
    return tuple(int(factor) if factor[0].isdigit() else factor for factor in factors)
