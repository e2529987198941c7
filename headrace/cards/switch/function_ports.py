"""Virtual functions as ports of a running switch (``headrace vf``): what is connected with them, what they may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from headrace.card.functions import Functions, Plugs, Side
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware
from headrace.errors import HeadraceError
from headrace.net.source import KINDS

_KINDS = ("vhost", *KINDS)


class FunctionPorts:
    """The functions of a switch, whose ports follow ``ports`` Ethernet ports. ``held``: the ports that hold their link
    off, a bit each; None: none ever does."""

    def __init__(
        self, switch: OpenFlowSwitch, hardware: CardHardware, plugs: Plugs, ports: int, held: int | None
    ) -> None:
        self._switch, self._hardware, self._plugs, self._ports, self._held = switch, hardware, plugs, ports, held

    def look(self) -> None:
        """Ports whose functions nobody drives go down, the others up."""
        for function in self._plugs:
            self._switch.set_link(self._port(function), self._plugs.link_up(function))

    def status(self) -> list[dict[str, Any]]:
        """Of each function its number and port, its link (None: it is in no use), whether that is up, its policy."""
        functions = self._functions()
        found = []
        for function in range(functions.count):
            link = self._plugs.link(function)
            up = link is not None and self._plugs.link_up(function)
            state = {"function": function, "port": self._port(function), "link": link, "up": up}
            found.append(state | asdict(functions.policy(function)))
        return found

    def change(self, function: int, settings: Mapping[Any, Any]) -> None:
        """Changes fields of a function's policy. Raises HeadraceError for what can't be."""
        functions = self._functions()
        before = functions.policy(function)
        kinds = {"mac": str, "vlan": int, "qos": int, "rate": int, "spoofcheck": bool, "trust": bool}
        for name, value in settings.items():
            if name not in kinds or not (type(value) is kinds[name] or (name == "mac" and value is None)):
                raise HeadraceError(f"{name} {value}: not of a function's settings", 2)
        functions.set_policy(function, replace(before, **settings))

    def stats(self, function: int | None = None) -> list[dict[str, Any]]:
        """What a function, or all, has sent and received, and what was dropped of that and why."""
        functions = self._functions()
        if function is not None:
            functions.check(function)
        return [self._counts(functions, n) for n in (range(functions.count) if function is None else [function])]

    def plug(self, function: int, link: str) -> None:
        """Connects a function that is in no use, as ``Plugs.plug``."""
        self._functions().check(function)
        if link.partition(":")[0] not in _KINDS:
            raise HeadraceError(f"{link}: no link: use one of {', '.join(f'{kind}:' for kind in _KINDS)}", 2)
        self._plugs.plug(function, link)
        if self._held is not None:
            self._held |= 1 << self._port(function) - 1
            self._hardware.hold(self._held)
        self.look()

    def unplug(self, function: int) -> None:
        """Takes a function out of use. Its port goes down."""
        self._functions().check(function)
        try:
            self._plugs.unplug(function)
        finally:
            if self._plugs.link(function) is None:
                self._switch.set_link(self._port(function), False)

    def _functions(self) -> Functions:
        if self._plugs.functions is None:
            raise HeadraceError("this switch has no virtual functions: start it with -P FUNCTIONS=N", 2)
        return self._plugs.functions

    def _port(self, function: int) -> int:
        return self._ports + 1 + function

    @staticmethod
    def _counts(functions: Functions, function: int) -> dict[str, Any]:
        pairs = range(function * functions.pairs, (function + 1) * functions.pairs)
        sent, received = (
            [sum(column) for column in zip(*(functions.counters(side, queue) for queue in pairs), strict=True)]
            for side in (Side.TRANSMIT, Side.RECEIVE)
        )
        return {
            "function": function,
            "sent": sent[0],
            "sent_bytes": sent[1],
            "sent_dropped": sum(sent[2:]),
            "received": received[0],
            "received_bytes": received[1],
            "dropped_full": received[3],
            "dropped_off": received[4],
            **functions.policy_drops(function)._asdict(),
        }
