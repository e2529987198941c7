# SPDX-License-Identifier: Apache-2.0
"""The demo: each card at its work in a few lines, beside tcpdump, ping or what was computed.

A part is a module with ``run(setting)``; it builds its card, so that a part is shown before the next one's model is
compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.traffic.capture import Traffic

if TYPE_CHECKING:
    from rich.console import RenderableType

PARTS = {
    "filter": "Filter card: four filters at once, each file compared with tcpdump's",
    "capture": "Capture card: a live interface, compared with tcpdump",
    "bridge": "Bridge card: adaptive batches, compared with fixed ones",
    "rpu": "RPU card: a firewall in C on RISC-V packet processors",
    "switch": "Switch card: OpenFlow flows, and a ping through it",
    "nic": "NIC card: two virtual functions, and a ping between them",
    "link": "Link card: a delay that ping sees",
    "emulator": "Emulator: six nodes that move",
}
"""Titles by the names of cards, in the order in which they are shown. Each is the name of a module, too."""


@dataclass(frozen=True)
class Setting:
    """What parts share: a folder for files, a capture in it, and who is told what is being done."""

    folder: Path
    traffic: Traffic
    tell: Callable[[str], None] = lambda _: None

    def build(self, card: str, parameters: dict[str, Any] | None = None, long: bool = False) -> None:
        """Builds a card's model, which shows itself, unless it is there. ``long``: with optimisation, since the part
        takes longer than the compiler. Raises HeadraceError."""
        from headrace.build.models import build_card

        build_card(card, parameters, optimised=long)
        self.tell("running")


@dataclass(frozen=True)
class Shown:
    """A part: ``same``, whether the card did what was to be; ``view``: for a terminal."""

    same: bool
    view: RenderableType


def record(folder: Path, packets: int, progress: Callable[[int], None] | None = None) -> Traffic:
    """Makes the folder and records traffic into it. Raises HeadraceError."""
    from headrace.traffic import realistic_capture

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadraceError(f"{folder}: {error.strerror}") from None
    return realistic_capture(folder / "traffic.pcap", packets, progress=progress)


def show(part: str, setting: Setting) -> Shown:
    """Runs a part. Raises HeadraceError where a program or a compiler is missing."""
    shown: Shown = import_module(f"{__name__}.{part}").run(setting)
    return shown
