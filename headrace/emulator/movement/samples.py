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
from headrace.errors import HeadraceError


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


def wrong(path: Path, line: int | str, what: str) -> HeadraceError:
    """An error at a line of a file, or at what else says where it is."""
    return HeadraceError(f"{path}:{line}{':' if isinstance(line, int) else ''} {what}", 2)


def seconds(when: str) -> float:
    """An ISO 8601 date and time in seconds; without a zone it is UTC. Raises ValueError."""
    found = datetime.fromisoformat(when.strip())
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


class Samples:
    """Places of nodes with times, as they are read. Raises HeadraceError where numbers aren't finite."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[str, list[tuple[float, tuple[float, float, float]]]] = {}

    def add(self, name: str, time_s: float, place: tuple[float, float, float], line: int | str) -> None:
        """A node's place at a time."""
        if not np.isfinite([time_s, *place]).all():
            raise wrong(self.path, line, "not a finite number")
        self._found.setdefault(name, []).append((time_s, place))

    @property
    def names(self) -> list[str]:
        """In the order in which they came first."""
        return list(self._found)

    def first_s(self) -> float:
        """The earliest time."""
        return min((time_s for places in self._found.values() for time_s, _ in places), default=0.0)

    def legs(self, names: list[str], start_s: float) -> list[Leg]:
        """Of these nodes, ordered by time, with time 0 at ``start_s``. Of two places at the same time the one that came
        later counts."""
        return [_leg(dict(self._found[name]), start_s) for name in names]


def _leg(places: Mapping[float, Any], start_s: float) -> Leg:
    times = np.array(sorted(places))
    return Leg(times - start_s, np.array([places[float(time_s)] for time_s in times], dtype=np.float64))
