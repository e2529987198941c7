"""``headrace study``: sweeps that repeat published measurements, with tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from headrace.cli import common
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from rich.table import Table

_PAPERS_EPILOG = """Examples:

headrace study papers rpu

headrace study papers --json statements.json

headrace study papers --update-docs
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


@app.callback(invoke_without_command=True)
def study_group(
    context: typer.Context,
    stale: Annotated[
        bool, typer.Option("--stale", help="List committed figures whose files have changed since; 1 if any.")
    ] = False,
) -> int:
    """Repeat a published system's measurements on a card, and go on where they end."""
    if context.invoked_subcommand is not None:
        if stale:
            raise HeadraceError("--stale goes without a study", 2)
        return 0
    from headrace.evaluate import figures
    from headrace.evaluate.committed import MEASUREMENTS
    from headrace.evaluate.measured import Sources, checkout

    found = figures.stale(MEASUREMENTS.values(), Sources(checkout()))
    for each in found:
        print(each)
    return 1 if found else 0


def _add(name: str, said: str, *more: str) -> None:
    """The command of a study: its help, and words of one more example."""
    words = ("", "--quick --out quick-study", *more, "--update-docs")
    examples = "\n\n".join(f"headrace study {name} {each}".rstrip() for each in words)

    def command(
        out: Out = None,
        quick: Quick = False,
        json: common.JsonFile = None,
        cluster: Cluster = None,
        update_docs: common.UpdateDocs = False,
    ) -> int:
        return _run(name, out, quick, json, cluster, update_docs)

    command.__doc__ = said
    app.command(name, epilog=f"Examples:\n\n{examples}\n")(command)


_add(
    "capture",
    """Repeat bpfcap's table 5.1 on the capture card, and measure what lies beyond it.

    Cycles are measured in the RTL, times are modelled: cycles times a nominal clock. As root, the packets' way through
    this machine's kernel is measured as well. Files go to capture-study unless --out says otherwise; points go there as
    they are found, and a study that was ended goes on with those that are left. The exit code is 1 when a captured byte
    is wrong.
    """,
    "--cluster tcp://head:8786 --json study.json",
)
_add(
    "filter",
    """Repeat FFShark's tables II to V on the filter card: packets at a full line, insertion latency, cores and size.

    Packets, cycles and sizes are measured in the RTL, times are modelled: cycles times a nominal clock. Files go to
    filter-study unless --out says otherwise; points go there as they are found, and a study that was ended goes on with
    those that are left. The exit code is 1 when a packet is lost, changed or not inspected.
    """,
)
_add(
    "bridge",
    """Repeat EmbedNet's figures 5.2 to 5.10 and its tables on the bridge card, and measure what lies beyond them.

    Cycles are measured in the RTL, times are modelled: cycles times a nominal clock, and two models of a host. Files go
    to bridge-study unless --out says otherwise; points go there as they are found, and a study that was ended goes on
    with those that are left. The exit code is 1 when a packet is wrong, out of order or missing.
    """,
)
_add(
    "rpu",
    """Repeat what a thesis measured of Rosebud on a board, on the RPU card: its figures 4.2 and 4.3 and its table 4.1.

    Cycles are measured in the RTL, times are modelled: cycles times a nominal clock; a board's configuration port is
    estimated. Files go to rpu-study unless --out says otherwise; points go there as they are found, and a study that
    was ended goes on with those that are left. The exit code is 1 when a packet is lost while accelerators change.
    """,
)
_add(
    "switch",
    """Repeat what a thesis measured of its OpenFlow switch on an FPGA: short-lived connections, small packets, a FIR
    filter, and what tables take.

    Cycles are measured in the RTL, times are modelled: cycles times a nominal clock. Open vSwitch in user space (as
    root) and the filter on a core are measured on this machine. Files go to switch-study unless --out says otherwise;
    points of the card go there as they are found, and a study that was ended goes on with those that are left. The exit
    code is 1 when a packet goes the old way after a barrier's answer.
    """,
)
_add(
    "host",
    """Repeat what a thesis measured of its DMA engine over PCI Express, on the RTL of rtl/pcie and a modelled link: its
    figures 5.7, 5.8, 6.1 and 6.7; and what packets and interrupts of virtual functions take.

    Cycles are measured in the RTL, times are modelled: cycles times a nominal clock. The processor time of a packet
    through TAP devices (as root) and vhost-user is this machine's. Files go to host-study unless --out says otherwise;
    points go there as they are found, and a study that was ended goes on with those that are left. The exit code is 1
    when a byte comes otherwise over PCI Express than it went.
    """,
)
_add(
    "emulator",
    """Repeat what a thesis measured of its emulator of mobile networks: coverage by PHYs and endpoints (table 3.2),
    what is left of it when links are jammed (table 3.3), bandwidth (figures 3.1 to 3.4 and table 3.1), and nodes on the
    switch card and on Open vSwitch (figures 6.2 to 6.4 and 6.6).

    Coverage is counted, by movement and radio; the switch card is modelled; the rest is measured in nodes on this
    machine. Files go to emulator-study unless --out says otherwise; points of coverage and of the card go there as they
    are found, and a study that was ended goes on with those that are left. The exit code is 1 when a cell of table 3.2
    comes out otherwise with a range of 450 m, nodes find another number of links than counted after a jam, or a message
    is lost.
    """,
    "--cluster tcp://head:8786",
)


