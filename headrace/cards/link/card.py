"""Opens a link card: Ethernet ports in pairs, 0 and 1, 2 and 3, ..., with an emulated link between the two of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from headrace.card import Card
from headrace.engines.links import Links

PORTS = range(8)
"""That a card may have."""


def other_end(port: int) -> int:
    """The port at the other end of a port's link."""
    return port ^ 1


@contextmanager
def open_link_card(
    ports: int = 2, seed: int = 1, parameters: Mapping[str, Any] | None = None, **options: Any
) -> Iterator[tuple[Card, Links]]:
    """A link card and its directions, each numbered as the port that its packets come from; ``options`` are
    ``Card.open``'s. Links do nothing to packets until they are set."""
    with Card.open("link", {**(parameters or {}), "PORTS": ports}, **options) as card:
        yield card, Links(card, [card.regs.direction[port] for port in range(ports)], seed)
