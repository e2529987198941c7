# SPDX-License-Identifier: Apache-2.0
"""Commands that README and manual show: there are such, with such options and values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from headrace import paths
from headrace.cli import app

PAGES = [paths.share() / "README.md", *sorted((paths.share() / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```\w*\n(.*?)^```|^((?:    [^\n]*\n)+)", re.DOTALL | re.MULTILINE)
_INCOMPLETE = ("MissingParameter", "NoArgsIsHelpError")
_PLACE_HOLDER = re.compile(r"\.\.\.|\[|^[A-Z]+$")


def commands(line: str) -> Iterator[list[str]]:
    """Those of Headrace in a line of a shell, without ``headrace``; none where it isn't a line of a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    try:
        words = [word for word in lexer if not word.startswith(("<", ">"))]
    except ValueError:  # a quote that stands alone
        return
    while words:
        end = next((place for place, word in enumerate(words) if set(word) <= set(";&|")), len(words))
        command, words = words[:end], words[end + 1 :]
        start = next((place for place, word in enumerate(command) if Path(word).name == "headrace"), end)
        if (arguments := command[start + 1 :]) and "".join(command[:start]).isascii():  # the frame of a table isn't
            yield arguments


def parse(arguments: list[str]) -> None:
    """As the command line does, without doing anything."""
    command = typer.main.get_group(app)
    context = command.make_context("headrace", list(arguments))
    while isinstance(command, typer.core.TyperGroup) and (rest := [*context._protected_args, *context.args]):
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_a_page_are_understood(page: Path) -> None:
    text = page.read_text().replace("\\\n", " ")
    shown = [line for block in _BLOCK.finditer(text) for line in (block[1] or block[2]).splitlines()]
    named = re.findall(r"`([^`\n]+)`", _BLOCK.sub("", text))
    for line in shown + named:
        for arguments in commands(line):
            if any(_PLACE_HOLDER.search(word) for word in arguments):
                continue
            try:
                with suppress(typer.Exit):  # --help and --version end there
                    parse(arguments)
            except typer.TyperException as error:  # a command that is named without its arguments is none
                assert line in named and type(error).__name__ in _INCOMPLETE, f"{line}: {error.format_message()}"
