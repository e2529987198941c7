"""Runs of a card beside which others want something: controllers, drivers in other processes, who asks at a socket."""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence

from headrace.card.card import Card
from headrace.card.process import StopRequests, Tell
from headrace.errors import CaptureError

_BUSY_S = 0.001  # of wall time between looks at others while they want something
_LATELY = 5  # looks
_CALM_S = 0.1  # between looks while they want nothing: at what is no descriptor's, such as links that go down
_DEAF_S = 0.005  # and where one asks for what can't be done yet
_DRAIN_S = 1.0


def run_attended(
    card: Card,
    stop: StopRequests,
    attend: Callable[[], int],
    asking: Callable[[], Sequence[int]],
    waits: bool,
    tell: Tell,
    end_ns: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Runs a card until all is done, until a time of its clock, or until a signal; then takes nothing new from links.

    ``attend`` does what others want, and says how much that was; ``asking``: file descriptors that can be read when
    there is something to do for it. With ``waits`` they may want something later: an idle card goes on, as it does when
    a link breaks, of which ``tell`` gets a line. ``progress`` gets the number of packets received. Raises CaptureError
    as ``Card.run``, without ``waits``."""
    quiet, asked = 0, False
    while not stop:
        done = attend()
        quiet = 0 if done else quiet + 1
        wall_s, heard = _BUSY_S if quiet < _LATELY else _CALM_S, asking()
        if asked and not done:
            wall_s, heard = _DEAF_S, ()
        try:
            result = card.run("interrupt", wall_s=wall_s, until_ns=end_ns, asking=heard)
        except CaptureError as error:
            if not waits:
                raise
            tell(str(error))  # its link is down from now on; the others go on
            continue
        asked = result.reason == "asked"
        if progress is not None:
            progress(result.stats.rx_frames)
        if result.reason == "cycles" or (result.idle and not waits and not card.irqs() and not done):
            break
        card.irqs()
        if result.idle and not done:
            asked = _asked(heard, wall_s)
    card.stop_sources()
    if stop and not stop.at_once:
        card.run(wall_s=_DRAIN_S)


def _asked(descriptors: Sequence[int], wait_s: float) -> bool:
    """Whether one of them can be read within so long."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(1000 * wait_s))
