# SPDX-License-Identifier: Apache-2.0
"""Several cards in one process, joined by cables and stepped in order.

    >>> from headrace.card import Card
    >>> from headrace.card.coordinator import Coordinator
    >>> with Card.open("examples/mycard") as mine, Card.open("filter") as filter:
    ...     coordinator = Coordinator(mine, filter)
    ...     coordinator.join(mine, 1, filter, 0, delay_ns=500)
    ...     mine.source(0, "pcap:in.pcap")
    ...     coordinator.run()
    'idle'

The result does not depend on the number of threads: cards run at the same time through windows as long as the shortest
cable's delay, in which nothing that one sends can reach another. Long cables make long windows.
"""

from __future__ import annotations

import os
from typing import Literal

from headrace.card import interface as harness
from headrace.card.card import Card
from headrace.errors import CardError

_SLICE_MS = 50  # of wall time between looks at Ctrl-C


@harness.in_range
class Coordinator:
    """Cards whose time goes on together. They have the same time when it is made, and are closed by their owner."""

    def __init__(self, *cards: Card) -> None:
        """Raises CardError when there is no card, one twice, or one that has another time."""
        if not cards:
            raise CardError("a coordinator needs a card", 2)
        self.cards = cards
        self._ffi, self._lib = cards[0]._ffi, cards[0]._lib
        self._handle = self._ffi.gc(self._lib.hr_create_coordinator(), self._lib.hr_destroy_coordinator)
        for card in cards:
            card._check(self._lib.hr_add_card(self._handle, card._open))

    def connect(self, card: Card, port: int, to: Card, to_port: int, *, delay_ns: int) -> None:
        """What ``port`` of ``card`` sends, ``to_port`` of ``to`` receives: a frame starts into it ``delay_ns`` after
        the sender has it whole. Flow control of the receiver holds the sender back. Raises CardError."""
        for each in (card, to):
            if each not in self.cards:
                raise CardError("the coordinator doesn't have this card", 2)
        card._check(self._lib.hr_connect(self._handle, card._open, port, to._open, to_port, delay_ns))

    def join(self, card: Card, port: int, to: Card, to_port: int, *, delay_ns: int) -> None:
        """A cable that carries both ways."""
        self.connect(card, port, to, to_port, delay_ns=delay_ns)
        self.connect(to, to_port, card, port, delay_ns=delay_ns)

    def run(
        self,
        until: Literal["idle"] | None = "idle",
        *,
        until_ns: int | None = None,
        seconds: float | None = None,
        threads: int | None = None,
    ) -> Literal["idle", "time"]:
        """Runs all cards until all is done, or until their clocks have a time or so many seconds more.

        ``threads``: as many as there are processors unless given. Ctrl-C ends the run; the cards can go on. Raises what
        ``Card.run`` does, for the first card that has an error.
        """
        if seconds is not None:
            limit = self.cards[0].stats().time_ns + harness.whole(seconds * 1e9)
            until_ns = limit if until_ns is None else min(until_ns, limit)
        if until is None and until_ns is None:
            raise CardError("run() needs a limit when it isn't to stop at idle", 2)
        count = len(os.sched_getaffinity(0)) if threads is None else threads
        for card in self.cards:
            _ = card._open
        first, lib = self.cards[0], self._lib
        while True:
            stop = first._check(lib.hr_run_cards(self._handle, until_ns or 0, until is not None, count, _SLICE_MS))
            if stop != lib.HR_STOP_SLICE:
                return "idle" if stop == lib.HR_STOP_IDLE else "time"
