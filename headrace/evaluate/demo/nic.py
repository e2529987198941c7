# SPDX-License-Identifier: Apache-2.0
"""Two virtual functions of a NIC, each with a host behind it."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.text import Text

from headrace.card.control import ask
from headrace.cards.nic.service import CONTROL
from headrace.evaluate.demo import Setting, Shown, live
from headrace.evaluate.demo.views import left_out, table, verdict
from headrace.evaluate.loads.switch_network import hosts_at

CARD: dict[str, Any] = {"FUNCTIONS": 2}
_COUNTS = ("sent", "received", "received_dropped")


def run(setting: Setting) -> Shown:
    """A ping between the hosts. Raises HeadraceError."""
    if reason := live.why_not("ping"):
        return left_out(reason)
    setting.build("nic", CARD)
    words = ["nic", "run", "--port", "vf:0=tap:h0", "--port", "vf:1=tap:h1"]
    with hosts_at(words, CARD, ["h0", "h1"]) as ((one, other), control):
        answered, ms = live.round_trip(one, other)
        functions = ask(CONTROL, control, {"command": "stats"})["functions"]
    same = answered == live.PINGS and not any(each["received_dropped"] for each in functions)
    rows = table("function", "host", "sent", "received", "dropped", numbers=["sent", "received", "dropped"])
    for number, (host, each) in enumerate(zip((one, other), functions, strict=True)):
        rows.add_row(str(number), host.address, *(f"{each[name]:,}" for name in _COUNTS))
    said = f"{answered} of {live.PINGS} pings"
    return Shown(
        same,
        Group(
            Text.assemble(
                "A driver's queues (virtio) in host memory, DMA, and the NIC's switch between them: ",
                verdict(same, said, said),
                f" answered, round trip {ms:.1f} ms.",
            ),
            "",
            rows,
        ),
    )
