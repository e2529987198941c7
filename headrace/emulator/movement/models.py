"""Movement by models: nodes that stand, wander from waypoint to waypoint, or turn and change speed little by little."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headrace.emulator.movement.base import Leg, Legs, Movement
from headrace.emulator.movement.place import MARKS, placed
from headrace.emulator.tables import Values

Floats = NDArray[np.float64]
_MOST_UPDATES = 1_000_000  # of a node
_AREA = ("area_m", "seed", "duration_s")


def static(values: Values, names: Sequence[str]) -> Movement:
    """Nodes that stand at ``positions`` (metres) or at ``geographic`` ones (degrees). Raises HeadraceError."""
    values.only("kind", "nodes", "positions", "geographic", *MARKS)
    key = "geographic" if "geographic" in values.table else "positions"
    what = "latitudes, longitudes (and heights in metres)" if key == "geographic" else "places of 2 or 3 numbers"
    given = values.rows(key, 2, 3, what=f"{len(names)} {what}")
    if len(given) != len(names):
        raise values.wrong(key, f"not {len(names)} {what}")
    legs, frame = placed(values, [Leg(np.zeros(1), _three(place)[None]) for place in given], key == "geographic")
    return Legs(names, legs, math.inf, frame)


def _three(place: Floats) -> Floats:
    return np.pad(place, (0, 3 - len(place)))


def random_waypoint(values: Values, names: Sequence[str]) -> Movement:
    """Each node goes to a random place at a random speed, pauses, and goes on (Johnson and Maltz, 1996). Raises
    HeadraceError."""
    values.only("kind", "nodes", "speed_mps", "pause_s", *_AREA)
    area, seed, duration_s = _area(values)
    speed = values.row("speed_mps", 2, what="the least and the greatest speed")
    pause = values.row("pause_s", 2, what="the shortest and the longest pause", default=[0.0, 0.0])
    if not 0 < speed[0] <= speed[1]:
        raise values.wrong("speed_mps", "not the least and the greatest speed")
    if not 0 <= pause[0] <= pause[1]:
        raise values.wrong("pause_s", "not the shortest and the longest pause")
    mean_s = area.max() / 3 / speed[1] + pause[0]  # of a leg, at least: the mean distance along the longest side
    if duration_s > _MOST_UPDATES * mean_s:
        raise values.wrong("duration_s", f"more than {_MOST_UPDATES:,} waypoints of a node")
    return Legs(names, [_wander(rng, area, speed, pause, duration_s) for rng in _each(seed, names)], duration_s)


def _wander(rng: np.random.Generator, area: Floats, speed: Floats, pause: Floats, duration_s: float) -> Leg:
    times, places = [0.0], [rng.random(3) * area]
    while times[-1] < duration_s:
        stay_s = float(rng.uniform(*pause))
        if stay_s > 0:
            times.append(times[-1] + stay_s)
            places.append(places[-1])
        there = rng.random(3) * area
        distance = float(np.linalg.norm(there - places[-1]))
        times.append(times[-1] + max(distance / float(rng.uniform(*speed)), 1e-9))
        places.append(there)
    return Leg(np.array(times), np.array(places))


def gauss_markov(values: Values, names: Sequence[str]) -> Movement:
    """Speed and direction that remember (Liang and Haas, 1999; near the edges as Camp, Boleng and Davies, 2002).

    Every ``update_s``: s' = a s + (1 - a) mean + sqrt(1 - a^2) sigma w, the direction likewise; w is normal. Near an
    edge the mean direction is to the middle. Raises HeadraceError.
    """
    values.only(
        "kind", "nodes", "mean_speed_mps", "sigma_speed_mps", "sigma_direction_deg", "memory", "update_s", *_AREA
    )
    area, seed, duration_s = _area(values)
    speed = values.number("mean_speed_mps", above=0)
    sigmas = (
        values.number("sigma_speed_mps", speed / 4, least=0),
        math.radians(values.number("sigma_direction_deg", 30.0, least=0)),
    )
    memory = values.number("memory", 0.85, least=0, most=1)
    update_s = values.number("update_s", 1.0, above=0)
    if duration_s / update_s > _MOST_UPDATES:
        raise values.wrong("update_s", f"more than {_MOST_UPDATES:,} changes in {duration_s:g} s")
    legs = [_stroll(rng, area, speed, sigmas, memory, update_s, duration_s) for rng in _each(seed, names)]
    return Legs(names, legs, duration_s)


def _stroll(
    rng: np.random.Generator,
    area: Floats,
    mean_speed: float,
    sigmas: tuple[float, float],
    memory: float,
    update_s: float,
    duration_s: float,
) -> Leg:
    count = math.ceil(duration_s / update_s)
    places = np.empty((count + 1, 3))
    places[0] = rng.random(3) * area
    speed, heading = mean_speed, float(rng.uniform(0, 2 * math.pi))
    mean_heading = heading
    noise, rest = math.sqrt(1 - memory**2), 1 - memory
    edge = np.minimum(area[:2] / 10, 2 * mean_speed * update_s + 1)
    for number in range(count):
        here = places[number, :2]
        if ((here < edge) | (here > area[:2] - edge)).any():
            middle = area[:2] / 2 - here
            mean_heading = math.atan2(middle[1], middle[0])
            heading = _near(heading, mean_heading)
        speed = max(memory * speed + rest * mean_speed + noise * sigmas[0] * float(rng.normal()), 0.0)
        heading = memory * heading + rest * mean_heading + noise * sigmas[1] * float(rng.normal())
        step = speed * update_s * np.array([math.cos(heading), math.sin(heading)])
        places[number + 1, :2] = np.clip(here + step, 0, area[:2])
        places[number + 1, 2] = places[0, 2]
    return Leg(update_s * np.arange(count + 1.0), places)


def _near(angle: float, other: float) -> float:
    """The same angle, within half a turn of the other."""
    return other + (angle - other + math.pi) % (2 * math.pi) - math.pi


def _area(values: Values) -> tuple[Floats, int, float]:
    area = values.row("area_m", 2, 3, what="two lengths, or three: the third is the height")
    if not (area > 0).all():
        raise values.wrong("area_m", "not two lengths, or three: the third is the height")
    return _three(area), values.whole("seed", 0), values.number("duration_s", 3600.0, above=0, below=math.inf)


def _each(seed: int, names: Sequence[str]) -> list[np.random.Generator]:
    """A generator for each node: what one draws doesn't change what the others do."""
    return [np.random.default_rng([seed, number]) for number in range(len(names))]
