# SPDX-License-Identifier: Apache-2.0
"""Man pages, made from what ``--help`` shows: one of ``headrace``, and one of each command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import typer

import headrace

_EXIT_STATUS = (
    ("0", "Done."),
    ("1", "Something failed while running, broken input included."),
    ("2", "Wrong usage, or a wrong filter."),
    ("130", "Interrupted."),
)


def write(folder: Path) -> list[Path]:
    """Writes all pages into a folder, which is made; gives their paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, text in pages():
        made.append(folder / f"{name}.1")
        made[-1].write_text(text)
    return made


def pages() -> Iterator[tuple[str, str]]:
    """Names, such as ``headrace-switch-run``, and texts in the macros of man(7)."""
    from headrace.cli import app

    yield from _pages(typer.main.get_group(app), "headrace", None)


def _pages(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    below = [command.get_command(context, each) for each in getattr(command, "commands", ())]
    page = context.command_path.replace(" ", "-")
    yield page, "\n".join(_page(page, command, context, below)) + "\n"
    for each in below:
        yield from _pages(each, each.name, context)


def _page(page: str, command: Any, context: Any, below: list[Any]) -> Iterator[str]:
    about, _, text = command.help.partition("\n\n")
    yield f'.TH "{_plain(page.upper())}" "1" "" "headrace {headrace.__version__}" "Headrace"'
    yield from (".SH NAME", rf"{_plain(page)} \- {_plain(about).rstrip('.')}")
    yield from (".SH SYNOPSIS", rf"\fB{_plain(context.command_path)}\fR", *map(_plain, _usage(command, context)))
    if text:
        yield ".SH DESCRIPTION"
    for paragraph in filter(None, text.split("\n\n")):
        yield from (".PP", _plain(paragraph))
    parameters = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    for title, kind in (("ARGUMENTS", "argument"), ("OPTIONS", "option")):
        records = [each.get_help_record(context) for each in parameters if each.param_type_name == kind]
        yield from _list(title, ((name.removesuffix(" <list[str]>"), about) for name, about in filter(None, records)))
    if below:
        yield ".SH COMMANDS"
    for group, commands in groupby(below, lambda each: each.rich_help_panel or ""):
        yield from _list("", ((each.name, each.help.partition("\n\n")[0]) for each in commands), str(group))
    examples = [line for line in (command.epilog or "").splitlines() if line and line not in ("Example:", "Examples:")]
    if examples:
        yield ".SH EXAMPLES"
    for line in examples:
        yield from (".PP", ".nf", _plain(line), ".fi")
    if context.parent is None:
        yield from _list("EXIT STATUS", _EXIT_STATUS)
    beside = [page.rpartition("-")[0]] if context.parent else []
    beside += [f"{page}-{each.name}" for each in below]
    yield from (".SH SEE ALSO", ",\n".join(rf"\fB{_plain(each)}\fR(1)" for each in beside))


def _usage(command: Any, context: Any) -> list[str]:
    pieces: list[str] = command.collect_usage_pieces(context)
    return pieces


def _list(title: str, rows: Iterable[tuple[str, str]], below: str = "") -> Iterator[str]:
    """What is named, and what is said of it; nothing without rows."""
    first = True
    for name, about in rows:
        if first and title:
            yield f".SH {title}"
        if first and below:
            yield f".SS {below}"
        first = False
        yield from (".TP", rf"\fB{_plain(name)}\fR", _plain(about) or r"\&")


def _plain(text: str) -> str:
    """A text in one line, in which nothing is a request or an escape."""
    line = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace("`", "").replace("'", r"\(aq")
    return rf"\&{line}" if line.startswith(".") else line
