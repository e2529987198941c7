"""From what a file says, metres or degrees, to the frame of a scenario."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.emulator.movement import earth
from headrace.emulator.movement.base import Floats, Frame, Leg
from headrace.emulator.tables import Values

MARKS = ("frame", "origin")
"""The keys that say which frame it is."""


def placed(values: Values, legs: Sequence[Leg], geographic: bool) -> tuple[list[Leg], Frame]:
    """Legs whose places are degrees and heights (``geographic``) or metres, in the scenario's frame. The origin of a
    local frame is where the first node is first. Raises HeadraceError."""
    kind = values.word("frame", ("local", "earth"), "local")
    if not geographic:
        if "origin" in values.table:
            origin = values.row("origin", 2, 3, what="latitude, longitude (and height in metres)")
            return list(legs), Frame(kind == "earth", _origin(origin))
        return list(legs), Frame(kind == "earth")
    first = legs[0].places[0]
    origin = values.row("origin", 2, 3, what="latitude, longitude (and height in metres)", default=list(first))
    for leg in legs:
        if (np.abs(leg.places[:, 0]) > 90).any() or (np.abs(leg.places[:, 1]) > 360).any():
            where = next(place for place in leg.places if abs(place[0]) > 90 or abs(place[1]) > 360)
            raise values.wrong("kind", f"latitude {where[0]:g}, longitude {where[1]:g}: no place on the earth")
    fixed = [Leg(leg.times, earth.earth_fixed(leg.places)) for leg in legs]
    if kind == "earth":
        return fixed, Frame(True)
    frame = Frame(False, _origin(origin))
    assert frame.origin_deg is not None
    return [Leg(leg.times, earth.local(leg.places, frame.origin_deg)) for leg in fixed], frame


def _origin(given: Floats) -> tuple[float, float, float]:
    return float(given[0]), float(given[1]), float(given[2]) if len(given) > 2 else 0.0
