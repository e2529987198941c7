"""Runs of a card beside which others want something: controllers, drivers in other processes, who asks at a socket."""

from __future__ import annotations

from collections.abc import Callable

from headrace.card.card import Card
from headrace.card.process import StopRequests, Tell
from headrace.errors import CaptureError

CALM_S = 0.005
"""Of wall time between looks at others while they want nothing."""

_BUSY_S = 0.001  # and while they do
_LATELY = 50  # looks
_DRAIN_S = 1.0


def run_attended(
    card: Card,
    stop: StopRequests,
    attend: Callable[[bool], int],
    waits: bool,
    tell: Tell,
    end_ns: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Runs a card until all is done, until a time of its clock, or until a signal; then takes nothing new from links.

    ``attend`` is told whether the card is idle, does what others want, and says how much that was. With ``waits`` they
    may want something later: an idle card goes on, as it does when a link breaks, of which ``tell`` gets a line.
    ``progress`` gets the number of packets received. Raises CaptureError as ``Card.run``, without ``waits``."""
    quiet, idle = 0, False
    while not stop:
        done = attend(idle)
        quiet = 0 if done else quiet + 1
        try:
            result = card.run("interrupt", wall_s=_BUSY_S if quiet < _LATELY else CALM_S, until_ns=end_ns)
        except CaptureError as error:
            if not waits:
                raise
            tell(str(error))  # its link is down from now on; the others go on
            continue
        idle = result.idle
        if progress is not None:
            progress(result.stats.rx_frames)
        if result.reason == "cycles" or (idle and not waits and not card.irqs() and not done):
            break
        card.irqs()
    card.stop_sources()
    if stop and not stop.at_once:
        card.run(wall_s=_DRAIN_S)
