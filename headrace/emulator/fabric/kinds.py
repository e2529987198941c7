"""The kinds of fabric, by the names that scenarios have for them: software, ovs and rtl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.emulator.fabric import Fabric
from headrace.emulator.fabric.cards import CardFabric, build_card_for, check_card
from headrace.emulator.fabric.software import SoftwareFabric
from headrace.emulator.fabric.switches import OvsFabric
from headrace.errors import HeadraceError
from headrace.net import ovs


def open_fabric(kind: str, ports: int, parameters: Mapping[str, Any], cards: int | None = None) -> Fabric:
    """A fabric whose interfaces are there; ``parameters`` and number of its ``cards`` are of kind rtl. Raises
    HeadraceError."""
    if kind == "software":
        return SoftwareFabric()
    if kind == "ovs":
        return OvsFabric(ports)
    return CardFabric(ports, parameters, cards)


def check(kind: str, ports: int, parameters: Mapping[str, Any], cards: int | None = None) -> None:
    """Raises HeadraceError, before anything is begun, where it can't be; with the key that says so."""
    for key, value in (("fabric_parameters", parameters), ("fabric_cards", cards)):
        if kind != "rtl" and value:
            raise HeadraceError(f"{key}: {kind} has none", 2)
    if kind == "ovs" and (reason := ovs.available()):
        raise HeadraceError(reason)
    if kind == "rtl":
        check_card(ports, cards, parameters)


def build(kind: str, ports: int, parameters: Mapping[str, Any], cards: int | None = None) -> None:
    """What has to be built, if it isn't there. Raises HeadraceError."""
    if kind == "rtl":
        build_card_for(ports, cards, parameters)
