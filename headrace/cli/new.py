# SPDX-License-Identifier: Apache-2.0
"""``headrace new``: begins a block or a card of one's own, in any folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the module: small letters, digits and _.")]
To = Annotated[
    Path | None, typer.Option("--to", metavar="DIR", help="Where the files go.", show_default="a folder of that name")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    new = typer.Typer(no_args_is_help=True, help="Start a block or a card of your own from a working template.")
    new.command("block", epilog="Example:\n\nheadrace new block gate")(block_command)
    new.command("card", epilog="Example:\n\nheadrace new card mynic")(card_command)
    app.add_typer(new, name="new")


def block_command(name: Name, to: To = None) -> None:
    """Make a block with a bench, streams that stall, and a proof. Nothing is overwritten."""
    from headrace.new import new_block

    files, folder = new_block(name, to), to or Path(name)
    rtl = _word(folder / f"{name}.sv")
    _show(files, f"headrace lint {rtl}", f"headrace synth {rtl}", folder)


def card_command(name: Name, to: To = None) -> None:
    """Make a card with registers, a block of its own, tests, a proof and a run. Nothing is overwritten."""
    from headrace.new import new_card

    files, folder = new_card(name, to), to or Path(name)
    run = f"python {_word(folder / 'run.py')}"
    _show(files, f"headrace lint {_word(folder)}", f"headrace synth {_word(folder)} --no-pnr", folder, run)


def _show(files: list[Path], lint: str, synth: str, folder: Path, *more: str) -> None:
    for path in files:
        print(path)
    print("\nNow:")
    for command in (lint, f"headrace test {_word(folder)}", synth, *more):
        print(f"    {command}")


def _word(path: Path) -> str:
    return shlex.quote(str(path))
