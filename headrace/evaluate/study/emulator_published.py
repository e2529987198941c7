"""What a thesis on an emulator of mobile networks measured: 004, chapter 3."""

from __future__ import annotations

COVERAGE = {
    (4, 0, 1): True,
    (3, 0, 1): True,
    (2, 1, 1): True,
    (1, 4, 4): False,
    (1, 3, 3): False,
    (1, 2, 2): False,
    (1, 1, 1): False,
    (0, 0, 0): False,
}
"""Table 3.2: whether 32 nodes were all reached, by PHYs of a node, of the routing endpoint (0: none) and of the master
coordinator."""

RESILIENCY = {0: (1.0, 0), 4: (0.965, 1), 8: (0.827, 4), 16: (0.586, 8), 24: (0.448, 10)}
"""Table 3.3: the part of 32 nodes that was reached, and links that were found again, by links that were jammed."""
