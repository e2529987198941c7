"""``headrace filter``: what ``tcpdump -r IN -w OUT EXPR`` does, done by a card."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common
from headrace.cli.habits import HabitsCommand
from headrace.errors import HeadraceError
from headrace.net.source import parse_rate

if TYPE_CHECKING:
    from headrace.cards.filter.run import FilterReport
    from headrace.net.bpf import Filter
    from headrace.net.source import Source

_MAX_PROGRAMS = 4

_EPILOG = """Examples:

headrace filter 'tcp port 80' in.pcap -w web.pcap

headrace filter 'tcp port 80' in.pcap -w web.pcap --also arp -w arp.pcap --json report.json

headrace filter 'host 10.0.0.1' in.pcap.gz -w - | tcpdump -nr -

headrace filter icmp iface:eth0 -w - | tcpdump -nr -

headrace filter -d 'tcp src port 100'
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("filter", epilog=_EPILOG, cls=HabitsCommand)(filter_command)


def filter_command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPR IN",
            help="Filter expression, and what to read, unless -i or -r says that: a file, - for stdin, gen:SPEC, or "
            "live from iface:NAME, xdp:NAME or tap:NAME.",
        ),
    ] = None,
    interface: common.Interface = None,
    write: Annotated[
        list[str] | None,
        typer.Option(
            "-w",
            metavar="OUT",
            help="Write the matches: the first -w is for EXPR, the next ones for each --also in order.",
        ),
    ] = None,
    also: Annotated[
        list[str] | None, typer.Option("--also", metavar="EXPR", help="A further filter at the same time, up to three.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("-F", metavar="FILE", help="Read the filter from a file: an expression, or -ddd output."),
    ] = None,
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
    snaplen: Annotated[
        int | None,
        typer.Option("-s", metavar="SNAPLEN", min=0, max=262144, help="Cut packets to this many bytes."),
    ] = None,
    count: Annotated[int | None, typer.Option("-c", metavar="COUNT", min=1, help="Stop after COUNT matches.")] = None,
    plain: Annotated[bool, typer.Option("-O", help="Don't optimise the program.")] = False,
    linktype: common.LinkType = None,
    rate: common.Rate = "lossless",
    cores: common.Cores = None,
    timestamps: Annotated[
        str, typer.Option(metavar="recorded|card", help="Times in OUT: IN's times, or those of the card's clock.")
    ] = "recorded",
    user: common.User = None,
    not_promiscuous: common.NotPromiscuous = False,
    list_interfaces: common.ListInterfaces = False,
    list_link_types: common.ListLinkTypes = False,
    version: common.Version = False,
    background: common.Background = False,
    trace: Annotated[str | None, typer.Option(metavar="FILE.fst", help="Record the card's signals.")] = None,
    parameter: common.Parameters = None,
    json: common.JsonFile = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no report.")] = False,
) -> int:
    """Copy the packets that tcpdump filters match out of a capture, with the filter card.

    OUT is byte for byte what tcpdump -r IN -w OUT EXPR writes. Without -w the matches are only counted, or printed
    by tcpdump if one of its options says how: -A, -X, -e, -n, -v and others. Live links run until they are interrupted.
    """
    if common.listed(version, list_interfaces):
        return 0
    if dump and also:
        raise HeadraceError("-d prints one filter: leave --also out", 2)
    if list_link_types:
        common.list_link_types(interface or [])
        return 0
    expression, sources = _positionals(words or [], interface or [], file, dump)
    where = common.the_source(sources, not_promiscuous).of_type(linktype) if sources else None
    filters = _filters(expression, file, also or [], snaplen, not plain)
    if dump:
        common.dump(filters[0], where, linktype, dump)
        return 0
    assert where is not None
    from headrace.net import devices, packed

    asked = common.anew(rate, timestamps, snaplen)
    as_pcapng = all(packed.unpacked_name(path).endswith(".pcapng") for path in write or [])
    several = common.SeveralTypes(where, as_pcapng, asked)
    blocks = bool(several) or (bool(write) and as_pcapng and not any(asked) and _is_pcapng(where))
    if not blocks:
        filters = [where.compiled(wanted) for wanted in filters]
    if count is not None and also:
        raise HeadraceError("-c counts the matches of one filter: leave --also out", 2)
    common.one_of("--timestamps", timestamps, ("recorded", "card"))
    paths = _outputs(write or [], len(filters), sources[0], json)
    if not blocks and any(packed.unpacked_name(path) != path and ".pcapng." in path for path in write or []):
        raise HeadraceError("-w: only what is read from pcapng is packed as pcapng; headrace capture does", 2)
    offered, settings = parse_rate(rate), common.parameters(parameter)

    from headrace.cards.filter.blocks import run_blocks
    from headrace.cards.filter.run import FilterJob, FilterOutput, run_filter

    common.check_source(where)
    common.check_outputs(*paths, json)
    tell = common.background(background, *paths, json)
    common.become(user)
    with ExitStack() as files:
        progress = files.enter_context(common.progress_line())
        card = settings if cores is None else {**settings, "CORES": cores}
        common.build_before(where, "filter", card, trace is not None, progress is not None)
        drops = devices.InterfaceDrops(where)
        inside = files.enter_context(packed.opened(where, tell))
        contents, cut = several.contents(inside, files, blocks)
        into = [files.enter_context(packed.written(path)) for path in paths]
        outputs = [FilterOutput(wanted, path, snaplen or None) for wanted, path in zip(filters, into, strict=True)]
        link = inside.source.argument if inside.source.kind == "pcap" else where.link
        job = FilterJob(outputs, link, offered, cores, timestamps, trace, settings, count)
        said = None if quiet and not background else common.with_drops(tell, drops)
        report = run_blocks(job, contents, progress, said) if contents else run_filter(job, progress, said)
        programs = [replace(program, path=path) for program, path in zip(report.programs, paths, strict=True)]
        report = replace(report, fault=cut or inside.fault(report.fault), programs=programs)
        if inside.missed is not None:
            report = replace(report, missed=inside.missed + drops.count)
    return _show(report, drops.count, count, json, quiet)


