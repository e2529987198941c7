"""The host port as virtual functions, where the card has them instead of rings."""

from __future__ import annotations

import time

from headrace.card import Card
from headrace.card.functions import Functions
from headrace.cards.rpu.driver import RpuDriver
from headrace.engines.functions import FunctionPorts

STEP = 8
"""From the port of a function to that of the next one."""

_LOOK_S = 0.005  # of wall time between looks at other processes, while the card has nothing to do


class RpuFunctions(Functions):
    """The functions of an RPU card, whose units may take no packets."""

    def __init__(self, card: Card, driver: RpuDriver) -> None:
        super().__init__(card, card.regs.functions)
        self._driver = driver

    def give_way(self, on: bool) -> None:
        """Drops the host's packets for a while, those of all functions."""
        self._driver.set_open("host", not on)


class FunctionHost:
    """Serves drivers of functions while the card runs: what ``headrace.card.rings.HostPort`` is for rings."""

    def __init__(self, card: Card, functions: FunctionPorts) -> None:
        self._card, self._functions = card, functions
        self._live = False

    @property
    def live(self) -> bool:
        """Whether packets come as they happen, or did: another function may be plugged."""
        self._live |= self._functions.plugs.live
        return self._live

    def serve(self) -> bool:
        """Does what drivers in other processes ask for; says whether there was something."""
        self._card.irqs()
        return self._functions.plugs.poll() > 0

    def wait(self, milliseconds: int) -> bool:
        """Waits for a while, if a driver is live; False: none is, and no packet will come."""
        if self.live:
            time.sleep(min(milliseconds / 1000, _LOOK_S))
        return self.live

    def end(self) -> None:
        """Takes nothing new from drivers: those that are live go on until their functions are unplugged."""

    def counted(self) -> tuple[int, int]:
        """Packets that came from functions, and those that they received."""
        totals = self._functions.totals()
        return totals.sent, totals.received

    def close(self) -> None:
        """Nothing: functions are unplugged where they were plugged."""