@app.command("papers", epilog=_PAPERS_EPILOG)
def papers_command(
    page: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="Of one study's page: filter, capture ...")
    ] = None,
    json: common.JsonFile = None,
    update_docs: common.UpdateDocs = False,
) -> int:
    """Show what the papers behind the cards state, and what ours is: it comes out, doesn't, or can't be tested here.

    The lists are data, ours are filled in from the committed figures, and nothing is measured. --update-docs writes the
    tables into the studies' pages. The exit code is 1 when an answer isn't what the figures say, or one is missing.
    """
    from rich.console import Console
    from rich.markdown import Markdown

    from headrace.evaluate import measured, report, statements

    common.check_outputs(json)
    root = measured.checkout()
    common.one_of("study", page or statements.STUDIES[0], statements.STUDIES)
    wrong = statements.refresh(root) if update_docs else statements.wrong(root)
    if json is not None:
        report.write_json(statements.to_json(root), json)
    elif not update_docs:
        for each in [page] if page else statements.STUDIES:
            Console().print(Markdown(statements.table(each, statements.Figures(root))))
    for line in wrong:
        common.tell(line)
    return 1 if wrong else 0


def _run(
    name: str,
    out: Path | None,
    quick: bool,
    json: str | None,
    cluster: str | None,
    update_docs: bool,
) -> int:
    """Runs a study, writes what it found and shows it; gives the exit code. Its modules: for measuring, for its page of
    the manual, for its figures and for its report."""
    from headrace.evaluate.committed import MEASUREMENTS, publish
    from headrace.evaluate.study import files

    room = "headrace.evaluate.study"
    parts = ("", "_page", "_figures", "_report")
    study, page, figures, report = (import_module(f"{room}.{name}{part}") for part in parts)
    common.whole(quick, update_docs)
    common.check_outputs(json)
    folder, measurement = out or Path(f"{name}-study"), MEASUREMENTS[f"study {name}"]
    measured_on = measurement.here()
    with common.long_progress() as progress:
        found = study.measure(quick, cluster, progress, store=folder / "points.jsonl", measured_on=measured_on)
        files.write(found, folder, figures.draw, report.markdown)
    if update_docs:
        for line in publish(measurement, measured_on, page.values(found), folder, page.FIGURES):
            common.tell(line)
    return _show(found, report.summary_table, folder, json)


class _Study(Protocol):
    @property
    def faults(self) -> int: ...

    def to_json(self) -> dict[str, Any]: ...


def _show(study: _Study, table: Callable[[Any], Table], folder: Path, json: str | None) -> int:
    """JSON where it is wanted, otherwise a table and where the rest is; gives the exit code."""
    from rich.console import Console

    from headrace.evaluate import report

    if json is not None:
        report.write_json(study.to_json(), json)
    if json != "-":
        Console().print(table(study))
        print(f"{folder / 'report.md'}: tables, figures and how they were found; {study.faults} faults")
    return 1 if study.faults else 0
