# SPDX-License-Identifier: Apache-2.0
"""A link that delays, in tc-netem's words, changed while it runs."""

from __future__ import annotations

from typing import Any

from rich.console import Group

from headrace.card.control import ask
from headrace.cards.link.service import CONTROL
from headrace.evaluate.demo import Setting, Shown, live
from headrace.evaluate.demo.views import left_out, table, verdict
from headrace.evaluate.loads.switch_network import hosts_at

DELAYS_MS = (20, 60)
"""Each way."""
CARD: dict[str, Any] = {}
_LEAST = 0.9  # of the delays: a card that is behind the host's clock catches up meanwhile


def run(setting: Setting) -> Shown:
    """Pings between two hosts; a round trip takes the delay twice. Raises HeadraceError."""
    if reason := live.why_not("ping"):
        return left_out(reason)
    setting.build("link", CARD)
    words = ["link", "run", "--port", "0=tap:left", "--port", "1=tap:right"]
    rows = table("headrace link set", "round trip", "pings answered", "", numbers=["round trip", "pings answered"])
    same = True
    with hosts_at(words, CARD, ["left", "right"]) as ((one, other), control):
        for delay in DELAYS_MS:
            ask(CONTROL, control, {"command": "set", "port": None, "words": ["delay", f"{delay}ms"]})
            answered, ms = live.round_trip(one, other)
            right = answered == live.PINGS and ms > _LEAST * 2 * delay
            equal = verdict(right, f"twice {delay} ms, plus the host's own time", "wrong")
            rows.add_row(f"delay {delay}ms", f"{ms:.1f} ms", f"{answered} of {live.PINGS}", equal)
            same &= right
    text = "In card time a delay is exact to 0.1 us; ping's clock is the host's, which the card follows."
    return Shown(same, Group(rows, "", text))
