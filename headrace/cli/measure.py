"""``headrace measure``: count packets by what a program returns, in the card's counters."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common
from headrace.cli.habits import HabitsCommand
from headrace.errors import HeadraceError
from headrace.net.source import parse_rate

if TYPE_CHECKING:
    from headrace.evaluate.report import Counts

_PLOTS = ("png", "svg", "pdf")
_ORDERS = ("packets", "bytes", "counter")

_EPILOG = """Examples:

headrace measure ip-proto in.pcap

headrace measure size in.pcap --order counter --plot sizes.png

headrace measure 'tcp\\[tcpflags] & tcp-syn != 0' in.pcap

headrace measure size iface:eth0 -c 10000

headrace measure @mine.bpf in.pcap --json -
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("measure", epilog=_EPILOG, cls=HabitsCommand)(measure_command)


def measure_command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPR-OR-PROGRAM IN",
            help="A measurement's name, a filter, or @FILE (a program); and what to read, unless -i or -r says that: a "
            "file, - for stdin, or a live link such as iface:eth0.",
        ),
    ] = None,
    interface: common.Interface = None,
    listing: Annotated[bool, typer.Option("--list", help="List the ready-made measurements and stop.")] = False,
    dump: Annotated[
        int,
        typer.Option(
            "-d",
            count=True,
            metavar="",
            show_default=False,
            help="Print the program (-dd: as C, -ddd: as numbers) and stop.",
        ),
    ] = 0,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the counters: .png, .svg or .pdf.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many counters to show.")] = 20,
    order: Annotated[str, typer.Option(metavar="packets|bytes|counter", help="Order of the counters.")] = "packets",
    count: Annotated[int | None, typer.Option("-c", metavar="COUNT", min=1, help="End after COUNT packets.")] = None,
    rate: common.Rate = "lossless",
    cores: common.Cores = None,
    user: common.User = None,
    not_promiscuous: common.NotPromiscuous = False,
    list_interfaces: common.ListInterfaces = False,
    list_link_types: common.ListLinkTypes = False,
    version: common.Version = False,
    background: common.Background = False,
    parameter: common.Parameters = None,
    json: common.JsonFile = None,
) -> None:
    """Count the packets of a capture by what a program returns: one of 1,024 counters, read while the card runs."""
    from headrace.cards.filter import measurements
    from headrace.evaluate import report

    if common.listed(version, list_interfaces):
        return
    if list_link_types:
        common.list_link_types(interface or [])
        return
    if listing:
        for name, ready in measurements.READY.items():
            print(f"{name:10} {ready.help}")
        return
    what, sources = _positionals(words or [], interface or [])
    if what is None or not (sources or dump):
        raise HeadraceError(f"{'IN' if what else 'EXPR-OR-PROGRAM'} is missing (see headrace measure --help)", 2)
    common.one_of("--order", order, _ORDERS)
    measurement = measurements.find(what)
    where = common.the_source(sources, not_promiscuous) if sources else None
    if dump:
        common.dump(measurement.program, where, None, dump)
        return
    assert where is not None
    common.check_outputs(json, plot)
    if plot is not None and (suffix := os.path.splitext(plot)[1][1:].lower()) not in _PLOTS:
        raise HeadraceError(f"{plot}: Format '{suffix}' is not supported: {', '.join(_PLOTS)}", 2)
    offered, settings = parse_rate(rate), common.parameters(parameter)
    several = common.SeveralTypes(where, True, common.anew(rate))
    wanted = measurement.program if several else where.compiled(measurement.program)

    from rich.console import Console
    from rich.live import Live

    from headrace.cards.filter.blocks import measure_blocks
    from headrace.cards.filter.run import run_measure
    from headrace.net import devices, packed

    common.check_source(where)
    tell = common.background(background, json)
    common.become(user)
    console = Console()
    counts: Counts = {}
    with ExitStack() as stack:
        building = stack.enter_context(common.progress_line()) and _no_line
        card = settings if cores is None else {**settings, "CORES": cores}
        common.build_before(where, "filter", card, False, building is not None)
        drops = devices.InterfaceDrops(where)
        tell = common.with_drops(tell, drops)
        inside = stack.enter_context(packed.opened(where, tell))
        link = inside.source.argument if inside.source.kind == "pcap" else where.link
        contents, cut = several.contents(inside, stack)
        if contents is None:
            run = run_measure(wanted, link, offered, cores, settings, building, count=count, tell=tell)
        else:
            run = measure_blocks(wanted, contents, offered, cores, settings, building, count=count, tell=tell)
        live = None
        for counts in run:
            if live is None and console.is_terminal and json != "-":  # only now: a build shows a line of its own
                live = stack.enter_context(Live(console=console, refresh_per_second=4, vertical_overflow="visible"))
            if live is not None:
                live.update(report.measurement_table(measurement, counts, top, order))
        if inside.missed is not None:
            tell(f"{inside.missed + drops.count:,} missed")
        fault = cut or inside.fault(None)
    if not console.is_terminal and json != "-":
        console.print(report.measurement_table(measurement, counts, top, order))
    if json is not None:
        report.write_json(report.measurement_json(measurement, counts), json)
    if plot is not None:
        report.measurement_plot(measurement, counts, plot, top, order)
    if fault is not None:
        raise HeadraceError(fault)


def _positionals(words: list[str], sources: list[str]) -> tuple[str | None, list[str]]:
    """What is counted (None: it isn't said), and the source, if there is one. Raises HeadraceError for too many."""
    if sources:
        return (" ".join(words) or None), sources
    if len(words) > 2:
        raise HeadraceError(f"{' '.join(words)}: more than EXPR-OR-PROGRAM and IN; quote the expression", 2)
    return (words[0] if words else None), words[1:]


def _no_line(_what: str, _done: float | None) -> None:
    """Lets a build show its progress on a terminal; the counts themselves are the progress of the run."""
