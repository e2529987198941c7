"""Where flows lie in the ternary part of a table: the first one that matches wins, so they are in the order of their
priorities, with free places between them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class TernaryOrder(Generic[T]):
    """Places 0 to ``size`` - 1."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._free = (1 << size) - 1  # a bit for each place
        self._ranks: list[int] = []  # of what is there, negative priorities: rising with the places
        self._places: list[int] = []
        self._things: list[T] = []

    def __len__(self) -> int:
        """Places that are taken."""
        return len(self._things)

    def insert(self, priority: int, thing: T) -> tuple[int, list[tuple[T, int, int]]] | None:
        """Finds a place; gives it and what must move before, in turn: the thing, its new place, its old one. None:
        there is no free place. Of a run of equal priorities a single one moves, from one end to the other."""
        if not self._free:
            return None
        low, high = bisect_left(self._ranks, -priority), bisect_right(self._ranks, -priority)
        first = self._places[low - 1] + 1 if low else 0
        end = self._places[high] if high < len(self._places) else self.size
        moves: list[tuple[T, int, int]] = []
        hole = self._free_near((first + end) // 2, first, end)
        if hole is None:
            below, above = self._free_below(first), self._free_above(end)
            if above is None or (below is not None and first - below <= above - end + 1):
                assert below is not None
                moves, hole = list(self._moves_down(below, low)), below
            else:
                moves, hole = list(self._moves_up(above, high)), above
            for thing_moved, new, old in moves:
                hole = old
                self._move(thing_moved, new, old)
        at = bisect_left(self._places, hole)
        self._ranks.insert(at, -priority)
        self._places.insert(at, hole)
        self._things.insert(at, thing)
        self._free &= ~(1 << hole)
        return hole, moves

    def remove(self, place: int) -> None:
        """Frees a place."""
        at = bisect_left(self._places, place)
        del self._ranks[at], self._places[at], self._things[at]
        self._free |= 1 << place

    def _move(self, thing: T, new: int, old: int) -> None:
        """Within a run of equal priorities, to the place behind or before it."""
        rank = self._ranks[bisect_left(self._places, old)]
        self.remove(old)
        at = bisect_left(self._places, new)
        self._ranks.insert(at, rank)
        self._places.insert(at, new)
        self._things.insert(at, thing)
        self._free &= ~(1 << new)

    def _moves_up(self, hole: int, high: int) -> Iterator[tuple[T, int, int]]:
        """Brings a hole down to where the run that begins at ``high`` begins."""
        at = bisect_left(self._places, hole) - 1
        while at >= high:
            at = max(bisect_left(self._ranks, self._ranks[at]), high)
            yield self._things[at], hole, self._places[at]
            hole = self._places[at]
            at -= 1

    def _moves_down(self, hole: int, low: int) -> Iterator[tuple[T, int, int]]:
        """Brings a hole up to where the run that ends before ``low`` ends."""
        at = bisect_left(self._places, hole)
        while at < low:
            at = min(bisect_right(self._ranks, self._ranks[at]), low) - 1
            yield self._things[at], hole, self._places[at]
            hole = self._places[at]
            at += 1

    def _free_near(self, middle: int, first: int, end: int) -> int | None:
        above = self._free_above(middle)
        if above is not None and above < end:
            return above
        below = self._free_below(middle)
        return below if below is not None and below >= first else None

    def _free_above(self, place: int) -> int | None:
        """The first free one from there on."""
        free = self._free >> place
        return place + (free & -free).bit_length() - 1 if free else None

    def _free_below(self, place: int) -> int | None:
        """The last free one before it."""
        free = self._free & (1 << place) - 1
        return free.bit_length() - 1 if free else None
