# SPDX-License-Identifier: Apache-2.0
"""``headrace help`` and ``completion``."""

from __future__ import annotations

from typing import Annotated

import typer

_COMPLETION_EPILOG = """Examples:

source <(headrace completion bash)

headrace completion zsh --install
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("help", epilog="Examples:\n\nheadrace help\n\nheadrace help switch run")(help_command)
    app.command("completion", epilog=_COMPLETION_EPILOG)(completion_command)


def help_command(
    command: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]...", help="The command to explain.")] = None,
) -> None:
    """Show the help of a command, as COMMAND --help does."""
    from headrace.cli import app

    typer.main.get_group(app)([*(command or []), "--help"], prog_name="headrace", standalone_mode=False)


def completion_command(
    shell: Annotated[
        str | None, typer.Argument(metavar="[bash|zsh|fish]", help="The shell; without it, the one of $SHELL.")
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Write the script where the shell finds it, and say where.")
    ] = False,
) -> None:
    """Print a script that lets a shell complete commands, options, cards, parameters and network interfaces."""
    from headrace.cli import completion

    found = completion.shell_of(shell)
    if install:
        print(completion.install(found))
    else:
        print(completion.SCRIPTS[found], end="")
