"""Opens an RPU card: a virtual card with its driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.card import Card
from headrace.cards.rpu.driver import RpuDriver
from headrace.errors import HeadraceError

ACCELERATORS = {"none": 0, "crc": 1, "checksum": 2, "blacklist": 3, "matcher": 4}
_WAIT_CYCLES = 16


def accelerator_parameters(chosen: Mapping[int, str]) -> dict[str, int]:
    """Parameters of the card for accelerators by unit. Raises HeadraceError for one that there is none of."""
    kinds = 0
    for unit, name in chosen.items():
        if name not in ACCELERATORS:
            raise HeadraceError(f"no accelerator '{name}'; there are {', '.join(ACCELERATORS)}", 2)
        kinds |= ACCELERATORS[name] << 4 * unit
    low, high = kinds & 0xFFFF_FFFF, kinds >> 32
    return {"ACCELERATORS_LOW": low, "ACCELERATORS_HIGH": high}


def open_rpu_card(units: int = 8, accelerators: Mapping[int, str] | None = None, **options: Any) -> Card:
    """A card with so many units, and accelerators by unit; ``options`` are ``Card.open``'s."""
    parameters = {"UNITS": units, **accelerator_parameters(accelerators or {}), **options.pop("parameters", {})}
    return Card.open("rpu", parameters=parameters, **options)


def driver_of(card: Card) -> RpuDriver:
    """The driver of an open card."""
    return RpuDriver(card.regs, lambda: _pass_time(card))


def _pass_time(card: Card) -> None:
    card.run(until=None, cycles=_WAIT_CYCLES)
