"""The points of the RPU card's study."""

from __future__ import annotations

from headrace.evaluate.study import Point

SIZES = (64, 128, 256, 512, 1024, 1500, 2000, 4096, 9000)
UNITS = (8, 1)
LOADS = (0.01, 0.5, 0.9)
SWAPS = (1, 4, 8)


def all_points(full: bool) -> list[Point]:
    """All of them, of ``rpu_loads.run``. ``full``: more sizes."""
    sizes = SIZES if full else [size for size in SIZES if size != 2000]
    stays = SIZES if full else (64, 512, 1500, 9000)
    found = []
    for units in UNITS:
        for size in sizes:
            one = {"units": units, "sizes": [size]}
            found += [
                Point("rates", {"kind": "limit", **one}, {"what": "forwarded"}),
                Point("rates", {"kind": "limit", **one, "name": "basic"}, {"what": "the original's"}),
                Point("rates", {"kind": "generate", **one}, {"what": "generated"}),
                Point("rates", {"kind": "limit", **one, "name": "crc", "accelerator": "crc"}, {"what": "CRC checked"}),
            ]
    found += [Point("stays", {"kind": "stay", "units": 8, "sizes": [size], "loads": LOADS}) for size in stays]
    return found + [Point("swaps", {"kind": "swap", "units": 8, "changed": units}) for units in SWAPS]
