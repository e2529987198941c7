"""Links as tests use them: one small link card and one small switch card, and a bench."""

from __future__ import annotations

import random
from dataclasses import dataclass

from headrace.card import Card
from headrace.engines.links import Links

PARAMETERS = {"DATA_W": 128, "SLOTS": 1024}
SWITCH_PARAMETERS = {
    **{"PORTS": 3, "TABLES": 2, "DATA_W": 128, "NARROW": 1, "EXACT": 16, "TERNARY": 16, "METERS": 16},
    **{"LINKS": 1, "LINK_SLOTS": 64, "PROGRAM_WORDS": 1024},
}
SEED = 5


def seeds(seed: int = SEED) -> list[int]:
    """Of direction 0, as the driver makes them out of one number."""
    rng = random.Random(seed)
    return [rng.getrandbits(32) for _ in range(4)]


@dataclass
class LinkBench:
    """A card whose ports have memory sinks."""

    card: Card
    links: Links

    def send(self, frames: list[bytes], bits_per_s: float = 1e9, port: int = 0) -> list[bytes]:
        """Sends frames into a port; gives what leaves by the other one."""
        self.card.source(port, frames, timing=bits_per_s)
        self.card.run()
        return [frame.data for frame in self.card.received(port ^ 1)]

    def check(self) -> None:
        """Every packet is accounted for, and none is inside."""
        for number in range(len(self.links)):
            counted = self.links.counters(number)
            assert (counted.balance, counted.queued) == (0, 0)
