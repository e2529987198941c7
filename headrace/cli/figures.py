"""``headrace figures``: the committed figures, which of them are stale, and the pages that show them."""

from __future__ import annotations

import json as json_format
import subprocess
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace import paths
from headrace.cli import common

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.evaluate.figures import Entry, Stale

_EPILOG = """Examples:

headrace figures

headrace figures 'bench filter'

headrace figures --json

headrace figures --fill

headrace figures --measure --fit
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("figures", epilog=_EPILOG)(figures_command)


def figures_command(
    command: Annotated[
        str | None,
        typer.Argument(metavar="[COMMAND]", help="Show the figures of one command only, such as 'bench filter'."),
    ] = None,
    fill: Annotated[
        bool,
        typer.Option("--fill", help="Write the figures, and which are stale, into this checkout's README and docs."),
    ] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure stale figures again, except those of place and route.")
    ] = False,
    fit: Annotated[bool, typer.Option("--fit", help="With --measure: only the figures of place and route.")] = False,
    json: common.Json = False,
) -> int:
    """Show the figures of docs/figures.json, and which of them are stale.

    Each command's figures have their date, the processor time that they took, and the files that have changed since.
    The exit code of --measure is 1 when that of a command was not 0: for example, a figure misses its required value.
    """
    from headrace.errors import HeadraceError
    from headrace.evaluate import committed, figures
    from headrace.evaluate.measured import Sources, checkout

    if command is not None:
        common.one_of("figures", command, tuple(committed.MEASUREMENTS))
    if fit and not measure:
        raise HeadraceError("--fit is for --measure", 2)
    sources = Sources(checkout())
    if fill:
        pages, wrong = committed.fill(sources)
        for line in [f"{page}: filled" for page in pages] + wrong:
            common.tell(line)
        return 1 if wrong else 0
    chosen = [each for name, each in committed.MEASUREMENTS.items() if command in (None, name)]
    stale = {each.measurement.command: each for each in figures.stale(chosen, sources)}
    if measure:
        wanted = [name for name, each in stale.items() if each.measurement.fit == fit]
        return max([_measured(name) for name in wanted], default=0)
    entries = {name: entry for name, entry in figures.read(sources.root).items() if command in (None, name)}
    if json:
        print(json_format.dumps({name: _plain(name, entries[name], stale) for name in entries}, indent=2))
    else:
        _print(entries, stale, whole=command is not None)
    return 0


def _measured(name: str) -> int:
    """Measures by a command, in a process of its own, which may give rights up; gives 1 where it doesn't end well."""
    common.tell(f"headrace {name}")
    kind, group = name.split()
    out = ["--out", f"build/{group}-study"] if kind == "study" else []
    words = [*paths.command(), kind, group, "--update-docs", *out]
    return int(subprocess.run(words, check=False).returncode != 0)


def _plain(name: str, entry: Entry, stale: Mapping[str, Stale]) -> dict[str, Any]:
    changed = {"changed": list(stale[name].changed)} if name in stale else {}
    return {
        "date": entry.date,
        "fit": entry.fit,
        "processor_s": entry.processor_s,
        "stale": name in stale,
        **changed,
        "values": dict(entry.values),
    }


def _print(entries: Mapping[str, Entry], stale: Mapping[str, Stale], whole: bool) -> None:
    """``whole``: tables in whole, and not only how many lines they have."""
    for name, entry in entries.items():
        what = stale[name].what if name in stale else "as measured"
        took = "" if entry.processor_s is None else f", {entry.processor_s / 60:.1f} min of processor time"
        print(f"headrace {name}, {entry.date}{', place and route' * entry.fit}{took}: {what}")
        for slot, value in sorted(entry.values.items(), key=lambda item: "\n" in item[1]):
            lines = value.split("\n")
            if len(lines) == 1:
                print(f"  {slot} = {value}")
            elif whole:
                print(f"\n{value}")
            else:
                print(f"  {slot}: {sum(line.startswith('|') for line in lines) - 2} rows")
