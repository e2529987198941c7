"""Where nodes are at any time: from files, or made by models.

Positions are metres: east, north and up of an origin (a local frame), or earth-centred and earth-fixed (WGS 84).
"""

from __future__ import annotations

from headrace.emulator.movement.base import Movement
from headrace.emulator.movement.read import read_movement

__all__ = ["Movement", "read_movement"]
