"""The emulated links behind a switch card's ports (parameter LINKS): what becomes of packets that leave there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.card import Card
from headrace.engines.links import LinkCounters, Links
from headrace.engines.netem import Netem, parse_netem
from headrace.errors import HeadraceError


class SwitchLinks:
    """Links by the OpenFlow numbers of their ports, from 1. At first they do nothing to packets."""

    def __init__(self, card: Card, seed: int = 1) -> None:
        """Raises HeadraceError when the card has none."""
        if not int(card.parameters["LINKS"]):
            raise HeadraceError("the switch has no emulated links: build it with -P LINKS=1", 2)
        count = int(card.parameters["PORTS"]) + int(card.parameters["FUNCTIONS"])
        self._links = Links(card, [card.regs.links[number] for number in range(count)], seed)
        for number in range(count):
            self._links.hold_link(number, True)  # a port's queue waits, and counts what it drops

    def set(self, port: int, settings: Netem) -> None:
        """What happens from now on to packets that leave by a port; those that its link holds leave when they would
        have. Raises HeadraceError for a port that isn't there."""
        self._links.set(self._number(port), settings)

    def counters(self, port: int) -> LinkCounters:
        """Of a port's link."""
        return self._links.counters(self._number(port))

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """What ``headrace switch link`` is told; None: the request is none of its. ``command``: link-set, with netem's
        words by the ports' numbers, all or none of which are set; link-stats. Raises HeadraceError for what can't
        be."""
        match request:
            case {"command": "link-set", "links": dict(links)}:
                made = {self._port(str(port)): parse_netem(str(words)) for port, words in links.items()}
                for port, settings in made.items():
                    self.set(port, settings)
                return {}
            case {"command": "link-stats"}:
                return {"links": [{"port": n + 1, **self._links.status(n)} for n in range(len(self._links))]}
        return None

    def _port(self, text: str) -> int:
        port = int(text) if text.isdecimal() else 0
        self._number(port)
        return port

    def _number(self, port: int) -> int:
        if not 1 <= port <= len(self._links):
            raise HeadraceError(f"port {port}: the switch has ports 1 to {len(self._links)}", 2)
        return port - 1
