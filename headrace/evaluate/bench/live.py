# SPDX-License-Identifier: Apache-2.0
"""What the filter and the capture card take from a live interface without loss, beside tcpdump on the same machine."""

from __future__ import annotations

from headrace.build.models import build_card
from headrace.errors import HeadraceError
from headrace.evaluate.bench import WALL_CLOCK, Row
from headrace.evaluate.loads import live
from headrace.evaluate.points import Progress
from headrace.net import namespaces

SIZES = (60, 1514)  # bytes without FCS
COUNT = 20_000  # packets that the kernel's buffer holds
SHARE = 0.8  # of the rate that was found, at which nothing may be lost
SECONDS = 3.0
_AS_SENT = 1.1  # times what the sender takes: then it is what limits


def run(progress: Progress) -> list[Row]:
    """A burst tells how many packets a second a program takes; at a part of that rate, for seconds, none may be lost.
    Raises HeadraceError."""
    if reason := namespaces.why_not():
        raise HeadraceError(reason)
    for card in ("filter", "capture"):
        build_card(card, progress=False)
    rows = []
    for size in SIZES:
        beside = 0.0
        for program in live.PROGRAMS:
            what = f"{program} {size + 4} bytes"
            progress(what, None)
            burst = live.captured(program, size, COUNT)
            if burst.written < burst.sent:
                raise HeadraceError(f"{what}: {burst.sent - burst.written} packets of a burst are lost")
            beside = beside or burst.packets_per_s
            rate = SHARE * burst.packets_per_s
            steady = live.captured(program, size, round(rate * SECONDS), rate)
            lost = steady.sent - steady.written
            note = f"{burst.packets_per_s / beside:.2f} of tcpdump's; {lost} of {steady.sent:,} lost at {rate:,.0f}/s"
            if burst.seconds < _AS_SENT * burst.sending_s:
                note += "; as fast as they were sent"
            rows.append(
                Row("live", what, "none lost", round(burst.packets_per_s), "packets/s", lost == 0, WALL_CLOCK, note)
            )
    return rows
