"""A running link card as others reach it: what its control socket answers (``headrace link set``, ``stats``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.card.control import ControlSocket, Owner
from headrace.cards.link.card import other_end
from headrace.engines.links import Links
from headrace.engines.netem import parse_netem
from headrace.errors import HeadraceError

CONTROL = Owner("link", "a link emulator")


class Service:
    """What a link card does for those who ask. A request is an object with ``command``: stats; set, with netem's
    ``words`` and the direction ``port`` that they are for (None: all)."""

    def __init__(self, links: Links) -> None:
        self._links = links

    def attend(self, control: ControlSocket | None) -> int:
        """Answers those who ask, and says how many."""
        return 0 if control is None else control.poll(self.answer)

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises HeadraceError for what can't be."""
        match request:
            case {"command": "stats"}:
                return self.stats()
            case {"command": "set", "port": int() | None as port, "words": [*words]} if all(
                isinstance(word, str) for word in words
            ):
                made = parse_netem(words)
                for number in range(len(self._links)) if port is None else [port]:
                    self._links.set(number, made)
                return self.stats()
        raise HeadraceError(f"unknown request: {dict(request)}", 2)

    def stats(self) -> dict[str, Any]:
        """Settings and counters of all directions."""
        return {
            "links": [
                {"from": port, "to": other_end(port), **self._links.status(port)} for port in range(len(self._links))
            ]
        }
