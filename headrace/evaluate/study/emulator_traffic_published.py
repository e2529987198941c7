"""What a thesis on an emulator of mobile networks measured of its traffic: 004, section 3.1, on 20 cores."""

from __future__ import annotations

UDP_OVER_TCP_1400 = 10
"""Section 3.1.1: UDP within a node carries more than so many times what TCP between nodes does, with 1400 bytes.
Figures 3.1 to 3.3 have no numbers."""

FIVE_HOPS = {6: (1, 1, 1, 1, 1), 32: (4, 1, 2, 2, 3)}
"""Figure 3.4: hops of its five streams of images, by nodes."""

GRID_MBIT_S = {
    (1, 17): (11.1, 2),
    (1, 21): (12.3, 3),
    (2, 18): (6.2, 4),
    (2, 21): (8.5, 5),
    (3, 24): (7.2, 4),
    (3, 25): (9.4, 2),
    (3, 26): (12.5, 2),
    (4, 15): (14.1, 2),
    (4, 16): (9.5, 3),
    (5, 25): (8.8, 3),
    (6, 24): (7.6, 4),
    (7, 21): (20.5, 1),
    (7, 22): (12.6, 2),
    (7, 25): (8.3, 3),
    (8, 18): (5.5, 5),
    (8, 25): (8.7, 3),
    (8, 26): (12.6, 2),
    (9, 24): (8.1, 3),
    (10, 22): (13.1, 2),
    (10, 23): (22.5, 1),
}
"""Table 3.1: Mb/s and hops of 20 streams of images among 32 nodes, by source and destination."""

PROCESSES = (32, 4, 188)
"""Section 4.4: nodes, PHYs of each, and processes of it all."""


def by_hops(streams: dict[tuple[int, int], tuple[float, int]]) -> dict[int, float]:
    """The mean rate of streams by their hops."""
    found: dict[int, list[float]] = {}
    for rate, hops in streams.values():
        found.setdefault(hops, []).append(rate)
    return {hops: sum(rates) / len(rates) for hops, rates in sorted(found.items())}
