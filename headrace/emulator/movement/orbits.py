"""Satellites: two-body orbits by their elements or as a Walker constellation, and SGP4 by two-line elements.

Positions are earth-fixed: the earth turns below the orbits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headrace.emulator.movement import earth
from headrace.emulator.movement.base import Frame, Movement
from headrace.emulator.movement.choose import chosen
from headrace.emulator.movement.samples import text
from headrace.emulator.tables import Values
from headrace.errors import HeadraceError

Floats = NDArray[np.float64]

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


def turned(places: Floats, angle: float) -> Floats:
    """Inertial places (nodes, 3) in the axes of an earth that has turned by so many radians."""
    x, y, z = places.T
    return np.stack([math.cos(angle) * x + math.sin(angle) * y, math.cos(angle) * y - math.sin(angle) * x, z], axis=-1)


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


def tle(values: Values, names: Sequence[str], path: Path) -> Movement:
    """From a file of two-line elements, with names before them or without. ``start``: when time 0 is; otherwise the
    first satellite's epoch. Raises HeadraceError with file and line."""
    from sgp4.api import Satrec, jday

    values.only("kind", "nodes", "file", "start")
    lines = [(number, line.rstrip()) for number, line in enumerate(text(path).splitlines(), 1) if line.strip()]
    satellites, name, at = {}, "", 0
    while at < len(lines):
        number, line = lines[at]
        if not line.startswith("1 "):
            name, at = line.removeprefix("0 ").strip(), at + 1
            continue
        if at + 1 == len(lines) or not lines[at + 1][1].startswith("2 "):
            raise HeadraceError(f"{path}:{number}: line 1 of a satellite without a line 2", 2)
        first, second = line, lines[at + 1][1]
        for where, each in ((number, first), (lines[at + 1][0], second)):
            if len(each) != 69 or _checksum(each) != each[68]:
                raise HeadraceError(f"{path}:{where}: not a line of two-line elements: length or checksum is wrong", 2)
        try:
            satellites[name or first[2:7].strip()] = Satrec.twoline2rv(first, second)
        except ValueError as error:
            raise HeadraceError(f"{path}:{number}: {error}", 2) from None
        name, at = "", at + 2
    picked = [satellites[key] for key in chosen(path, list(satellites), names)]
    start = values.table.get("start")
    if start is not None and not isinstance(start, datetime):
        raise values.wrong("start", "not a date and time")
    if start is None:
        return Sgp4(names, picked, (picked[0].jdsatepoch, picked[0].jdsatepochF))
    utc = start.astimezone(UTC) if start.tzinfo else start.replace(tzinfo=UTC)
    return Sgp4(names, picked, jday(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second))


def _checksum(line: str) -> str:
    return str(sum(int(each) if each.isdecimal() else each == "-" for each in line[:68]) % 10)
