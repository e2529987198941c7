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


def all_points(quick: bool) -> list[Point]:
    """All of them, of ``switch.run``. ``quick``: fewer depths, sizes and trials."""
    depths, sizes, samples = (DEPTHS[:2], SIZES[::3], SAMPLES[::2]) if quick else (DEPTHS, SIZES, SAMPLES)
    found = [Point("depths", {"kind": kind, "tables": tables}) for tables in depths for kind in ("latency", "limit")]
    found += [Point("small", {"kind": "carried", "tables": 4, "sizes": sizes})]
    found += [
        Point("connections", {"kind": "connections", "tables": 1, "data": data, "payload": payload})
        for data, payload in CONNECTIONS_KPPS
    ]
    found += [Point("fir", {"kind": "fir", "samples": count}) for count in samples]
    trials = 100 if quick else TRIALS
    found += [
        Point("barriers", {"kind": "stale_packets", "trials": trials, "replace": replace}) for replace in (False, True)
    ]
    parts = [each for each in PARTS if each[1] in (1024, 32, 128)] if quick else PARTS
    return found + [Point("sizes", {"kind": "size", "part": part, "entries": entries}) for part, entries in parts]
