"""``headrace bench``: the figures that Headrace promises, measured again."""

from __future__ import annotations

import json as json_format
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import common

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPILOG = """Examples:

headrace bench filter

headrace bench sim --json

headrace bench
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench", epilog=_EPILOG)(bench_command)


def bench_command(
    suite: Annotated[str, typer.Argument(metavar="[SUITE]", help="filter, sim, synth, or all of them.")] = "all",
    json: common.Json = False,
) -> int:
    """Measure what must hold, and compare: line rate, CPI, size, speed of the simulator.

    The exit code is 1 when a figure misses what it must be.
    """
    from headrace import bench

    with common.progress_line() as progress:
        figures = bench.run(suite, progress)
    if json:
        print(json_format.dumps([figure.to_json() for figure in figures], indent=2))
    else:
        _print(figures)
    return 1 if any(figure.met is False for figure in figures) else 0


def _print(figures: Sequence[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("what", "must", "is", "", "how it is known"):
        table.add_column(heading)
    for figure in figures:
        verdict = {True: "[green]met[/]", False: "[bold red]missed[/]", None: ""}[figure.met]
        table.add_row(figure.what, figure.must, figure.value, verdict, figure.kind)
    Console().print(table)
