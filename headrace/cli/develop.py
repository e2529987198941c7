"""``headrace lint`` and ``docs``: for those who work on cards."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("lint", epilog="Examples:\n\nheadrace lint\n\nheadrace lint ./mycard")(lint_command)
    app.command("docs", epilog="Example:\n\nheadrace docs build/docs")(docs_command)


def lint_command(
    card: Annotated[
        str | None, typer.Argument(metavar="CARD", help="A card's name or folder; all cards without it.")
    ] = None,
) -> int:
    """Lint the RTL of cards with every warning of Verilator on. The exit code is 1 when there is one."""
    from headrace.description import list_cards, load_card
    from headrace.lint import lint

    found = False
    for description in [load_card(card)] if card is not None else list_cards():
        messages = lint(description)
        print(
            messages or f"{description.name}: clean",
            end="" if messages else "\n",
            file=sys.stderr if messages else None,
        )
        found = found or bool(messages)
    return int(found)


def docs_command(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where the files go.")] = "build/docs",
) -> None:
    """Make the reference of the cards' registers: HTML pages and C headers."""
    from pathlib import Path

    from headrace.docs import make_reference

    for path in make_reference(Path(folder)):
        print(path)
