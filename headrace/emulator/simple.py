"""Movement and physics at their simplest: nodes that stand or wander, links as far as a range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.errors import HeadraceError

_LIGHT_MPS = 299_792_458.0


@dataclass(frozen=True)
class LinkState:
    """A link between two nodes: metres, ns, bits per second, the part of the frames that is lost."""

    distance_m: float
    delay_ns: int
    rate_bps: float
    loss: float


class Movement:
    """Where nodes are: ``legs`` has for each node times in seconds (shape (legs,)) and places in metres (legs, 3),
    between which it goes at an even speed."""

    def __init__(
        self, names: Sequence[str], legs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], duration_s: float
    ) -> None:
        self.names, self._legs, self.duration_s = tuple(names), legs, duration_s

    def at(self, time_s: float) -> NDArray[np.float64]:
        """Places at a time, in metres: (nodes, 3)."""
        return np.array([[np.interp(time_s, times, axis) for axis in places.T] for times, places in self._legs])


def read_movement(table: dict[str, Any], folder: Path, names: Sequence[str]) -> Movement:  # noqa: ARG001
    """From a scenario's table. Raises HeadraceError with the key."""
    kind = table.get("kind")
    if kind == "static":
        _only(table, "kind", "positions")
        places = _numbers(table, "positions")
        if places.shape not in ((len(names), 2), (len(names), 3)):
            raise HeadraceError(f"movement.positions: not {len(names)} places of 2 or 3 numbers", 2)
        whole = np.zeros((len(names), 3))
        whole[:, : places.shape[1]] = places
        return Movement(names, [(np.zeros(1), place[None]) for place in whole], math.inf)
    if kind == "random-waypoint":
        _only(table, "kind", "area_m", "speed_mps", "seed", "duration_s")
        area, speed = _numbers(table, "area_m"), _numbers(table, "speed_mps")
        if area.shape != (2,) or not (area > 0).all():
            raise HeadraceError("movement.area_m: not two lengths", 2)
        if speed.shape != (2,) or not 0 < speed[0] <= speed[1]:
            raise HeadraceError("movement.speed_mps: not the least and the greatest speed", 2)
        duration_s = float(_numbers(table, "duration_s", 3600.0))
        rng = np.random.default_rng(int(_numbers(table, "seed", 0)))
        return Movement(names, [_wander(rng, area, speed, duration_s) for _ in names], duration_s)
    raise HeadraceError(f"movement.kind: {kind!r} is neither static nor random-waypoint", 2)


def _wander(
    rng: np.random.Generator, area: NDArray[np.float64], speed: NDArray[np.float64], duration_s: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    times, places = [0.0], [rng.random(2) * area]
    while times[-1] < duration_s:
        places.append(rng.random(2) * area)
        times.append(times[-1] + float(np.linalg.norm(places[-1] - places[-2])) / rng.uniform(*speed))
    return np.array(times), np.pad(np.array(places), ((0, 0), (0, 1)))


class Radio:
    """Links of one rate and loss, as far as ``range_m``."""

    def __init__(self, range_m: float, rate_bps: float, loss: float) -> None:
        self._range_m, self._rate_bps, self._loss = range_m, rate_bps, loss

    def links(
        self, positions: NDArray[np.float64], phys: int, old: frozenset[tuple[int, int]] = frozenset()
    ) -> dict[tuple[int, int], LinkState]:
        """The links by their nodes (the lower one first), at most ``phys`` a node: those that there are stay, then the
        shorter ones come first."""
        distances = np.linalg.norm(positions[:, None] - positions[None], axis=2)
        pairs = [(int(a), int(b)) for a, b in np.argwhere(np.triu(distances <= self._range_m, 1))]
        free, found = [phys] * len(positions), {}
        for a, b in sorted(pairs, key=lambda pair: (pair not in old, distances[pair], pair)):
            if free[a] and free[b]:
                free[a] -= 1
                free[b] -= 1
                distance = float(distances[a, b])
                found[a, b] = LinkState(distance, round(distance / _LIGHT_MPS * 1e9), self._rate_bps, self._loss)
        return found


def read_radio(table: dict[str, Any]) -> Radio:
    """From a scenario's table. Raises HeadraceError with the key."""
    _only(table, "range_m", "rate_bps", "loss", where="radio")
    reach, rate, loss = (
        float(_numbers(table, key, default, "radio"))
        for key, default in (("range_m", None), ("rate_bps", 54e6), ("loss", 0.0))
    )
    if reach <= 0 or rate <= 0:
        raise HeadraceError(f"radio.{'range_m' if reach <= 0 else 'rate_bps'}: not above 0", 2)
    if not 0 <= loss < 1:
        raise HeadraceError("radio.loss: not from 0 to below 1", 2)
    return Radio(reach, rate, loss)


def _only(table: dict[str, Any], *keys: str, where: str = "movement") -> None:
    for key in table:
        if key not in keys:
            raise HeadraceError(f"{where}.{key}: no such key: there are {', '.join(keys)}", 2)


def _numbers(table: dict[str, Any], key: str, default: Any = None, where: str = "movement") -> NDArray[np.float64]:
    value = table.get(key, default)
    if value is None:
        raise HeadraceError(f"{where}: no key {key}", 2)
    try:
        found = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise HeadraceError(f"{where}.{key}: not of numbers", 2) from None
    if (default is not None and found.ndim) or not np.isfinite(found).all():
        raise HeadraceError(f"{where}.{key}: not {'a number' if default is not None else 'of finite numbers'}", 2)
    return found
