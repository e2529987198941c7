# SPDX-License-Identifier: Apache-2.0
"""Six nodes, each a network namespace, whose links come and go as they move."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from headrace.evaluate.demo import Setting, Shown
from headrace.evaluate.demo.views import table, verdict
from headrace.evaluate.loads import emulations


def run(setting: Setting) -> Shown:
    """At each step, every node pings every other one. Raises HeadraceError."""
    setting.tell("running")
    found = emulations.reached(emulations.SMALL, ["software"])
    columns = ["step", "pairs in reach", "pairs that answer"]
    rows = table(*columns, "", numbers=columns)
    for number, (expected, reached) in enumerate(zip(found.expected, found.reached["software"], strict=True)):
        right = verdict(expected == reached, "the same pairs", "not the same pairs")
        rows.add_row(str(number), f"{len(expected)} of 15", str(len(reached)), right)
    text = (
        "Which pairs can reach each other is computed from the nodes' positions; programs in the nodes ping each other."
    )
    return Shown(found.same == len(found.expected), Group(Text(text), "", rows))
