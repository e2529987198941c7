"""How drivers wait for a card: as long as it gets on."""

from __future__ import annotations

from collections.abc import Callable

_ROUNDS = 10_000  # of a wait without progress, until the card counts as hung


def waited(done: Callable[[], bool], advance: Callable[[], None], progress: Callable[[], object]) -> bool:
    """Lets time pass until ``done``; False: the card hangs. ``progress`` gives what changes while it works."""
    seen = None
    while (now := progress()) != seen:
        seen = now
        for _ in range(_ROUNDS):
            if done():
                return True
            advance()
    return False
