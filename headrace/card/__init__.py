"""The virtual card: a compiled model with links, host memory and registers around it.

Uses ``build`` and ``registers``, and knows nothing of any one card. ``Card`` is where to start; ``interface`` is the
harness's C interface, ``host_memory`` and ``packet_memory`` what the card's DMA sees, ``records`` the files that are
made of a ring of records, ``stats`` what a run gives back, ``control`` the socket that a running card is asked over,
``process`` signals and rights of the process around it.
"""

from headrace.card.card import Card
from headrace.card.stats import Frame, Irq, MemoryStats, PassthroughStats, PortStats, RunResult, Stats
from headrace.errors import BusError, CaptureError, CardError, HangError, ModelError, ProtocolError

__all__ = [
    "BusError",
    "CaptureError",
    "Card",
    "CardError",
    "Frame",
    "HangError",
    "Irq",
    "MemoryStats",
    "ModelError",
    "PassthroughStats",
    "PortStats",
    "ProtocolError",
    "RunResult",
    "Stats",
]
