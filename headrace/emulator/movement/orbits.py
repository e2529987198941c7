"""Satellites: two-body orbits by their elements or as a Walker constellation, and SGP4 by two-line elements.

Positions are earth-fixed: the earth turns below the orbits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.emulator.movement import earth
from headrace.emulator.movement.base import Frame, Movement
from headrace.emulator.movement.choose import apart, chosen
from headrace.emulator.movement.notes import Notes
from headrace.emulator.movement.samples import text
from headrace.emulator.tables import Values
from headrace.errors import HeadraceError

Floats = NDArray[np.float64]

_FRESH_DAYS = 30
"""SGP4 is right to some km for days; after so many it may be a whole orbit off."""

_ELEMENTS = "semi-major axis (m), eccentricity, inclination, right ascension, argument of perigee, mean anomaly (deg)"


class Kepler(Movement):
    """Two-body orbits. ``elements`` (nodes, 6): semi-major axis in metres, eccentricity, then inclination, right
    ascension of the ascending node, argument of perigee and mean anomaly in radians; at time 0 the inertial axes are
    the earth's."""

    def __init__(self, names: Sequence[str], elements: Floats) -> None:
        super().__init__(names, math.inf, Frame(True))
        self._elements = elements

    def at(self, time_s: float) -> Floats:
        """By Kepler's equation."""
        return turned(self.inertial(time_s), earth.ROTATION_RAD_S * time_s)

    def inertial(self, time_s: float) -> Floats:
        """In axes that don't turn, in metres (nodes, 3)."""
        axis, eccentricity, inclination, ascension, perigee, anomaly = self._elements.T
        mean = anomaly + np.sqrt(earth.MU_M3_S2 / axis**3) * time_s
        mean = np.mod(mean + np.pi, 2 * np.pi) - np.pi
        eccentric = np.where(eccentricity > 0.8, np.copysign(np.pi, mean), mean)
        for _ in range(50):  # Newton; converges for every eccentricity below 1
            change = (eccentric - eccentricity * np.sin(eccentric) - mean) / (1 - eccentricity * np.cos(eccentric))
            eccentric = eccentric - change
            if np.abs(change).max() < 1e-14:
                break
        x = axis * (np.cos(eccentric) - eccentricity)
        y = axis * np.sqrt(1 - eccentricity**2) * np.sin(eccentric)
        along, across = np.cos(perigee) * x - np.sin(perigee) * y, np.sin(perigee) * x + np.cos(perigee) * y
        flat = np.cos(inclination) * across
        return np.stack(
            [
                np.cos(ascension) * along - np.sin(ascension) * flat,
                np.sin(ascension) * along + np.cos(ascension) * flat,
                np.sin(inclination) * across,
            ],
            axis=-1,
        )


class Sgp4(Movement):
    """Satellites by SGP4 from ``start`` on. Their frame, TEME, is turned by Greenwich's mean sidereal time alone:
    without polar motion, and with UTC for UT1, which is at most 0.5 km."""

    def __init__(self, names: Sequence[str], satellites: Sequence[object], start: tuple[float, float]) -> None:
        super().__init__(names, math.inf, Frame(True))
        self._satellites, self._start = satellites, start

    def at(self, time_s: float) -> Floats:
        """Raises HeadraceError where SGP4 has no answer, such as for a satellite that has come down."""
        from sgp4.api import SGP4_ERRORS
        from sgp4.propagation import gstime

        day, part = self._start[0], self._start[1] + time_s / 86_400
        found = np.empty((len(self.names), 3))
        for number, satellite in enumerate(self._satellites):
            error, place, _ = satellite.sgp4(day, part)  # type: ignore[attr-defined]
            if error:
                raise HeadraceError(f"node {self.names[number]} at {time_s:g} s: {SGP4_ERRORS[error]}")
            found[number] = place
        return turned(found * 1e3, gstime(day + part))


def turned(places: Floats, angle: float | Floats) -> Floats:
    """Inertial places (nodes, 3) in the axes of an earth that has turned by so many radians, all places or each."""
    x, y, z = places.T
    return np.stack([np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x, z], axis=-1)


def from_inertial(places: Floats, times: Floats) -> Floats:
    """Places (points, 3) in the axes of the stars (ICRF) at times in seconds since 1970, earth-fixed: by precession
    (Lieske et al., 1977) and mean sidereal time. Without nutation and polar motion, and with UTC for UT1, that is right
    to 1.5e-4 rad, 1 km in a low orbit."""
    from sgp4.propagation import gstime

    days = times / 86_400 + 2_440_587.5
    centuries = (days - 2_451_545) / 36_525
    zeta, theta, z = (
        np.radians(np.polyval([*terms, 0], centuries) / 3600)
        for terms in ((0.017998, 0.30188, 2306.2181), (-0.041833, -0.42665, 2004.3109), (0.018203, 1.09468, 2306.2181))
    )
    x, y, up = turned(places, -zeta).T
    tilted = np.stack([np.cos(theta) * x - np.sin(theta) * up, y, np.sin(theta) * x + np.cos(theta) * up], axis=-1)
    return turned(tilted, np.array([gstime(day) for day in days]) - z)


def kepler(values: Values, names: Sequence[str]) -> Movement:
    """By ``elements`` of each node. Raises HeadraceError."""
    values.only("kind", "nodes", "elements")
    rows = values.rows("elements", 6, what=f"{len(names)} times {_ELEMENTS}")
    if len(rows) != len(names):
        raise values.wrong("elements", f"not {len(names)} times {_ELEMENTS}")
    for row in rows:
        if not 0 <= row[1] < 1 or row[0] * (1 - row[1]) < earth.SEMI_MAJOR_M:
            raise values.wrong("elements", f"a = {row[0]:g} m, e = {row[1]:g}: not around the earth, or through it")
    return Kepler(names, np.column_stack([rows[:, :2], np.radians(rows[:, 2:])]))


