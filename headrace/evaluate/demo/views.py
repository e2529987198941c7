# SPDX-License-Identifier: Apache-2.0
"""What views of parts have in common."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from headrace.evaluate.demo import Shown


def table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """A table without lines; those of the columns that are numbers stand to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    return made


def verdict(right: bool, good: str, bad: str) -> Text:
    """In green or red."""
    return Text(good, "green") if right else Text(bad, "bold red")


def left_out(reason: str) -> Shown:
    """A part that can't be here."""
    return Shown(True, Text(f"skipped: {reason}", "yellow"))
