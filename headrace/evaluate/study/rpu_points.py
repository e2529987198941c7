"""The points of the RPU card's study."""

from __future__ import annotations

from headrace.evaluate.study import Point

SIZES = (64, 128, 256, 512, 1024, 1500, 2000, 4096, 9000)
SOME = (64, 128, 512, 1024, 1500, 9000)
FEW = (64, 256, 1500, 9000)  # with CRC
UNITS = (8, 1)
LOADS = (0.01, 0.5, 0.9)
SWAPS = (1, 4, 8)


def all_points(full: bool) -> list[Point]:
    """All of them, of ``rpu_loads.run``. ``full``: more sizes."""
    stays = SIZES if full else (64, 512, 1500, 9000)
    found = []
    for units in UNITS:
        for size in SIZES if full else SOME:
            one = {"units": units, "sizes": [size]}
            found += [
                Point("rates", {"kind": "limit", **one}, {"what": "forwarded"}),
                Point("rates", {"kind": "limit", **one, "name": "basic"}, {"what": "the original's"}),
                Point("rates", {"kind": "generate", **one}, {"what": "generated"}),
            ]
        for size in SIZES if full else FEW:
            checked = {"kind": "limit", "units": units, "sizes": [size], "name": "crc", "accelerator": "crc"}
            found.append(Point("rates", checked, {"what": "CRC checked"}))
    found += [Point("stays", {"kind": "stay", "units": 8, "sizes": [size], "loads": LOADS}) for size in stays]
    return found + [Point("swaps", {"kind": "swap", "units": 8, "changed": units}) for units in SWAPS]
