"""Virtual functions as ports of a running switch (``headrace vf``), which go up and down with what drives them."""

from __future__ import annotations

from headrace.card.functions import Plugs
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware
from headrace.engines.functions import FunctionPorts


class SwitchFunctions(FunctionPorts):
    """The functions of a switch, whose ports follow ``ports`` Ethernet ports. ``held``: the ports that hold their link
    off, a bit each; None: none ever does."""

    def __init__(
        self, switch: OpenFlowSwitch, hardware: CardHardware, plugs: Plugs, ports: int, held: int | None
    ) -> None:
        super().__init__(plugs, ports + 1)
        self._switch, self._hardware, self._held = switch, hardware, held

    def look(self) -> None:
        """Ports whose functions nobody drives go down, the others up, and are called as their devices are."""
        for function in self.plugs:
            self._set(function)

    def changed(self, function: int) -> None:
        """A function's port goes up or down with it, and holds its link off from its first use on."""
        used = self.plugs.link(function) is not None
        if used and self._held is not None:
            self._held |= 1 << self.port(function) - 1
            self._hardware.hold(self._held)
        self._set(function)

    def _set(self, function: int) -> None:
        if self.plugs.link(function) is None:
            self._switch.set_link(self.port(function), False, f"vf{function}")
        else:
            name = self.plugs.link_name(function)
            self._switch.set_link(self.port(function), self.plugs.link_up(function), name)
