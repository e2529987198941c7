"""The points of the filter card's study."""

from __future__ import annotations

from headrace.evaluate.loads.filter import CLASSES
from headrace.evaluate.study import Point
from headrace.evaluate.study import filter_published as published
from headrace.evaluate.study.filter_published import ROUND_TRIPS_US

CORES = 8  # the card's default, and the line-rate rows' of bench filter
FEW = (1, 2)  # cores for the mixes of tables II and III
SIZES = tuple(str(size) for size in sorted({60, 176, 1500, 9000, *ROUND_TRIPS_US}))
MIXES = ("60-1500", "64-9000")
WIRE = {"PACKET_KB": 32, "MAX_FRAME": 9216}
WHOLE = {"CORES": published.CORES}


def all_points(_full: bool) -> list[Point]:
    """All of them, of ``filter_loads.run``: there is one form."""
    count = 1000
    chosen = [*SIZES, *MIXES]
    found = [
        Point("sizes", {"kind": "sized", "sizes": chosen[first::2], "count": count, "cores": CORES})
        for first in range(2)
    ]
    found += [
        Point("classes", {"kind": "classed", "expression": each, "count": 20, "cores": CORES}) for each in CLASSES
    ]
    return found + [
        Point("cores", {"kind": "mixed", "expression": each, "count": 20 * count, "cores": cores})
        for each in CLASSES
        for cores in FEW
    ]
