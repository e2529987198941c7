"""``headrace study``: sweeps that repeat published measurements, with tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli import common

_EPILOG = """Examples:

headrace study capture

headrace study capture --quick --out quick-study

headrace study capture --cluster tcp://head:8786 --json study.json
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


@app.command("capture", epilog=_EPILOG)
def capture_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.md, CSV files and figures go.")] = Path(
        "capture-study"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer packets, bus widths and burst lengths.")] = False,
    json: common.JsonFile = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run the points on this Dask cluster instead of here.")
    ] = None,
) -> int:
    """Repeat bpfcap's table 5.1 on the capture card, and measure what lies beyond it.

    Cycles are measured in the RTL, times are modelled: cycles times a nominal clock. As root, the packets' way through
    this machine's kernel is measured as well. The exit code is 1 when a captured byte is wrong.
    """
    from headrace import report
    from headrace.study import capture

    with common.progress_line() as progress:
        study = capture.measure(quick, cluster, progress)
        capture.write(study, out)
    if json is not None:
        report.write_json(study.to_json(), json)
    if json != "-":
        _print(study, out)
    return 1 if study.faults else 0


def _print(study: object, out: Path) -> None:
    from rich.console import Console

    from headrace.study.capture import CaptureStudy
    from headrace.study.capture_report import summary_table

    assert isinstance(study, CaptureStudy)
    Console().print(summary_table(study))
    print(f"{out / 'report.md'}: tables, figures and how they were found; {study.faults} faults")
