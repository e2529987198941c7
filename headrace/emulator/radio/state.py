"""How a link is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

Pair = tuple[int, int]
"""Two nodes (their indices), the lower one first."""


class Way(NamedTuple):
    """One direction of a link: bits per second, and the part of the frames that is lost."""

    rate_bps: float
    loss: float


@dataclass(frozen=True)
class LinkState:
    """A link between two nodes: metres, ns, bits per second, the part of the frames that is lost. These are of frames
    from the first node to the second; ``back`` is the other direction, None: the same. ``snr_db``: signal to noise and
    interference at the second node and at the first, where the radio has a model of it."""

    distance_m: float
    delay_ns: int
    rate_bps: float
    loss: float
    back: Way | None = None
    snr_db: tuple[float, float] | None = None

    def arriving(self) -> tuple[Way, Way]:
        """What arrives at the first node, and at the second."""
        there = Way(self.rate_bps, self.loss)
        return self.back or there, there

    def worse(self, loss: float) -> Self:
        """The same link, which loses that part of the frames more, both ways."""
        back = self.back and Way(self.back.rate_bps, 1 - (1 - self.back.loss) * (1 - loss))
        return replace(self, loss=1 - (1 - self.loss) * (1 - loss), back=back)
