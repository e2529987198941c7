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
SHARE = 0.8  # of the rate that a burst tells, and of each next try
SECONDS = 3.0
_BLOCKS_S = {"tcpdump": 1.0}  # after which a program gets packets at the latest, in blocks


def run(progress: Progress) -> list[Row]:
    """A burst tells how many packets a second a program takes; then they come for seconds, more and more slowly until
    none is lost. Raises HeadraceError."""
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
            taken_s = max(burst.sending_s, burst.seconds - _BLOCKS_S.get(program, 0))
            rate, tries = SHARE * burst.written / taken_s, 1
            while (steady := live.captured(program, size, round(rate * SECONDS), rate)).written < steady.sent:
                rate, tries = SHARE * rate, tries + 1
            beside = beside or rate
            note = f"{rate / beside:.2f} of tcpdump's; {steady.sent:,} packets, try {tries}"
            rows.append(Row("live", what, "-", round(rate), "packets/s", None, WALL_CLOCK, note))
    return rows
