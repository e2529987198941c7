"""What readers of files share: text, times, and places that come in any order."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from headrace.emulator.movement.base import Leg
from headrace.emulator.movement.choose import apart
from headrace.emulator.movement.notes import Notes, wrong
from headrace.errors import HeadraceError

Place = tuple[float, float, float]


def text(path: Path) -> str:
    """A file's text, unpacked where it ends with .gz. Raises HeadraceError."""
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise HeadraceError(f"{path}: {error}", 2) from None
    except UnicodeDecodeError:
        raise HeadraceError(f"{path}: not text in UTF-8", 2) from None


def parsed(path: Path) -> Any:
    """What a JSON file holds. Raises HeadraceError with the line."""
    try:
        return json.loads(text(path))
    except json.JSONDecodeError as error:
        raise wrong(path, error.lineno, error.msg) from None
    except RecursionError:
        raise wrong(path, 1, "nested too deeply") from None


def utc(when: datetime, notes: Notes) -> float:
    """In seconds; without a zone it is UTC, which is said."""
    if when.tzinfo is None:
        notes.say("times without a zone are taken for UTC")
        when = when.replace(tzinfo=UTC)
    return when.timestamp()


def seconds(when: str, notes: Notes) -> float:
    """An ISO 8601 date and time in seconds. Raises ValueError."""
    return utc(datetime.fromisoformat(when.strip()), notes)


class Samples:
    """Places of nodes with times, as they are read."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self._found: dict[str, dict[float | None, Place]] = {}

    def new(self, name: str, where: int | str) -> str:
        """A name for one more node: where the file has it already it is named apart, which is told. Raises
        HeadraceError where that is an error."""
        found = apart(name, self._found)
        if found != name:
            self.notes.apart(where, f"one more {name} is the node {found}")
        self._found[found] = {}
        return found

    def add(self, name: str, time_s: float | None, place: Place, line: int | str) -> None:
        """A node's place at a time; None: it stands there. What isn't finite is left out."""
        if not np.isfinite([time_s or 0.0, *place]).all():
            self.notes.left_out(line, "not a finite number")
            return
        places = self._found.setdefault(name, {})
        if places.get(time_s, place) != place:
            self.notes.left_out(line, f"{name} has another place at the same time, which doesn't count")
        places[time_s] = place

    @property
    def names(self) -> list[str]:
        """Of those with a place, in the order in which they came first."""
        return [name for name, places in self._found.items() if places]

    def first_s(self) -> float:
        """The earliest time."""
        return min((time_s for each in self._found.values() for time_s in each if time_s is not None), default=0.0)

    def fastest(self) -> float:
        """The greatest change of place in a second between two times."""
        legs = self.legs(self.names, 0.0)
        speeds = [np.linalg.norm(np.diff(leg.places, axis=0), axis=1) / np.diff(leg.times) for leg in legs]
        return max((float(each.max()) for each in speeds if len(each)), default=0.0)

    def farthest(self) -> tuple[float, float]:
        """The greatest first and second coordinate, without their signs."""
        every = [place for places in self._found.values() for place in places.values()]
        return max((abs(x) for x, _, _ in every), default=0.0), max((abs(y) for _, y, _ in every), default=0.0)

    def turned(self) -> None:
        """The first coordinate is the second one, and the other way round."""
        for places in self._found.values():
            for time_s, (x, y, z) in places.items():
                places[time_s] = y, x, z

    def legs(self, names: list[str], start_s: float) -> list[Leg]:
        """Of these nodes, ordered by time, with time 0 at ``start_s``. Of two places at the same time the one that came
        later counts."""
        first_s = self.first_s()
        return [_leg(self._found[name], first_s, start_s) for name in names]


def _leg(places: Mapping[float | None, Place], first_s: float, start_s: float) -> Leg:
    timed = {first_s if time_s is None else time_s: place for time_s, place in places.items()}
    times = np.array(sorted(timed))
    return Leg(times - start_s, np.array([timed[float(time_s)] for time_s in times], dtype=np.float64))