def walker(values: Values, names: Sequence[str]) -> Movement:
    """A constellation i: T/P/F (Walker, 1984): circular orbits, T satellites (the nodes) in P planes, by F 360/T
    degrees further on in each next plane; ``spread_deg`` is 360 (delta) or 180 (star). Raises HeadraceError."""
    values.only("kind", "nodes", "altitude_m", "inclination_deg", "planes", "phasing", "spread_deg")
    altitude, inclination = values.number("altitude_m", above=0), values.number("inclination_deg", least=0, most=180)
    planes, phasing = values.whole("planes", 1, 1), values.whole("phasing", 0)
    spread = values.number("spread_deg", 360.0, above=0, most=360)
    if len(names) % planes:
        raise values.wrong("planes", f"{len(names)} nodes are not in {planes} planes of as many each")
    number = np.arange(len(names))
    plane, place = number // (len(names) // planes), number % (len(names) // planes)
    anomaly = 360 * place / (len(names) // planes) + phasing * 360 / len(names) * plane
    same = np.ones(len(names))
    angles = np.radians(np.column_stack([inclination * same, spread / planes * plane, 0 * same, anomaly]))
    return Kepler(names, np.column_stack([(earth.SEMI_MAJOR_M + altitude) * same, 0 * same, angles]))


def tle(values: Values, names: Sequence[str], notes: Notes) -> Movement:
    """From a file of two-line elements, with names before them or without. ``start``: when time 0 is; otherwise the
    first satellite's epoch. Of several elements of one satellite those nearest to it count; lines that are wrong are
    left out. Raises HeadraceError with file and line."""
    from sgp4.api import jday

    values.only("kind", "nodes", "file", "start")
    given = values.table.get("start")
    if given is not None and not isinstance(given, datetime):
        raise values.wrong("start", "not a date and time")
    elements = list(_elements(notes))
    notes.need(elements)
    if not elements:
        raise HeadraceError(f"{notes.path}: no two-line elements", 2)
    start = elements[0].epoch
    if given is not None:
        utc = given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)
        start = jday(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second + utc.microsecond / 1e6)
    satellites: dict[str, _Elements] = {}
    by_number: dict[str, str] = {}
    for each in elements:
        if (name := by_number.get(each.number)) is None:
            name = by_number[each.number] = apart(each.name, satellites)
            if name != each.name:
                notes.apart(each.line, f"satellite {each.number} is called {each.name}, too: it is the node {name}")
            satellites[name] = each
            continue
        near, far = sorted((satellites[name], each), key=lambda one: abs(one.days_to(start)))
        notes.left_out(far.line, f"satellite {each.number} ({name}) has elements that are nearer to the begin")
        satellites[name] = near
    picked = [satellites[name] for name in chosen(notes, list(satellites), names)]
    old = [(name, each) for name, each in zip(names, picked, strict=True) if abs(each.days_to(start)) > _FRESH_DAYS]
    if old:
        name, worst = max(old, key=lambda one: abs(one[1].days_to(start)))
        notes.say(
            f"{len(old)} of {len(picked)} satellites are over {_FRESH_DAYS} days from the epoch of their elements: "
            f"{name} (line {worst.line}) {abs(worst.days_to(start)):,.0f}; where they are then is a guess"
        )
    return Sgp4(names, [each.satellite for each in picked], start)


@dataclass(frozen=True)
class _Elements:
    """Of a satellite, by the number that catalogues have; ``line``: of the first of its lines."""

    name: str
    number: str
    line: int
    satellite: Any

    @property
    def epoch(self) -> tuple[float, float]:
        """Julian day, and a part of it."""
        return self.satellite.jdsatepoch, self.satellite.jdsatepochF

    def days_to(self, start: tuple[float, float]) -> float:
        """From its epoch."""
        return start[0] - self.epoch[0] + start[1] - self.epoch[1]


def _elements(notes: Notes) -> Iterator[_Elements]:
    """Those of a file that are right."""
    from sgp4.api import Satrec

    lines = [(number, line.rstrip()) for number, line in enumerate(text(notes.path).splitlines(), 1) if line.strip()]
    name, at = "", 0
    while at < len(lines):
        number, line = lines[at]
        at += 1
        if not re.match(r"[12] [ 0-9A-Z][ \d]{3}\d\D", line):
            if name:
                notes.left_out(number - 1, f"{name}: no elements follow")
            name = line.removeprefix("0 ").strip()
            continue
        called = name or line[2:7].strip()
        if not line.startswith("1 ") or at == len(lines) or not lines[at][1].startswith("2 "):
            notes.left_out(number, f"satellite {called}: line {line[0]} without a line {3 - int(line[0])}")
            continue
        below, second = lines[at]
        name, at = "", at + 1
        bad = next((where for where, each in ((number, line), (below, second)) if not _whole(each)), None)
        if bad is not None:
            notes.left_out(bad, f"satellite {called}: not a line of two-line elements: length or checksum is wrong")
            continue
        try:
            yield _Elements(called, line[2:7].strip(), number, Satrec.twoline2rv(line, second))
        except ValueError as error:
            notes.left_out(number, f"satellite {called}: {error}")
    if name:
        notes.left_out(lines[-1][0], f"{name}: no elements follow")


def _whole(line: str) -> bool:
    """Whether it has the length and the checksum of its kind."""
    return (
        len(line) == 69
        and str(sum(int(each) if each.isdecimal() else each == "-" for each in line[:68]) % 10) == line[68]
    )
