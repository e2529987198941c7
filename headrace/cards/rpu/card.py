"""Opens an RPU card: a virtual card with its driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.card import Card
from headrace.cards.rpu.accelerators import check, library
from headrace.cards.rpu.driver import RpuDriver

_WAIT_CYCLES = 16


def open_rpu_card(units: int = 8, accelerators: Mapping[int, str] | None = None, **options: Any) -> Card:
    """A card with so many units, and accelerators by unit (names, or files: see ``accelerators.library``), which can be
    changed while it runs; ``options`` are ``Card.open``'s."""
    for name in (accelerators or {}).values():
        check(name)
    card = Card.open("rpu", parameters={"UNITS": units, **options.pop("parameters", {})}, **options)
    for unit, name in (accelerators or {}).items():
        load_accelerator(card, unit, name, options.get("progress", True))
    return card


def load_accelerator(card: Card, unit: int, name: str, progress: bool = True) -> None:
    """Puts an accelerator into a unit's slot, or takes out what is there (``none``).

    The unit is in reset, or its slot isolated: ``RpuDriver.swap`` sees to that. Raises HeadraceError when there is no
    such accelerator or slot.
    """
    found = library(name, int(card.parameters["DATA_W"]), progress)
    if found is None:
        card.unload_slot(unit)
    else:
        card.load_slot(unit, found)


def driver_of(card: Card) -> RpuDriver:
    """The driver of an open card."""
    return RpuDriver(card.regs, lambda: _pass_time(card), lambda: card.stats().time_ns)


def _pass_time(card: Card) -> None:
    card.run(until=None, cycles=_WAIT_CYCLES)
