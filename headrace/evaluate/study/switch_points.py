"""The points of the switch card's study."""

from __future__ import annotations

from headrace.evaluate.study import Point
from headrace.evaluate.study.switch_published import CONNECTIONS_KPPS

DEPTHS = (1, 4, 8)
SIZES = (64, 100, 256, 512, 1024, 1518)
SAMPLES = (16, 64, 256, 1024, 2048)
PARTS: tuple[tuple[str, int], ...] = (
    *(("exact", entries) for entries in (1024, 4096, 16384)),
    *(("ternary", entries) for entries in (32, 64, 128, 256)),
)
CHUNK_W = 5
TRIALS = 1_000


def all_points(full: bool) -> list[Point]:
    """All of them, of ``switch.run``. ``full``: more packets and trials, and larger tables."""
    found = [Point("depths", {"kind": kind, "tables": tables}) for tables in DEPTHS for kind in ("latency", "limit")]
    times = 12 if full else 3
    found += [Point("small", {"kind": "carried", "tables": 4, "sizes": SIZES})]
    found += [
        Point("connections", {"kind": "connections", "tables": 1, "data": data, "payload": payload, "times": times})
        for data, payload in CONNECTIONS_KPPS
    ]
    found += [Point("fir", {"kind": "fir", "samples": count}) for count in SAMPLES]
    trials = TRIALS if full else 200
    found += [
        Point("barriers", {"kind": "stale_packets", "trials": trials, "replace": replace}) for replace in (False, True)
    ]
    parts = PARTS if full else [each for each in PARTS if each[1] in (1024, 4096, 32, 128)]
    return found + [Point("sizes", {"kind": "size", "part": part, "entries": entries}) for part, entries in parts]
