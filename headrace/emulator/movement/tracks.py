"""Movement from files of text: CSV, ns-2's setdest, BonnMotion."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from headrace.emulator.movement.base import Floats, Leg
from headrace.emulator.movement.choose import chosen
from headrace.emulator.movement.notes import Notes, wrong
from headrace.emulator.movement.samples import Samples, text
from headrace.errors import HeadraceError

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
_NODE = r"\\?\$([A-Za-z]\w*?)(?:\((\d+)\)|(\d+))"
_SET = re.compile(rf"{_NODE}\s+set\s+([XYZ])_\s+({_NUMBER})(?=\s|;|$)")
_AT = re.compile(rf'\$\w+\s+at\s+({_NUMBER})\s+"\s*{_NODE}\s+(?:setdest\s+({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})'
                 rf'|set\s+([XYZ])_\s+({_NUMBER}))\s*"')  # fmt: skip
_MOVES = re.compile(r"\bsetdest\b|\bset\s+[XYZ]_")
_NO_TCL = re.compile(r"(#.*|\$god_\s+set-dist\s.*|\s*)", re.ASCII)


def read_csv(notes: Notes) -> tuple[Samples, bool]:
    """Columns time (s), node, and x, y (z) in metres or latitude, longitude (degrees), height; whether it is the
    latter. Lines that are wrong are left out. Raises HeadraceError with the line."""
    lines = csv.reader(text(notes.path).splitlines())
    head = [word.strip().lower() for word in next(lines, [])]
    columns = {
        name: next((head.index(each) for each in others if each in head), -1) for name, others in _COLUMNS.items()
    }
    geographic = columns["latitude"] >= 0
    axes = ["latitude", "longitude", "height"] if geographic else ["x", "y", "z"]
    for name in ("time", "node", *axes[:2]):
        if columns[name] < 0:
            raise wrong(notes.path, 1, f"no column {name}: there must be time, node, and x, y or latitude, longitude")
    samples = Samples(notes)
    try:
        for row in lines:
            if any(word.strip() for word in row):
                _row(samples, row, lines.line_num, len(head), columns, axes)
    except csv.Error as error:
        raise wrong(notes.path, lines.line_num, str(error)) from None
    notes.need(samples.names)
    return samples, geographic


def _row(
    samples: Samples, row: list[str], line: int, width: int, columns: Mapping[str, int], axes: Sequence[str]
) -> None:
    if len(row) != width:
        samples.notes.left_out(line, f"{len(row)} columns, and the first line has {width}")
        return
    try:
        time_s, *place = [
            float(row[columns[name]]) if columns[name] >= 0 and row[columns[name]].strip() else _missing(name)
            for name in ("time", *axes)
        ]
        name = row[columns["node"]].strip() or _missing("node")
    except ValueError as error:
        samples.notes.left_out(line, str(error))
    else:
        samples.add(str(name), time_s, (place[0], place[1], place[2]), line)


def _missing(name: str) -> float:
    if name in ("z", "height"):
        return 0.0
    raise ValueError(f"no {name}")


_Order = tuple[float, int, str, list[float]]
"""A time, the line, an axis or "", and where to go."""


def read_ns2(notes: Notes, names: Sequence[str]) -> list[Leg]:
    """ns-2's ``$node_(I) set X_``, and ``setdest X Y SPEED`` at times: node I of the scenario goes there, from where it
    is then. What else is in a script is not run, which is said; what moves otherwise is left out. Raises HeadraceError
    with the line."""
    start: dict[int, Floats] = {}
    orders: dict[int, list[_Order]] = {}
    array, others = "", 0

    def node(line: int, found: Sequence[str]) -> int | None:
        nonlocal array
        array = array or found[0]
        number = int(found[1] or found[2])
        if found[0] != array:
            notes.left_out(line, f"node {number} of ${found[0]}, and others are of ${array}")
        elif number >= len(names):
            notes.left_out(line, f"node {number}, and the scenario has {len(names)}: 0 to {len(names) - 1}")
        else:
            start.setdefault(number, np.zeros(3))
            return number
        return None

    for line, whole in enumerate(text(notes.path).splitlines(), 1):
        words = whole.strip()
        if _NO_TCL.fullmatch(words):
            continue
        for at in _AT.findall(words):
            numbers = [float(each) for each in (at[0], *([at[8]] if at[7] else at[4:7]))]
            if not np.isfinite(numbers).all():
                notes.left_out(line, "not a finite number")
            elif (which := node(line, at[1:4])) is not None:
                orders.setdefault(which, []).append((numbers[0], line, at[7], numbers[1:]))
        rest = _AT.sub("", words)
        for first in _SET.findall(rest):
            if not np.isfinite(float(first[4])):
                notes.left_out(line, "not a finite number")
            elif (which := node(line, first[:3])) is not None:
                start[which]["XYZ".index(first[3])] = float(first[4])
        rest = _SET.sub("", rest).split("#", 1)[0].strip("; \t")
        if _MOVES.search(rest):
            notes.left_out(line, f"neither set X_, Y_, Z_ nor setdest at a time, in numbers: {rest}")
        else:
            others += bool(rest)
    if not start:
        notes.need(start)
        raise HeadraceError(f"{notes.path}: no line moves a node", 2)
    if others:
        notes.say(f"{others:,} lines of Tcl that move no node are not run")
    if missing := [name for number, name in enumerate(names) if number not in start]:
        few = ", ".join([*missing[:3], *["..."] * (len(missing) > 3)])
        notes.say(f"{len(missing)} nodes have no place in it: {few}; they stand at 0, 0, 0")
    return [
        _walked(start.get(number, np.zeros(3)), sorted(orders.get(number, []), key=lambda order: order[:2]))
        for number in range(len(names))
    ]


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


def read_bonnmotion(notes: Notes, names: Sequence[str], dimensions: int) -> list[Leg]:
    """BonnMotion's native format: a line for each node, of times and places. Lines that are wrong are left out where
    the scenario hasn't their nodes. Raises HeadraceError with the line."""
    legs: list[Leg | HeadraceError] = []
    for number, line in enumerate(text(notes.path).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            legs.append(_points(line, dimensions))
        except ValueError as error:
            legs.append(wrong(notes.path, number, str(error)))
            notes.left_out(number, f"n{len(legs)}: {error}")
    order = chosen(notes, [f"n{number}" for number in range(1, len(legs) + 1)], names)
    found = []
    for name in order:
        leg = legs[int(name[1:]) - 1]
        if isinstance(leg, HeadraceError):
            raise leg
        found.append(leg)
    return found


def _points(line: str, dimensions: int) -> Leg:
    """Raises ValueError."""
    numbers = np.array([float(word) for word in line.split()])
    if len(numbers) % (dimensions + 1) or not np.isfinite(numbers).all():
        raise ValueError(f"{len(numbers)} numbers are not times with {dimensions} coordinates each")
    points = numbers.reshape(-1, dimensions + 1)
    if (np.diff(points[:, 0]) < 0).any():
        raise ValueError("times don't ascend")
    return _ascending(list(points[:, 0]), list(np.pad(points[:, 1:], ((0, 0), (0, 3 - dimensions)))))


def _ascending(times: list[float], places: list[Floats]) -> Leg:
    """A leg without times that are there twice: the last place of each counts."""
    last = dict(zip(times, places, strict=True))
    return Leg(np.array(list(last)), np.array(list(last.values()), dtype=np.float64))
