"""``headrace study``: sweeps that repeat published measurements, with tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from headrace.cli import common

if TYPE_CHECKING:
    from rich.table import Table

_EPILOG = """Examples:

headrace study capture

headrace study capture --quick --out quick-study

headrace study capture --cluster tcp://head:8786 --json study.json
"""

_BRIDGE_EPILOG = """Examples:

headrace study bridge

headrace study bridge --quick --out quick-study
"""

app = typer.Typer(
    name="study",
    help="Repeat a published system's measurements on a card, and go on where they end.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Where report.md, CSV files and figures go.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer points and packets.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run the points on this Dask cluster instead of here.")
]


@app.command("capture", epilog=_EPILOG)
def capture_command(
    out: Out = None, quick: Quick = False, json: common.JsonFile = None, cluster: Cluster = None
) -> int:
    """Repeat bpfcap's table 5.1 on the capture card, and measure what lies beyond it.

    Cycles are measured in the RTL, times are modelled: cycles times a nominal clock. As root, the packets' way through
    this machine's kernel is measured as well. Files go to capture-study unless --out says otherwise. The exit code is 1
    when a captured byte is wrong.
    """
    from headrace.study import capture
    from headrace.study.capture_report import summary_table

    folder = out or Path("capture-study")
    with common.progress_line() as progress:
        study = capture.measure(quick, cluster, progress)
        capture.write(study, folder)
    return _show(study, summary_table, folder, json)


@app.command("bridge", epilog=_BRIDGE_EPILOG)
def bridge_command(out: Out = None, quick: Quick = False, json: common.JsonFile = None, cluster: Cluster = None) -> int:
    """Repeat EmbedNet's figures 5.2 to 5.10 and its tables on the bridge card, and measure what lies beyond them.

    Cycles are measured in the RTL, times are modelled: cycles times a nominal clock, and two models of a host. Files go
    to bridge-study unless --out says otherwise. The exit code is 1 when a packet is wrong, out of order or missing.
    """
    from headrace.study import bridge
    from headrace.study.bridge_report import summary_table

    folder = out or Path("bridge-study")
    with common.progress_line() as progress:
        study = bridge.measure(quick, cluster, progress)
        bridge.write(study, folder)
    return _show(study, summary_table, folder, json)


class _Study(Protocol):
    @property
    def faults(self) -> int: ...

    def to_json(self) -> dict[str, Any]: ...


def _show(study: _Study, table: Callable[[Any], Table], folder: Path, json: str | None) -> int:
    """JSON where it is wanted, otherwise a table and where the rest is; gives the exit code."""
    from rich.console import Console

    from headrace import report

    if json is not None:
        report.write_json(study.to_json(), json)
    if json != "-":
        Console().print(table(study))
        print(f"{folder / 'report.md'}: tables, figures and how they were found; {study.faults} faults")
    return 1 if study.faults else 0
