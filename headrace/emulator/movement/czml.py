"""Movement from CZML, the files of Cesium."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.emulator.movement.base import Floats
from headrace.emulator.movement.earth import earth_fixed
from headrace.emulator.movement.notes import Notes, wrong
from headrace.emulator.movement.orbits import from_inertial
from headrace.emulator.movement.samples import Samples, parsed, seconds

_KINDS = ("cartesian", "cartographicDegrees", "cartographicRadians")


@dataclass(frozen=True)
class _Piece:
    """A position from ``begin`` to ``end``, in seconds, which may be infinite: places (points, 3) at times (points,),
    ascending; without times it is one place."""

    begin: float
    end: float
    times: Floats
    places: Floats
    geographic: bool

    def fixed(self) -> _Piece:
        """Degrees and heights as earth-fixed metres."""
        return replace(self, places=earth_fixed(self.places), geographic=False)

    def at(self, time_s: float) -> Floats:
        """Where it is, in its interval."""
        times, places = (self.times, self.places) if len(self.times) else (np.zeros(1), self.places)
        return np.array([np.interp(time_s, times, axis) for axis in places.T])

    def points(self, until: float) -> list[tuple[float, Floats]]:
        """Those of its interval, which another one's begin may cut short: there it jumps."""
        jump = math.nextafter(until, -math.inf) if math.isfinite(until) else until
        end = min(self.end, jump)
        inside = (self.times >= self.begin) & (self.times <= end)
        found = dict(zip(self.times[inside], self.places[inside], strict=True))
        moves = self.times[[0, -1]] if len(self.times) else (-math.inf, math.inf)
        for edge in (self.begin, end):
            if math.isfinite(edge) and moves[0] < edge < moves[1]:
                found[edge] = self.at(edge)
        if math.isfinite(jump):
            found[jump] = self.at(end)
        return sorted(found.items(), key=lambda point: point[0])


def read_czml(notes: Notes) -> tuple[Samples, bool]:
    """Each packet with a position is a node, by its name or its id; those of one id are one. Whether all places are
    degrees and heights; otherwise they are earth-fixed metres. Between samples positions are on straight lines,
    whatever interpolation the file asks for; from the end of an interval to the next one a node stays. Packets that are
    wrong are left out. Raises HeadraceError."""
    packets = parsed(notes.path)
    if not isinstance(packets, list):
        raise wrong(notes.path, 1, "not a list of packets")
    nodes: dict[str, tuple[str, str, list[_Piece]]] = {}  # by id: name, place in the file, positions
    for number, packet in enumerate(packets):
        where = f" packet {number}:"
        if not isinstance(packet, dict) or packet.get("id") == "document" or "position" not in packet:
            continue
        name = str(packet.get("name") or packet.get("id") or f"packet{number}")
        given = packet["position"] if isinstance(packet["position"], list) else [packet["position"]]
        try:
            pieces = [_piece(position, notes) for position in given]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            notes.left_out(where, f"{name}: {error}")
            continue
        nodes.setdefault(str(packet.get("id", where)), (name, where, []))[2].extend(pieces)
    geographic = all(piece.geographic for _, _, pieces in nodes.values() for piece in pieces)
    samples = Samples(notes)
    for name, where, pieces in nodes.values():
        same = [piece if piece.geographic == geographic else piece.fixed() for piece in pieces]
        _add(samples, samples.new(name, where), same, where)
    notes.need(samples.names)
    return samples, geographic


def _add(samples: Samples, name: str, pieces: Sequence[_Piece], where: str) -> None:
    """A node's positions, in the order of their intervals."""
    pieces = _joined(sorted(pieces, key=lambda piece: piece.begin))
    for piece, after in zip(pieces, [*pieces[1:], None], strict=True):
        if after is not None and after.begin == piece.begin:
            samples.notes.left_out(where, f"{name} has two positions from the same time on, and the latter counts")
            continue
        points: list[tuple[float | None, Floats]] = [*piece.points(math.inf if after is None else after.begin)]
        for time_s, (x, y, z) in points or [(None, piece.places[0])]:
            samples.add(name, None if time_s is None else float(time_s), (float(x), float(y), float(z)), where)


def _joined(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Samples of one interval, which several packets have, are one piece; of two at the same time the latter counts."""
    found: list[_Piece] = []
    for piece in pieces:
        before = found[-1] if found else None
        same = before is not None and (before.begin, before.end) == (piece.begin, piece.end)
        if before is not None and same and len(before.times) and len(piece.times):
            places = dict(zip([*before.times, *piece.times], [*before.places, *piece.places], strict=True))
            times = sorted(places)
            found[-1] = replace(piece, times=np.array(times), places=np.array([places[time_s] for time_s in times]))
        else:
            found.append(piece)
    return found


def _piece(position: Any, notes: Notes) -> _Piece:
    """Raises ValueError and others."""
    frame = position.get("referenceFrame", "FIXED")
    if frame not in ("FIXED", "INERTIAL"):
        raise ValueError(f"reference frame {frame}: neither FIXED nor INERTIAL")
    key = next((each for each in _KINDS if each in position), "")
    if not key:
        raise ValueError(f"neither {', '.join(_KINDS[:-1])} nor {_KINDS[-1]}")
    begin, end = -math.inf, math.inf
    if "interval" in position:
        begin, end = (_edge(each, notes) for each in position["interval"].split("/"))
    values = position[key]
    if len(values) == 3:
        times, rows = np.empty(0), np.array([values], dtype=np.float64)
    elif not values or len(values) % 4:
        raise ValueError(f"{key}: {len(values)} values are not a place, nor times with places")
    else:
        epoch = seconds(position["epoch"], notes) if "epoch" in position else 0.0
        given = [seconds(each, notes) if isinstance(each, str) else epoch + float(each) for each in values[::4]]
        order = np.argsort(given, kind="stable")
        times = np.array(given)[order]
        rows = np.array([values[at + 1 : at + 4] for at in range(0, len(values), 4)], dtype=np.float64)[order]
    if not np.isfinite(rows).all() or not np.isfinite(times).all():
        raise ValueError("not a finite number")
    if key == "cartesian":
        if frame == "INERTIAL" and not len(times):
            raise ValueError("a place that stands among the stars: only places with times can be INERTIAL")
        return _Piece(begin, end, times, from_inertial(rows, times) if frame == "INERTIAL" else rows, False)
    degrees = rows[:, [1, 0, 2]]
    if key == "cartographicRadians":
        degrees[:, :2] = np.degrees(degrees[:, :2])
    return _Piece(begin, end, times, degrees, True)


def _edge(when: str, notes: Notes) -> float:
    """Of an interval: years 0 and 9999 stand for ever."""
    return {"0000": -math.inf, "9999": math.inf}.get(when.strip()[:4]) or seconds(when, notes)
