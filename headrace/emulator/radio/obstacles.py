"""Obstacles: prisms over a polygon, which weaken what passes through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.emulator.tables import Values

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Obstacle:
    """``corners`` (corners, 2) in metres, from ``base_m`` to ``height_m``. It takes ``loss_db`` from what passes
    through it, and ``loss_db_per_m`` for each metre in it; infinite: nothing passes."""

    name: str
    corners: Floats
    base_m: float
    height_m: float
    loss_db: float
    loss_db_per_m: float

    def inside_m(self, here: Floats, there: Floats) -> Floats:
        """Metres that lines between places (links, 3) are inside: (links,)."""
        way = there - here
        cuts = [np.zeros(len(here)), np.ones(len(here))]
        with np.errstate(divide="ignore", invalid="ignore"):
            for level in (self.base_m, self.height_m):
                cuts.append((level - here[:, 2]) / way[:, 2])
            for begin, end in zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True):
                edge = end - begin
                across = way[:, 0] * edge[1] - way[:, 1] * edge[0]
                cuts.append(((begin[0] - here[:, 0]) * edge[1] - (begin[1] - here[:, 1]) * edge[0]) / across)
        parts = np.sort(np.clip(np.nan_to_num(np.array(cuts).T, nan=0.0, posinf=1.0, neginf=0.0), 0, 1), axis=1)
        middles = (parts[:, 1:] + parts[:, :-1]) / 2
        places = here[:, None] + middles[:, :, None] * way[:, None]
        within = self._within(places[..., :2]) & (self.base_m <= places[..., 2]) & (places[..., 2] < self.height_m)
        share: Floats = (np.diff(parts, axis=1) * within).sum(axis=1)
        metres: Floats = share * np.linalg.norm(way, axis=1)
        return metres

    def loss(self, here: Floats, there: Floats) -> Floats:
        """dB that it takes from links: (links,)."""
        inside = self.inside_m(here, there)
        with np.errstate(invalid="ignore"):
            return np.where(inside > 1e-9, self.loss_db + self.loss_db_per_m * inside, 0.0)

    def _within(self, places: Floats) -> NDArray[np.bool_]:
        """Whether places (..., 2) are in the polygon: an odd number of edges is to the right."""
        x, y = places[..., 0], places[..., 1]
        odd = np.zeros(x.shape, dtype=bool)
        for (x0, y0), (x1, y1) in zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True):
            if y0 != y1:
                odd ^= ((y0 > y) != (y1 > y)) & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
        return odd

    def described(self) -> dict[str, Any]:
        """As plain data."""
        corners = self.corners.tolist()
        return {"name": self.name, "corners_m": corners, "base_m": self.base_m, "height_m": self.height_m}


def read_obstacle(table: Mapping[str, Any], name: str) -> Obstacle:
    """From a scenario's table: a ``box`` of two corners or a ``polygon``. Raises HeadraceError with the key."""
    values = Values(table, f"obstacles.{name}")
    values.only("box", "polygon", "base_m", "height_m", "loss_db", "loss_db_per_m")
    if ("box" in table) == ("polygon" in table):
        raise values.wrong("box" if "box" in table else "polygon", "there must be either a box or a polygon")
    key, what = ("box", "two corners") if "box" in table else ("polygon", "three or more corners")
    corners = values.rows(key, 2, what=what)
    if len(corners) != 2 if key == "box" else len(corners) < 3:
        raise values.wrong(key, f"not {what}")
    if key == "box":
        (x0, y0), (x1, y1) = corners
        corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    base_m, height_m = values.number("base_m", 0.0), values.number("height_m", 1e9, endless=True)
    if height_m <= base_m:
        raise values.wrong("height_m", "not above base_m")
    return Obstacle(
        name,
        corners,
        base_m,
        height_m,
        values.number("loss_db", 0.0, least=0, endless=True),
        values.number("loss_db_per_m", 0.0, least=0, endless=True),
    )


def loss(obstacles: Sequence[Obstacle], here: Floats, there: Floats) -> Floats:
    """dB of all of them."""
    found = np.zeros(len(here))
    for obstacle in obstacles:
        found += obstacle.loss(here, there)
    return found
