"""The switch card as the switch under test: the card runs in the caller's thread, the tests in another one."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware, open_switch_card
from headrace.cards.switch.controllers import Controllers
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.ports import PortInfo
from headrace.evaluate.conformance.device import PORTS

T = TypeVar("T")

_BUSY_S = 0.0005  # of wall time between looks at the controller
_SETTLE_CYCLES = 100_000
_OVERHEAD = 24  # bytes of a frame on the wire: FCS, preamble, gap


class CardDevice:
    """A card with ``PORTS``; ``parameters`` are the card's."""

    name = "the switch card"

    def __init__(self, parameters: dict[str, Any]) -> None:
        self._parameters = parameters
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._address = ""

    def run(self, work: Callable[[CardDevice], T]) -> T:
        """What ``work`` gives of this device, or raises."""
        found: list[T] = []
        failed: list[BaseException] = []

        def run_work() -> None:
            try:
                found.append(work(self))
            except BaseException as error:
                failed.append(error)

        with open_switch_card(parameters=self._parameters, progress=False) as card:
            self._card = card
            for port in range(card.ports):
                card.sink(port, "memory")
            hardware = CardHardware(card)
            infos = [PortInfo(number, f"port{number}", bytes((2, 0, 0, 0, 0, number)), 100_000_000) for number in PORTS]
            agent = OpenFlowSwitch(HardwareDatapath(hardware), 1, infos)
            with Controllers(agent, listens=["ptcp:0:127.0.0.1"]) as self._controllers:
                self._address = self._controllers.listening[0]
                thread = threading.Thread(target=run_work)
                thread.start()
                while thread.is_alive():
                    self._controllers.poll(_BUSY_S)
                    while not self._calls.empty():
                        self._calls.get()()
                thread.join()
        if failed:
            raise failed[0]
        return found[0]

    def _do(self, call: Callable[[], T]) -> T:
        """Calls from the other thread, in the card's."""
        done: queue.SimpleQueue[T] = queue.SimpleQueue()
        self._calls.put(lambda: done.put(call()))
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
        self._do(lambda: self._card.source(port - 1, list(frames), timing=rate))

    def settle(self) -> None:
        """See ``Device``."""

        def settle() -> None:
            self._card.run(cycles=_SETTLE_CYCLES)
            self._controllers.poll()

        self._do(settle)

    def received(self, port: int) -> list[bytes]:
        """See ``Device``."""
        return self._do(lambda: [frame.data for frame in self._card.received(port - 1)])

    def enforce(self) -> None:
        """See ``Device``: a barrier of the card's is one."""
