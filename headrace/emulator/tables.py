"""Values of a scenario's tables: what is wrong is said with the key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headrace.errors import HeadraceError

T = TypeVar("T")

MOST_DB = 300.0
"""Of a power, a gain or a spread: more than there is anywhere."""

_SMALLEST, _LARGEST = 1e-18, 1e18
OUT_OF_SIZE = f"neither 0 nor from {_SMALLEST:g} to {_LARGEST:g} in size"


def out_of_size(values: float | NDArray[np.float64]) -> bool:
    """Whether a number is none to compute with, or one of several. Infinite ones are looked at elsewhere."""
    sizes = np.abs(values)
    return bool(np.any((sizes > _LARGEST) & (sizes < np.inf) | ((sizes > 0) & (sizes < _SMALLEST))))


class Values:
    """The values of a table. ``where``: its name in messages."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self.table, self.where = table, where

    def wrong(self, key: str, what: str) -> HeadraceError:
        """An error at a key."""
        return HeadraceError(f"{self.where}.{key}: {what}", 2)

    def only(self, *keys: str) -> None:
        """Raises HeadraceError where there is another key."""
        for key in self.table:
            if key not in keys:
                raise self.wrong(key, f"no such key: there are {', '.join(sorted(keys))}")

    def need(self, key: str, kind: type[T], what: str) -> T:
        """A value that must be there. Raises HeadraceError."""
        if key not in self.table:
            raise HeadraceError(f"{self.where}: no key {key}: {what}", 2)
        value = self.table[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(key, f"not {what}")
        return value

    def word(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """One of some words. Raises HeadraceError."""
        value = self.table.get(key, default)
        if value is None:
            raise HeadraceError(f"{self.where}: no key {key}: one of {', '.join(choices)}", 2)
        if value not in choices:
            raise self.wrong(key, f"{value!r} is none of {', '.join(choices)}")
        return str(value)

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false. Raises HeadraceError."""
        value = self.table.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "neither true nor false")
        return value

    def number(
        self, key: str, default: float | None = None, *, above: float = math.nan, least: float = -math.inf,
        below: float = math.nan, most: float = math.inf, endless: bool = False,
    ) -> float:  # fmt: skip
        """A number within bounds: above, at least, below, at most; an infinite one only where it is ``endless``. Raises
        HeadraceError."""
        value = self.table.get(key, default)
        if value is None:
            raise HeadraceError(f"{self.where}: no key {key}: a number", 2)
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise self.wrong(key, "not a number")
        if math.isinf(value) and not endless:
            raise self.wrong(key, "not a finite number")
        if out_of_size(value):
            raise self.wrong(key, OUT_OF_SIZE)
        for bad, what in (
            (value <= above, f"not above {above:g}"),
            (value < least, f"not at least {least:g}"),
            (value >= below, f"not below {below:g}"),
            (value > most, f"not at most {most:g}"),
        ):
            if bad:
                raise self.wrong(key, what)
        return float(value)

    def whole(self, key: str, default: int, least: int = 0, most: int | None = None) -> int:
        """A whole number. Raises HeadraceError."""
        value = self.table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(key, f"not a whole number of at least {least}")
        if most is not None and value > most:
            raise self.wrong(key, f"not a whole number of at most {most:,}")
        return value

    def rows(self, key: str, *columns: int, what: str) -> NDArray[np.float64]:
        """Rows of finite numbers, all as long as one of ``columns``; ``what`` says in words what they are. Raises
        HeadraceError."""
        return self._array(key, 2, columns, what)

    def row(self, key: str, *lengths: int, what: str, default: list[float] | None = None) -> NDArray[np.float64]:
        """One row of them. Raises HeadraceError."""
        if default is not None and key not in self.table:
            return np.array(default, dtype=np.float64)
        return self._array(key, 1, lengths, what)

    def _array(self, key: str, dimensions: int, lengths: tuple[int, ...], what: str) -> NDArray[np.float64]:
        if key not in self.table:
            raise HeadraceError(f"{self.where}: no key {key}: {what}", 2)
        try:
            found = np.array(self.table[key], dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise self.wrong(key, f"not {what}") from None
        if found.ndim != dimensions or not found.size or found.shape[-1] not in lengths or not np.isfinite(found).all():
            raise self.wrong(key, f"not {what}")
        if out_of_size(found):
            raise self.wrong(key, OUT_OF_SIZE)
        return found
