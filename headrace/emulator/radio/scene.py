"""What radios see at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headrace.emulator.movement import Movement
from headrace.emulator.movement.earth import occluded
from headrace.emulator.radio.state import Pair

_ROWS = 256


@dataclass(frozen=True)
class Scene:
    """``positions`` (nodes, 3) in metres at a time. ``present`` (nodes,): which nodes there are; None: all.
    ``visible``: pairs that see each other and their distances, where that is given; ``earth``: positions are
    earth-fixed, and the earth is in the way."""

    time_s: float
    positions: NDArray[np.float64]
    present: NDArray[np.bool_] | None = None
    visible: Mapping[Pair, float] | None = None
    earth: bool = False

    @classmethod
    def of(cls, movement: Movement, time_s: float) -> Scene:
        """Of a movement at a time."""
        return cls(
            time_s,
            movement.at(time_s),
            movement.present(time_s),
            movement.visible(time_s),
            movement.frame.earth,
        )

    def within(self, reach_m: float) -> tuple[NDArray[np.int_], NDArray[np.float64]]:
        """The pairs of nodes that see each other as far as ``reach_m``: indices (pairs, 2), distances (pairs,)."""
        if self.visible is not None:
            seen = [(*pair, distance) for pair, distance in sorted(self.visible.items()) if distance <= reach_m]
            found = np.array(seen, dtype=np.float64).reshape(-1, 3)
            return found[:, :2].astype(np.int_), found[:, 2]
        pairs, distances = [np.empty((0, 2), dtype=np.int_)], [np.empty(0)]
        for begin in range(0, len(self.positions), _ROWS):
            rows = self.positions[begin : begin + _ROWS]
            apart = np.linalg.norm(rows[:, None] - self.positions[None, begin:], axis=2)
            near = np.argwhere(np.triu(apart <= reach_m, 1))
            pairs.append(near + begin)
            distances.append(apart[near[:, 0], near[:, 1]])
        every, apart = np.concatenate(pairs), np.concatenate(distances)
        keep = np.ones(len(every), dtype=bool)
        if self.present is not None:
            keep &= self.present[every].all(axis=1)
        if self.earth:
            keep &= ~occluded(self.positions[every[:, 0]], self.positions[every[:, 1]])
        return every[keep], apart[keep]
