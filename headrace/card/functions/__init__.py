"""Virtual functions of a card: their queues, the drivers that the harness plays, and those of other processes."""

from headrace.card.functions.engine import Functions, QueueCounters, QueueFault, Side, Virtqueue
from headrace.card.functions.plugs import Plugs

__all__ = ["Functions", "Plugs", "QueueCounters", "QueueFault", "Side", "Virtqueue"]
