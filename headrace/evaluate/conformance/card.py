"""The switch card as the switch under test: the card runs in the caller's thread, the tests in another one."""

from __future__ import annotations

import queue
import socket
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headrace.cards.switch.card import open_switch_card
from headrace.cards.switch.controllers import Controllers
from headrace.evaluate.loads.switch import Switch

T = TypeVar("T")

_SETTLE_S = 60.0  # of wall time: longer than any load takes
_OVERHEAD = 24  # bytes of a frame on the wire: FCS, preamble, gap


class CardDevice:
    """A card with ``device.PORTS``; ``parameters`` are the card's."""

    name = "the switch card"

    def __init__(self, parameters: dict[str, Any]) -> None:
        self._parameters = parameters
        self._calls: queue.SimpleQueue[Callable[[Controllers], None]] = queue.SimpleQueue()
        self._rates: dict[int, str | float] = {}

    def run(self, work: Callable[[CardDevice], T]) -> T:
        """What ``work`` gives of this device, or raises."""

        def run_work(address: str) -> T:
            self._address = address
            return work(self)

        with open_switch_card(parameters=self._parameters, progress=False) as self._card:
            for port in range(self._card.ports):
                self._card.source(port, "queue")
                self._card.sink(port, "memory")
            self._rates.clear()
            return Switch(self._card).serve(run_work, self._turn, clock=float)

    def _turn(self, controllers: Controllers) -> None:
        while not self._calls.empty():
            self._calls.get()(controllers)

    def _do(self, call: Callable[[Controllers], T]) -> T:
        """Calls from the other thread, in the card's."""
        done: queue.SimpleQueue[T] = queue.SimpleQueue()
        self._calls.put(lambda controllers: done.put(call(controllers)))
        return done.get()

    def connect(self) -> socket.socket:
        """See ``Device``."""
        _, host, port = self._address.split(":")
        return socket.create_connection((host, int(port)))

    def send(self, port: int, frames: Sequence[bytes], every_ns: float = 0) -> None:
        """See ``Device``."""
        rate: str | float = "line"
        if every_ns:
            rate = 8e9 * (max(map(len, frames)) + _OVERHEAD) / every_ns
        self._do(lambda _: self._send(port, frames, rate))

    def _send(self, port: int, frames: Sequence[bytes], rate: str | float) -> None:
        if self._rates.setdefault(port, "line") != rate:
            self._card.run(wall_s=_SETTLE_S)  # what came before, at its own rate
            self._card.source(port - 1, "queue", timing=rate)
            self._rates[port] = rate
        self._card.send(port - 1, frames)

    def settle(self) -> None:
        """See ``Device``."""

        def settle(controllers: Controllers) -> None:
            self._card.run(wall_s=_SETTLE_S)
            controllers.poll()

        self._do(settle)

    def received(self, port: int) -> list[bytes]:
        """See ``Device``."""
        return self._do(lambda _: [frame.data for frame in self._card.received(port - 1)])

    def enforce(self) -> None:
        """See ``Device``: a barrier of the card's is one."""
