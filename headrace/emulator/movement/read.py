"""The [movement] of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headrace.emulator.movement import czml, maps, models, orbits, tracks, visibility
from headrace.emulator.movement.base import Legs, Movement
from headrace.emulator.movement.choose import chosen
from headrace.emulator.movement.notes import Notes
from headrace.emulator.movement.place import MARKS, placed
from headrace.emulator.movement.samples import Samples
from headrace.emulator.tables import Values
from headrace.errors import HeadraceError


def _sampled(values: Values, names: Sequence[str], samples: Samples, geographic: bool, **options: bool) -> Movement:
    """``start``: when time 0 is, a date and time or seconds; otherwise the first time of the file."""
    values.only("kind", "nodes", "file", "start", "geographic", *MARKS)
    given = values.table.get("start", samples.first_s())
    if isinstance(given, datetime):
        given = (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise values.wrong("start", "neither a date and time nor a number of seconds")
    legs, frame = placed(values, samples.legs(chosen(samples.notes, samples.names, names), given), geographic)
    if all(leg.times[-1] < 0 for leg in legs):
        raise values.wrong("start", "it is behind the last time of the file")
    return Legs(names, legs, None, frame, **options)


def _czml(values: Values, names: Sequence[str], notes: Notes) -> Movement:
    samples, geographic = czml.read_czml(notes)
    if not geographic and values.table.get("frame") != "earth":
        raise HeadraceError(f'{values.where}: no key frame: {notes.path} is earth-fixed: frame = "earth"', 2)
    return _sampled(values, names, samples, geographic)


def _sumo(values: Values, names: Sequence[str], notes: Notes) -> Movement:
    given = values.flag("geographic") if "geographic" in values.table else None
    return _sampled(values, names, *maps.read_sumo(notes, given), vanish=True)


def _ns2(values: Values, names: Sequence[str], notes: Notes) -> Movement:
    values.only("kind", "nodes", "file")
    return Legs(names, tracks.read_ns2(notes, names))


def _bonnmotion(values: Values, names: Sequence[str], notes: Notes) -> Movement:
    values.only("kind", "nodes", "file", "dimensions")
    dimensions = values.whole("dimensions", 2, 2)
    if dimensions > 3:
        raise values.wrong("dimensions", "neither 2 nor 3")
    return Legs(names, tracks.read_bonnmotion(notes, names, dimensions))


_MODELS: Mapping[str, Callable[[Values, Sequence[str]], Movement]] = {
    "static": models.static,
    "random-waypoint": models.random_waypoint,
    "gauss-markov": models.gauss_markov,
    "kepler": orbits.kepler,
    "walker": orbits.walker,
}
_FILES: Mapping[str, Callable[[Values, Sequence[str], Notes], Movement]] = {
    "visibility": visibility.read_visibility,
    "csv": lambda values, names, notes: _sampled(values, names, *tracks.read_csv(notes)),
    "gpx": lambda values, names, notes: _sampled(values, names, maps.read_gpx(notes), True),
    "kml": lambda values, names, notes: _sampled(values, names, maps.read_kml(notes), True),
    "czml": _czml,
    "sumo": _sumo,
    "ns2": _ns2,
    "bonnmotion": _bonnmotion,
    "tle": orbits.tle,
}
KINDS = (*_MODELS, *_FILES)


def read_movement(
    table: Mapping[str, Any], folder: Path, names: Sequence[str], where: str = "movement", strict: bool = False
) -> Movement:
    """The movement of nodes by a scenario's table; ``folder``: what files are relative to; ``where``: the table's name;
    ``strict``: what of a file would be left out is an error. Raises HeadraceError with the key, or with the file and
    line."""
    values = Values(table, where)
    kind = values.word("kind", KINDS)
    if kind in _MODELS:
        return _MODELS[kind](values, names)
    notes = Notes(folder / values.need("file", str, "the name of a file"), strict)
    found = _FILES[kind](values, names, notes)
    found.notes = notes.lines
    return found
