"""What FFShark's paper (Vega, Merlini and Chow, FCCM 2020) measured on a Zynq UltraScale+."""

from __future__ import annotations

import math
from collections.abc import Iterable

ROUND_TRIPS_US = {
    100: (3.72, 5.78),
    164: (3.04, 3.66),
    292: (0.893, 1.64),
    420: (0.914, 1.66),
    548: (0.952, 1.72),
    804: (1.01, 1.82),
    1060: (1.08, 1.93),
    1572: (1.21, 2.14),
}
"""Table IV: us of a round trip without and with FFShark, by bytes, "including the 36 byte UDP header"."""
CABLE_US = 0.009
"""Section V-A: one cable of 2 m."""
OVERRUN = 176
"""Section V-D: with packets of fewer bytes its MACs have more packets than they take, and put them off."""
CORES = 6
CORE_CLOCK_HZ = 100e6
CPI = 4
CORE_GBIT_S = 51.2
SIZES = {
    "core": (3_600, 1_161, 23.5, 0),
    "chopper": (4_112, 8_122, 0.0, 0),
    "whole": (56_250, 72_509, 251.0, 0),
    "device": (522_720, 1_045_440, 986.0, None),
}
"""Table V: LUTs, flip-flops, BRAM36 by Vivado, and DSPs, of which section V-C says that none were used; the whole has
six cores."""


def insertion_us(size: int) -> float:
    """Figure 11's insertion latency, as section V-A calculates it from table IV."""
    direct, through = ROUND_TRIPS_US[size]
    return (through - direct - 2 * CABLE_US) / 2


def store_us(size: int) -> float:
    """A frame's bytes at 100 Gb/s: what storing it whole before it goes on costs at least."""
    return size * 8 / 100e3


def cores_by_rates(classes: Iterable[tuple[float, int]], size: int) -> int:
    """Cores for 100 Gb/s by equations (1) and (2), which average rates. ``classes``: shares, instructions."""
    rate = sum(share * size * 8 / (count * CPI) * CORE_CLOCK_HZ for share, count in classes)
    return math.ceil(100e9 / min(rate, CORE_GBIT_S * 1e9))


def cores_by_times(classes: Iterable[tuple[float, int]], size: int) -> int:
    """The same by the mean time of a packet, which is what a core must keep up with."""
    seconds = sum(share * count for share, count in classes) * CPI / CORE_CLOCK_HZ
    return math.ceil(100e9 / min(size * 8 / seconds, CORE_GBIT_S * 1e9))
