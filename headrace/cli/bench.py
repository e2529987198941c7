"""``headrace bench``: the figures that Headrace promises, measured again."""

from __future__ import annotations

import json as json_format
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.evaluate.bench import Row

_EPILOG = """Examples:

headrace bench

headrace bench filter --full

headrace bench capture

headrace bench sim --json

headrace bench size --update-docs

headrace bench cost --beside HEAD~5
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench", epilog=_EPILOG)(bench_command)


def bench_command(
    group: Annotated[
        str,
        typer.Argument(
            metavar="[GROUP]",
            help="filter, capture, bridge, rpu, switch, host, emulator, size, stream, sim, live, conformance, all of "
            "these; cost; or placed and routed: switch-fit, host-fit, rpu-fit, bridge-fit, stream-fit, size-fit.",
        ),
    ] = "all",
    full: common.Full = False,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run the points on this Dask cluster instead of here.")
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(metavar="COMMIT", help="cost: the commit to measure beside this tree.", show_default="1e1770b"),
    ] = None,
    json: common.Json = False,
    update_docs: common.UpdateDocs = False,
) -> int:
    """Measure and compare with required values: line rate, cycles, bandwidth, size, speed of the simulator.

    A group takes a few minutes of processor time once its models are built, and README and docs show its figures;
    --full takes more points, and longer. Those that place and route take hours. cost measures processor time beside
    another commit of this checkout, in turns. The exit code is 1 when a figure misses its required value.
    """
    from headrace.evaluate.bench import groups, page
    from headrace.evaluate.committed import MEASUREMENTS, publish
    from headrace.evaluate.measured import processor_s

    common.one_of("bench", group, (*groups.GROUPS, "all", groups.COST))
    if beside is not None and (update_docs or group != groups.COST):
        raise HeadraceError("--beside is for bench cost without --update-docs", 2)
    common.as_shown(full, update_docs)
    common.optimise("now")
    rows: list[Row] = []
    with common.long_progress() as progress:
        for name in groups.ALL if group == "all" else [group]:
            measurement = MEASUREMENTS[f"bench {name}"]
            measured_on, begun_s = measurement.here(), processor_s()
            rows += (found := groups.run([name], full, dask, progress, beside))
            if update_docs:
                took_s = None if dask else processor_s() - begun_s
                for line in publish(measurement, measured_on, page.values(name, found), took_s):
                    common.tell(line)
    if json:
        print(json_format.dumps([row.to_json() for row in rows], indent=2))
    else:
        _print(rows)
    return 1 if any(row.ok is False for row in rows) else 0


def _print(rows: Sequence[Row]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading, justify in (("what", "left"), ("must be", "left"), ("is", "right"), ("", "left"), ("", "left")):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    table.add_column("how it is known", style="dim")
    group = None
    for row in rows:
        if row.group != group:
            group = row.group
            table.add_section()
            table.add_row(Text(group, "bold"))
        verdict = {True: Text("met", "green"), False: Text("missed", "bold red"), None: Text()}[row.ok]
        known = f"{row.kind}; {row.note}" if row.note else row.kind
        table.add_row(Text(f"  {row.what}"), Text(row.must), Text(_number(row.value)), Text(row.unit), verdict, known)
    Console().print(table)


def _number(value: float | int | str) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value
