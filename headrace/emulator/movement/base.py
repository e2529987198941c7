"""A timeline of positions: what all kinds of movement have, legs between places, and several kinds together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """What positions are relative to: ``earth``: its centre and fixed axes (WGS 84); otherwise axes to the east, north
    and up at ``origin_deg`` (latitude, longitude in degrees, height in metres), if that is known."""

    earth: bool = False
    origin_deg: tuple[float, float, float] | None = None


LOCAL = Frame()


class Movement:
    """Where the nodes ``names`` are until ``duration_s``, which may be infinite. ``notes``: what of a file is left out
    or taken otherwise than it stands there, in lines."""

    notes: tuple[str, ...] = ()

    def __init__(self, names: Sequence[str], duration_s: float, frame: Frame = LOCAL) -> None:
        self.names, self.duration_s, self.frame = tuple(names), duration_s, frame

    def at(self, time_s: float) -> Floats:
        """Positions at a time, in metres: (nodes, 3)."""
        raise NotImplementedError

    def present(self, time_s: float) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """Which nodes are there at all (nodes,); None: all."""
        return None

    def visible(self, time_s: float) -> Mapping[tuple[int, int], float] | None:  # noqa: ARG002
        """Where the source says itself who sees whom: the pairs (the lower index first) and their distances in metres;
        None: it doesn't."""
        return None


@dataclass(frozen=True)
class Leg:
    """A node's way: times in seconds (points,), ascending, and places in metres (points, 3)."""

    times: Floats
    places: Floats


class Legs(Movement):
    """Nodes that go from place to place at an even speed, or jump (``hold``), and stay before the first and behind the
    last. ``vanish``: they aren't there before and behind."""

    def __init__(
        self,
        names: Sequence[str],
        legs: Sequence[Leg],
        duration_s: float | None = None,
        frame: Frame = LOCAL,
        *,
        vanish: bool = False,
        hold: bool = False,
    ) -> None:
        last = max(float(leg.times[-1]) for leg in legs)
        moves = any(len(leg.times) > 1 for leg in legs)
        super().__init__(names, (last if moves else math.inf) if duration_s is None else duration_s, frame)
        self._legs, self._vanish, self._hold = legs, vanish, hold

    def at(self, time_s: float) -> Floats:
        """Between two places, where a node is at that time."""
        return np.array([self._place(leg, time_s) for leg in self._legs])

    def present(self, time_s: float) -> NDArray[np.bool_] | None:
        """Those whose way has begun and hasn't ended."""
        if not self._vanish:
            return None
        return np.array([bool(leg.times[0] <= time_s <= leg.times[-1]) for leg in self._legs])

    def _place(self, leg: Leg, time_s: float) -> Floats:
        after = int(np.searchsorted(leg.times, time_s, side="right"))
        if after == 0 or after == len(leg.times) or self._hold:
            still: Floats = leg.places[max(after - 1, 0)]
            return still
        (begin, end), (here, there) = leg.times[after - 1 : after + 1], leg.places[after - 1 : after + 1]
        moved: Floats = here + (there - here) * ((time_s - begin) / (end - begin))
        return moved


class Joined(Movement):
    """Several kinds of movement, each of some of the nodes, in the order of ``names``. All have the same frame."""

    def __init__(self, names: Sequence[str], parts: Sequence[Movement]) -> None:
        super().__init__(names, max(_finite(part.duration_s for part in parts)), parts[0].frame)
        given = [name for part in parts for name in part.names]
        self.notes = tuple(dict.fromkeys(line for part in parts for line in part.notes))
        self._parts, self._order = parts, [given.index(name) for name in names]

    def at(self, time_s: float) -> Floats:
        """Of all parts."""
        whole: Floats = np.concatenate([part.at(time_s) for part in self._parts])[self._order]
        return whole

    def present(self, time_s: float) -> NDArray[np.bool_] | None:
        """Of all parts."""
        found = [part.present(time_s) for part in self._parts]
        if all(each is None for each in found):
            return None
        every = [
            np.ones(len(part.names), dtype=bool) if each is None else each
            for part, each in zip(self._parts, found, strict=True)
        ]
        whole: NDArray[np.bool_] = np.concatenate(every)[self._order]
        return whole


def _finite(durations: object) -> list[float]:
    every = list(durations)  # type: ignore[call-overload]
    return [each for each in every if math.isfinite(each)] or [math.inf]
