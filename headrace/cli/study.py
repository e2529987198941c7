"""``headrace study``: sweeps that repeat published measurements, with tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from headrace.cli import common
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from rich.console import RenderableType

_PAPERS_EPILOG = """Examples:

headrace study papers rpu

headrace study papers --json statements.json

headrace study papers --update-docs
"""

app = typer.Typer(
    name="study",
    help="Repeat the measurements of a published system on a card, and add further ones.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Where report.md, CSV files and figures go.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run the points on this Dask cluster instead of here.")
]

From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Measure nothing: draw and write an earlier study's results, from its study.json or a file of --json.",
    ),
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
            raise HeadraceError("--stale takes no study", 2)
        return 0
    from headrace.evaluate import figures
    from headrace.evaluate.committed import MEASUREMENTS
    from headrace.evaluate.measured import Sources, checkout

    found = figures.stale(MEASUREMENTS.values(), Sources(checkout()))
    for each in found:
        print(each)
    return 1 if found else 0


@dataclass(frozen=True)
class _Said:
    """What the help of a study's command says: what is repeated, how it is known, when the exit code is 1, and words of
    one more example."""

    repeats: str
    known: str
    fails: str
    example: str = "--json study.json"


_CYCLES = "Cycles are measured in the RTL, times are modelled: cycles times a nominal clock"
_STUDIES = {
    "capture": _Said(
        "Repeat bpfcap's table 5.1 on the capture card, and measure more.",
        _CYCLES + ". As root, the packets' way through this machine's kernel is measured as well.",
        "when a captured byte is wrong",
        "--cluster tcp://head:8786 --json study.json",
    ),
    "filter": _Said(
        "Repeat FFShark's tables II to V on the filter card: packets at a full line, insertion latency, cores, size.",
        "Packets, cycles and sizes are measured in the RTL, times are modelled: cycles times a nominal clock.",
        "when a packet is lost, changed or not inspected",
    ),
    "bridge": _Said(
        "Repeat EmbedNet's figures 5.2 to 5.10 and its tables on the bridge card, and measure more.",
        _CYCLES + ", and two models of a host.",
        "when a packet is wrong, out of order or missing",
    ),
    "rpu": _Said(
        "Repeat what a thesis measured of Rosebud on a board, on the RPU card: its figures 4.2 and 4.3 and its table "
        "4.1.",
        _CYCLES + "; a board's configuration port is estimated.",
        "when a packet is lost while accelerators change",
    ),
    "switch": _Said(
        "Repeat what a thesis measured of its OpenFlow switch on an FPGA: short-lived connections, small packets, a "
        "FIR filter, and what tables take.",
        _CYCLES + ". Open vSwitch in user space (as root) and the filter on a core are measured on this machine.",
        "when a packet goes the old way after a barrier's answer",
    ),
    "host": _Said(
        "Repeat what a thesis measured of its DMA engine over PCI Express, on the RTL of rtl/pcie and a modelled link: "
        "its figures 5.7, 5.8, 6.1 and 6.7; and what packets and interrupts of virtual functions take.",
        _CYCLES + ". The processor time of a packet through TAP devices (as root) and vhost-user is this machine's.",
        "when a byte changes on its way over PCI Express",
    ),
    "emulator": _Said(
        "Repeat what a thesis measured of its emulator of mobile networks: coverage by PHYs and endpoints (table 3.2), "
        "coverage when links are jammed (table 3.3), bandwidth (figures 3.1 to 3.4 and table 3.1), and "
        "nodes on the switch card and on Open vSwitch (figures 6.2 to 6.4 and 6.6).",
        "Coverage is counted, by movement and radio; the switch card is modelled; the rest is measured in nodes on "
        "this machine.",
        "when a cell of table 3.2 differs with a range of 450 m, nodes find another number of links than "
        "was computed after a jam, or a message is lost",
        "--cluster tcp://head:8786",
    ),
}


def _add(name: str, said: _Said) -> None:
    """The command of a study."""
    words = ("", "--full --out full-study", said.example, f"--from {name}-study/study.json", "--update-docs")
    examples = "\n\n".join(f"headrace study {name} {each}".rstrip() for each in words)

    def command(
        out: Out = None,
        full: common.Full = False,
        json: common.JsonFile = None,
        cluster: Cluster = None,
        source: From = None,
        update_docs: common.UpdateDocs = False,
    ) -> int:
        """Runs it and shows what it found; gives the exit code. Its modules: for measuring, for its page of the manual,
        for its figures and for its report."""
        from headrace.evaluate import measured, report
        from headrace.evaluate.committed import MEASUREMENTS, publish, redraw
        from headrace.evaluate.study import files

        common.optimise("now")
        study, page, figures, shown = (
            import_module(f"headrace.evaluate.study.{name}{part}") for part in ("", "_page", "_figures", "_report")
        )

        def tell(found: Any) -> int:
            if json is not None:
                report.write_json(found.to_json(), json)
            if json != "-":
                _print(shown.summary_table(found))
                print(f"{folder / 'report.md'}: tables, figures and how they were found; {found.faults} faults")
            return 1 if found.faults else 0

        common.as_shown(full, update_docs)
        common.check_outputs(json)
        folder, measurement = out or Path(f"{name}-study"), MEASUREMENTS[f"study {name}"]
        if source is not None:
            if full or cluster:
                raise HeadraceError("--from measures nothing: leave out --full and --cluster", 2)
            found = files.read(get_type_hints(study.measure)["return"], source)
            files.write(found, folder, figures.draw, shown.markdown)
            if update_docs:
                redraw(measurement, source, folder, page.FIGURES)
            return tell(found)
        measured_on, begun_s = measurement.here(), measured.processor_s()
        with common.long_progress() as progress:
            found = study.measure(full, cluster, progress, store=folder / "points.jsonl", measured_on=measured_on)
            files.write(found, folder, figures.draw, shown.markdown)
        if update_docs:
            took_s = None if cluster else measured.processor_s() - begun_s
            for line in publish(measurement, measured_on, page.values(found), took_s, folder, page.FIGURES):
                common.tell(line)
        return tell(found)

    command.__doc__ = (
        f"{said.repeats}\n\n{said.known} {common.SHORT} Files go to {name}-study unless --out says otherwise; points "
        "are saved there as they are measured, and an interrupted study goes on with the remaining points. --from "
        "draws again from study.json there; with --update-docs from the manual's points, docs/points, into its images. "
        "The exit code is 1 "
        f"{said.fails}."
    )
    app.command(name, epilog=f"Examples:\n\n{examples}\n")(command)


for _name, _said in _STUDIES.items():
    _add(_name, _said)


@app.command("papers", epilog=_PAPERS_EPILOG)
def papers_command(
    page: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="Statements of one study's page: filter, capture ...")
    ] = None,
    json: common.JsonFile = None,
    update_docs: common.UpdateDocs = False,
) -> int:
    """Show the statements of the papers behind the cards, and whether each comes out here, doesn't, or can't be tested.

    The lists are data, our results come from the committed figures, and nothing is measured. --update-docs writes the
    tables into the studies' pages. The exit code is 1 when an answer doesn't follow from the figures, or is missing.
    """
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
            _print(Markdown(statements.table(each, statements.Figures(root))))
    for line in wrong:
        common.tell(line)
    return 1 if wrong else 0


def _print(table: RenderableType) -> None:
    from rich.console import Console

    Console().print(table)
