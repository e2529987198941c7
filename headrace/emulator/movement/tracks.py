"""Movement from files of text: CSV, ns-2's setdest, BonnMotion."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headrace.emulator.movement.base import Floats, Leg
from headrace.emulator.movement.choose import chosen
from headrace.emulator.movement.samples import Samples, text, wrong

_COLUMNS = {
    "time": ("time", "time_s", "t"),
    "node": ("node", "name", "id"),
    "x": ("x", "x_m"),
    "y": ("y", "y_m"),
    "z": ("z", "z_m"),
    "latitude": ("latitude", "lat"),
    "longitude": ("longitude", "lon", "lng"),
    "height": ("height", "alt", "altitude", "ele", "height_m", "altitude_m"),
}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_NODE = r"\$node_\((\d+)\)"
_SET = re.compile(rf"{_NODE}\s+set\s+([XYZ])_\s+({_NUMBER})")
_AT = re.compile(rf'\$ns_\s+at\s+({_NUMBER})\s+"\s*{_NODE}\s+(?:setdest\s+({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})'
                 rf'|set\s+([XYZ])_\s+({_NUMBER}))\s*"')  # fmt: skip


def read_csv(path: Path) -> tuple[Samples, bool]:
    """Columns time (s), node, and x, y (z) in metres or latitude, longitude (degrees), height; whether it is the
    latter. Raises HeadraceError with the line."""
    lines = csv.reader(text(path).splitlines())
    head = [word.strip().lower() for word in next(lines, [])]
    columns = {
        name: next((head.index(each) for each in others if each in head), -1) for name, others in _COLUMNS.items()
    }
    geographic = columns["latitude"] >= 0
    axes = ["latitude", "longitude", "height"] if geographic else ["x", "y", "z"]
    for name in ("time", "node", *axes[:2]):
        if columns[name] < 0:
            raise wrong(path, 1, f"no column {name}: there must be time, node, and x, y or latitude, longitude")
    samples = Samples(path)
    for row in lines:
        if not any(word.strip() for word in row):
            continue
        if len(row) != len(head):
            raise wrong(path, lines.line_num, f"{len(row)} columns, and the first line has {len(head)}")
        try:
            time_s, *place = [
                float(row[columns[name]]) if columns[name] >= 0 and row[columns[name]].strip() else _missing(name)
                for name in ("time", *axes)
            ]
        except ValueError as error:
            raise wrong(path, lines.line_num, str(error)) from None
        samples.add(row[columns["node"]].strip(), time_s, (place[0], place[1], place[2]), lines.line_num)
    return samples, geographic


def _missing(name: str) -> float:
    if name in ("z", "height"):
        return 0.0
    raise ValueError(f"no {name}")


def read_ns2(path: Path, names: Sequence[str]) -> list[Leg]:
    """ns-2's ``$node_(I) set X_``, and ``setdest X Y SPEED`` at times: node I of the scenario goes there, from where it
    is then. Other lines count for nothing. Raises HeadraceError with the line."""
    start = np.zeros((len(names), 3))
    orders: list[list[tuple[float, int, str, list[float]]]] = [[] for _ in names]
    for number, line in enumerate(text(path).splitlines(), 1):
        words = line.split("#", 1)[0].strip()
        if "$node_" not in words:
            continue
        if at := _AT.fullmatch(words):
            time_s, node, *move, axis, value = at.groups()
            when, *numbers = _finite(path, number, time_s, *([value] if axis else move))
            orders[_index(path, number, node, names)].append((when, number, axis or "", numbers))
        elif first := _SET.fullmatch(words):
            (place,) = _finite(path, number, first[3])
            start[_index(path, number, first[1], names), "XYZ".index(first[2])] = place
        else:
            raise wrong(path, number, f"neither set X_, Y_, Z_ nor setdest at a time: {words}")
    return [
        _walked(place, sorted(each, key=lambda order: order[:2])) for place, each in zip(start, orders, strict=True)
    ]


def _finite(path: Path, line: int, *words: str) -> list[float]:
    found = [float(word) for word in words]
    if not np.isfinite(found).all():
        raise wrong(path, line, "not a finite number")
    return found


def _index(path: Path, line: int, node: str, names: Sequence[str]) -> int:
    if int(node) >= len(names):
        raise wrong(path, line, f"node {node}, and the scenario has {len(names)}: 0 to {len(names) - 1}")
    return int(node)


def _walked(start: Floats, orders: list[tuple[float, int, str, list[float]]]) -> Leg:
    """The places between which a node goes, from orders that may come while it is on its way."""
    times, places = [0.0], [start]
    here, there, arrives = start, start, 0.0
    begin = 0.0
    for time_s, _, axis, numbers in orders:
        if time_s < arrives:  # it is on its way
            here = here + (there - here) * ((time_s - begin) / (arrives - begin))
        else:
            here = there
            times.append(arrives)
            places.append(here)
        times.append(time_s)
        places.append(here)
        begin = arrives = time_s
        there = here
        if axis:
            here = here.copy()
            here["XYZ".index(axis)] = numbers[0]
            there, arrives = here, math.nextafter(time_s, math.inf)  # it jumps
            times.append(arrives)
            places.append(here)
        elif numbers[2] > 0:
            there = np.array([numbers[0], numbers[1], here[2]])
            arrives = time_s + float(np.linalg.norm(there - here)) / numbers[2]
    times.append(arrives)
    places.append(there)
    return _ascending(times, places)


def read_bonnmotion(path: Path, names: Sequence[str], dimensions: int) -> list[Leg]:
    """BonnMotion's native format: a line for each node, of times and places. Raises HeadraceError with the line."""
    legs = []
    for number, line in enumerate(text(path).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            numbers = np.array([float(word) for word in line.split()])
        except ValueError as error:
            raise wrong(path, number, str(error)) from None
        if len(numbers) % (dimensions + 1) or not np.isfinite(numbers).all():
            raise wrong(path, number, f"{len(numbers)} numbers are not times with {dimensions} coordinates each")
        points = numbers.reshape(-1, dimensions + 1)
        if (np.diff(points[:, 0]) < 0).any():
            raise wrong(path, number, "times don't ascend")
        legs.append(_ascending(list(points[:, 0]), list(np.pad(points[:, 1:], ((0, 0), (0, 3 - dimensions))))))
    order = chosen(path, [f"n{number}" for number in range(1, len(legs) + 1)], names)
    return [legs[int(name[1:]) - 1] for name in order]


def _ascending(times: list[float], places: list[Floats]) -> Leg:
    """A leg without times that are there twice: the last place of each counts."""
    last = dict(zip(times, places, strict=True))
    return Leg(np.array(list(last)), np.array(list(last.values()), dtype=np.float64))
