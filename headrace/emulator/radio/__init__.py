"""What joins nodes: how far radios reach, what links lose and carry, and which of them a node's PHYs take."""

from __future__ import annotations

from headrace.emulator.radio.radio import Radio, read_radio
from headrace.emulator.radio.scene import Scene
from headrace.emulator.radio.state import LinkState, Pair

__all__ = ["LinkState", "Pair", "Radio", "Scene", "read_radio"]
