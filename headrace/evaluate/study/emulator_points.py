"""The points of the emulator's study that need no nodes: coverage, resiliency and the switch card."""

from __future__ import annotations

from typing import Any

from headrace.evaluate.loads import coverage as loads
from headrace.evaluate.loads.emulator import FIVE
from headrace.evaluate.study import Point
from headrace.evaluate.study.emulator_published import COVERAGE

RANGES_M = (250.0, 350.0, 450.0)
RANGE_M = 450.0
"""The one that is put beside the thesis: with less there are moments when no number of PHYs reaches all."""
PHYS = (1, 2, 3, 4, 6)
JAMMED = (0, 4, 8, 12, 16, 20, 24, 32, 40)
JAMMED_LIVE = JAMMED[1:7]
"""With nodes: the thesis' 4 to 24."""

RUNS = 3
"""Of each stream in nodes: wall clock varies."""

SIZES = (100, 256, 512, 1_024, 1_400)
SAMPLES = (16, 64, 256, 1_024, 2_048)
SEGMENT = 1_448  # bytes of data in a packet of 1,500
UDP_HEADERS = 46  # bytes, with FCS

CARD = "card"
"""The table of points whose results ``emulator_switching`` makes rows of."""

_PING = 102  # bytes of Ethernet, with FCS


def all_points(full: bool) -> list[Point]:
    """All of them, of ``emulator.run``. ``full``: more messages through the card."""
    seeds = loads.SEEDS
    found = []
    for range_m in RANGES_M:
        cells = dict.fromkeys([*COVERAGE, *((phys, 0, 1) for phys in PHYS), *((phys, 1, 1) for phys in PHYS)])
        for phys, endpoint, coordinator in cells:
            found.append(coverage_point(range_m, phys, endpoint, coordinator, seeds))
        found += [resiliency_point(range_m, jammed, seeds) for jammed in JAMMED]
    return found + [Point(CARD, arguments) for arguments in _card(full)]


def coverage_point(range_m: float, phys: int, endpoint: int, coordinator: int, seeds: int) -> Point:
    """A cell of table 3.2."""
    anchors = [(loads.COORDINATOR, coordinator), *([(loads.ENDPOINT, endpoint)] if endpoint else [])]
    row = {"range_m": range_m, "phys": phys, "endpoint": endpoint, "coordinator": coordinator}
    text = loads.scenario(range_m)
    arguments = {"kind": "coverage", "text": text, "phys": phys, "anchors": anchors, "seeds": seeds}
    return Point("coverage", arguments, row)


def resiliency_point(range_m: float, jammed: int, seeds: int) -> Point:
    """A row of table 3.3: the first row of table 3.2."""
    arguments = {"kind": "resiliency", "text": loads.scenario(range_m), "phys": 4, "jammed": jammed, "seeds": seeds}
    return Point("resiliency", {**arguments, "anchors": [(loads.COORDINATOR, 1)]}, {"range_m": range_m})


def _card(full: bool) -> list[dict[str, Any]]:
    """The arguments of the card's loads. ``full``: more messages."""
    messages = 32 if full else 8
    found: list[dict[str, Any]] = [{"kind": "latency", "size": _PING}]
    found += [
        {"kind": "cut", "segment": SEGMENT, "streams": count, "messages": messages} for count in (1, len(FIVE[6]))
    ]
    for size in SIZES:
        found.append({"kind": "carried", "size": size + UDP_HEADERS, "functions": 1})
        found.append({"kind": "cut", "segment": size, "streams": 1, "messages": messages})
    return found + [{"kind": "fir", "samples": count} for count in SAMPLES]
