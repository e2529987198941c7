"""Cards with virtual functions, whose frames come and go in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.card import Card
from headrace.card.functions import Functions, Plugs

FUNCTIONS = 3
# Of the switch card
PARAMETERS: dict[str, Any] = {
    "PORTS": 1,
    "FUNCTIONS": FUNCTIONS,
    "DATA_W": 256,
    "TABLES": 1,
    "EXACT": 16,
    "TERNARY": 16,
    "NARROW": 1,
    "CUSTOM": 0,
    "PROGRAM_WORDS": 1024,
    "METERS": 16,
}


@dataclass
class FunctionCard:
    """A card, the functions that are plugged, and what was told of them."""

    card: Card
    functions: Functions
    plugs: Plugs
    told: list[str] = field(default_factory=list)

    def link(self, function: int, rate: float | str = "line") -> int:
        """Plugs a function that frames are queued at and that keeps what it receives; gives its port."""
        self.plugs.plug(function, "queue:")
        port = self.plugs.port(function)
        assert port is not None
        self.card.source(port, "queue", timing=rate)
        self.card.sink(port, "memory")
        return port

    def frames(self, port: int) -> list[bytes]:
        """What a function has received since the last call."""
        return [frame.data for frame in self.card.received(port)]
