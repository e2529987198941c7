"""The bridge card as a virtual card, and its driver."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.card import Card
from headrace.cards.bridge.driver import HOST_BUFFERS, BridgeDriver
from headrace.errors import HeadraceError
from headrace.net import bpf

LINE_RATE = 10e9  # bit/s
_FASTEST = 100e9
_SHARE = 0.95  # of the cycles of a wire

_WAIT_CYCLES = 64


def open_bridge_card(
    parameters: Mapping[str, Any] | None = None, trace: str | Path | None = None, progress: bool = True
) -> Card:
    """A bridge card whose ports have 10 Gb/s."""
    card = Card.open("bridge", parameters, trace=trace, progress=progress)
    for port in range(card.ports):
        card.set_rate(port, LINE_RATE)
    return card


def check_link_type(card: Card) -> None:
    """Raises HeadraceError where a source gives other frames than Ethernet's, which the bridge is for."""
    linktype, *_ = card.capture_format()
    if linktype != bpf.DLT_EN10MB:
        raise HeadraceError(f"link type {bpf.link_name(linktype)}: the bridge takes Ethernet frames only")


def driver_of(card: Card, host_buffers: int = HOST_BUFFERS) -> BridgeDriver:
    """The driver of a bridge card, which waits by letting the card run."""
    return BridgeDriver(
        card.regs,
        card.memory,
        card.memory.allocate,
        lambda: [irq.vector for irq in card.irqs()],
        lambda: _pass_time(card),
        lambda: card.stats().time_ns,
        host_buffers,
    )


def _pass_time(card: Card) -> None:
    card.run(until=None, cycles=_WAIT_CYCLES)


def let_go(card: Card) -> None:
    """Lets ports be as fast as a beat in almost every cycle makes them, for links that have no rate of their own: a
    packet then takes as few cycles, and as little time of the simulator, as the card needs."""
    rate = _SHARE * card.description.data_width(card.parameters) * card.clock_hz
    for port in range(card.ports):
        card.set_rate(port, min(_FASTEST, rate))