def _positionals(words: list[str], sources: list[str], file: str | None, dump: int) -> tuple[str, list[str]]:
    """The expression and the source; the expression is empty with -F, the source may be missing with -d.

    Raises HeadraceError where there are too few words or too many.
    """
    if sources:
        if file is not None and words:
            raise HeadraceError(f"{' '.join(words)}: the filter is in {file}", 2)
        return " ".join(words), sources
    wanted = ["IN"] if file is not None else ["EXPR", "IN"]
    least = len(wanted) - 1 if dump else len(wanted)
    if len(words) > len(wanted):
        raise HeadraceError(f"{' '.join(words)}: more than {' and '.join(wanted)}; quote the expression", 2)
    if len(words) < least:
        raise HeadraceError(f"{wanted[len(words)]} is missing (see headrace filter --help)", 2)
    if len(words) == len(wanted) > 1 and os.path.isfile(words[0]) and not (os.path.exists(words[1]) or ":" in words[1]):
        raise HeadraceError(f"{words[0]} is a file and {words[1]} isn't: EXPR comes before IN", 2)
    return ("", words) if file is not None else (words[0], words[1:])


def _is_pcapng(where: Source) -> bool:
    """Whether a source is a pcapng file, which is filtered block by block into pcapng files, that get all that is in
    it."""
    from headrace.net import packed, pcapng

    if where.kind != "pcap" or not os.path.isfile(where.argument):
        return False
    with packed.beginning(where) as file:
        return pcapng.is_pcapng(file)


def _filters(expression: str, file: str | None, also: list[str], snaplen: int | None, optimize: bool) -> list[Filter]:
    from headrace.net import bpf

    if len(also) >= _MAX_PROGRAMS:
        raise HeadraceError(f"{len(also) + 1} filters: the card runs {_MAX_PROGRAMS} at once", 2)
    first = bpf.Expression(expression, snaplen, optimize) if file is None else bpf.load_file(file, snaplen, optimize)
    return [first, *(bpf.Expression(text, snaplen, optimize) for text in also)]


def _outputs(write: list[str], programs: int, source: str, json: str | None) -> list[str | None]:
    """The file of each program, or None for all where there is no -w. Raises HeadraceError where they clash."""
    if write and len(write) != programs:
        raise HeadraceError(f"{programs} filter{'s' * (programs > 1)} but {len(write)} -w: each needs one", 2)
    if [*write, json].count("-") > 1:
        raise HeadraceError("only one output can be -, the standard output", 2)
    files = [path for path in (*write, source) if path != "-"]
    if any(common.same_file(one, other) for one, other in combinations(files, 2)):
        raise HeadraceError("each -w needs a file of its own, other than IN", 2)
    return list(write) or [None] * programs


def _show(report: FilterReport, dropped_by_interface: int, count: int | None, json: str | None, quiet: bool) -> int:
    """Show the report, then what went wrong on the way, and return the exit code."""
    from headrace.evaluate import report as reports

    data = {**report.to_json(), "dropped_by_interface": dropped_by_interface, "count": count}
    if json is not None:
        reports.write_json(data, json)
    if not quiet and json != "-":
        from rich.console import Console

        Console(stderr=True).print(reports.filter_report(data))
    else:
        for warning in report.warnings:
            print(f"headrace: warning: {warning}", file=sys.stderr)
    if report.fault and not report.fault.endswith(
        os.strerror(errno.EPIPE)
    ):  # a reader that has seen enough is no fault
        print(f"headrace: {report.fault}", file=sys.stderr)
    return 1 if report.fault else 0
