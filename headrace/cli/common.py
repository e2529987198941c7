"""What several commands share: option types, and progress on the terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from headrace.errors import HeadraceError

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonFile = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the report as JSON.")]
Parameters = Annotated[
    list[str] | None, typer.Option("-P", metavar="NAME=VALUE", help="Set a parameter of the card; may be given again.")
]
Cores = Annotated[int | None, typer.Option(min=1, max=64, help="Filter cores of the card.", show_default="8")]
Rate = Annotated[
    str,
    typer.Option(
        metavar="lossless|line|recorded|NG",
        help="How packets are offered: at the line's rate but held off while the card can't keep up (lossless), at the "
        "line's rate whatever happens (line), at their recorded times, or at N Gb/s. Live packets come when they come.",
    ),
]

Progress = Callable[[str, float | None], None]
"""Called with what is being done and how much of it is done (0 to 1, or None where that isn't known)."""


def parameters(settings: list[str] | None) -> dict[str, str]:
    """NAME=VALUE strings as a mapping. Raises HeadraceError where one has no name or no =."""
    result: dict[str, str] = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise HeadraceError(f"-P {setting}: not NAME=VALUE", 2)
        result[name] = value
    return result


def rate(text: str) -> str | float:
    """The word itself, or bits per second for 40G, 2.5G or 100M. Raises HeadraceError for anything else."""
    if text in ("lossless", "line", "recorded"):
        return text
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([GM])", text, re.IGNORECASE)
    if match is None or float(match[1]) == 0:
        raise HeadraceError(f"--rate {text}: neither lossless, line, recorded nor a rate such as 40G", 2)
    return float(match[1]) * (1e9 if match[2] in "Gg" else 1e6)


def one_of(option: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise HeadraceError unless the value of an option is one of ``choices``."""
    if value not in choices:
        raise HeadraceError(f"{option} {value}: none of {', '.join(choices)}", 2)


@contextmanager
def progress_line() -> Iterator[Progress | None]:
    """A line on the terminal that shows how far a command is; None where stderr isn't a terminal.

    The line appears with the first report, so that a build before it can show a line of its own.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.SpinnerColumn(),
        rich_progress.TextColumn("{task.description}"),
        rich_progress.TimeElapsedColumn(),
    )
    bars = rich_progress.Progress(*columns, console=Console(stderr=True), transient=True)

    def show(what: str, done: float | None) -> None:
        if not bars.tasks:
            bars.add_task("", total=None)
            bars.start()
        bars.update(bars.task_ids[0], description=what if done is None else f"{what} {done:.0%}")

    try:
        yield show
    finally:
        bars.stop()
