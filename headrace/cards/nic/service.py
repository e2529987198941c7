"""A running NIC as others reach it: what its control socket answers (``headrace nic stats``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.card.control import ControlSocket, Owner
from headrace.card.functions import Functions, Side
from headrace.cards.nic.card import Nic, mac_text
from headrace.errors import HeadraceError

CONTROL = Owner("nic", "a NIC")
_PATHS = ("from_ports", "from_functions")


class Service:
    """What a NIC does for those who ask. A request is an object with ``command``: stats."""

    def __init__(self, nic: Nic, functions: Functions) -> None:
        self._nic, self._functions = nic, functions

    def attend(self, control: ControlSocket | None) -> int:
        """Answers those who ask, and says how many."""
        return 0 if control is None else control.poll(self.answer)

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises HeadraceError for what can't be."""
        if request.get("command") != "stats":
            raise HeadraceError(f"unknown request: {dict(request)}", 2)
        return self.stats()

    def stats(self) -> dict[str, Any]:
        """Frames of the Ethernet ports, of the functions that are in use, and of both directions."""
        return {
            "ports": [{"port": port, **self._nic.port_counters(port)._asdict()} for port in range(self._nic.ports)],
            "functions": [self._function(number) for number in sorted(self._nic.settings)],
            "paths": [
                {"path": name, **self._nic.path_counters(number)._asdict()} for number, name in enumerate(_PATHS)
            ],
        }

    def _function(self, number: int) -> dict[str, Any]:
        setting = self._nic.settings[number]
        sent, received = (self._functions.traffic(side, number) for side in Side)
        return {
            "function": number,
            "mac": mac_text(setting.mac),
            "vlan": setting.vlan,
            "uplink": setting.uplink,
            "promiscuous": setting.promiscuous,
            "sent": sent.packets,
            "sent_bytes": sent.bytes,
            "sent_dropped": sent.dropped,
            "received": received.packets,
            "received_bytes": received.bytes,
            "received_dropped": received.dropped + received.dropped_full + received.dropped_off,
        }
