"""Which places of the switch's memories are free, and when one that packets may still point to is free again."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator

_WRAP = 1 << 32


class Numbers:
    """Numbers ``first`` to ``last``, of things that are used one at a time."""

    def __init__(self, first: int, last: int) -> None:
        self._next, self._last = first, last
        self._freed: list[int] = []

    def take(self) -> int | None:
        """A free number; None: there is none."""
        if self._freed:
            return self._freed.pop()
        if self._next > self._last:
            return None
        self._next += 1
        return self._next - 1

    def free(self, number: int) -> None:
        """Gives one back."""
        self._freed.append(number)


class Places:
    """Runs of places from 1 to ``last``. Neighbours that are free are one run. A run is taken from the smallest free
    one that is long enough, the first of these: so long runs stay."""

    def __init__(self, last: int) -> None:
        self._by_start: dict[int, int] = {}
        self._by_end: dict[int, int] = {}
        self._by_length: list[tuple[int, int]] = []  # length and start, in order
        if last > 0:
            self._put(1, last)

    def take(self, length: int) -> int | None:
        """The first place of so many; None: there is no room."""
        found = bisect_left(self._by_length, (length, 0))
        if found == len(self._by_length):
            return None
        run, start = self._by_length[found]
        self._drop(start, run)
        if run > length:
            self._put(start + length, run - length)
        return start

    def free(self, start: int, length: int) -> None:
        """Gives a run back."""
        if before := self._by_end.get(start):
            self._drop(start - before, before)
            start, length = start - before, length + before
        if behind := self._by_start.get(start + length):
            self._drop(start + length, behind)
            length += behind
        self._put(start, length)

    def _put(self, start: int, length: int) -> None:
        self._by_start[start] = self._by_end[start + length] = length
        insort(self._by_length, (length, start))

    def _drop(self, start: int, length: int) -> None:
        del self._by_start[start], self._by_end[start + length]
        del self._by_length[bisect_left(self._by_length, (length, start))]


class Quarantine:
    """What no new packet points to any more, but packets in the card may. ``entered`` and ``left`` count packets into
    and out of it, modulo 2^32; ``settle`` is called before anything is given back."""

    def __init__(self, entered: Callable[[], int], left: Callable[[], int], settle: Callable[[], None]) -> None:
        self._entered, self._left, self._settle = entered, left, settle
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()

    def __bool__(self) -> bool:
        """Whether something waits."""
        return bool(self._waiting)

    def put(self, release: Callable[[], None]) -> None:
        """Calls ``release`` in a ``sweep`` when all packets that are inside now have left."""
        self._waiting.append((self._entered(), release))

    def sweep(self) -> bool:
        """Gives back what is free by now; says whether that was something."""
        ready = list(self._ready())
        if ready:
            self._settle()
        for release in ready:
            release()
        return bool(ready)

    def _ready(self) -> Iterator[Callable[[], None]]:
        left = self._left() if self._waiting else 0
        while self._waiting and (left - self._waiting[0][0]) % _WRAP < _WRAP // 2:
            yield self._waiting.popleft()[1]
