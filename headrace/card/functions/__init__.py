"""Virtual functions of a card: their queues, what they may send and are to receive, the drivers that the harness plays,
and those of other processes."""

from headrace.card.functions.engine import Functions, QueueCounters, QueueFault, Side, Virtqueue
from headrace.card.functions.plugs import Plugs
from headrace.card.functions.policy import Policy, PolicyDrops, parse_mac

__all__ = [
    "Functions",
    "Plugs",
    "Policy",
    "PolicyDrops",
    "QueueCounters",
    "QueueFault",
    "Side",
    "Virtqueue",
    "parse_mac",
]
