"""``headrace capture``: what ``tcpdump -i SOURCE -w FILE EXPR`` does, done by a card."""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common
from headrace.cli.habits import HabitsCommand
from headrace.errors import HeadraceError
from headrace.net.source import parse_rate

if TYPE_CHECKING:
    from headrace.cards.capture.run import CaptureProgress, CaptureReport
    from headrace.cards.capture.savefiles import Limits
    from headrace.net.bpf import Filter
    from headrace.net.source import Path, Source

_EPILOG = """Examples:

headrace capture -i iface:eth0 -w out.pcap

headrace capture -i iface:eth0 -w out.pcapng -c 100 udp port 53

headrace capture -i xdp:eth0 -w 'day-%d.pcap' -G 86400

headrace capture -i in.pcap -w out.pcap -s 96

headrace capture -i gen:size=60-1514,count=1000 -w - | tcpdump -nr -
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("capture", epilog=_EPILOG, cls=HabitsCommand)(capture_command)


def capture_command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[EXPR]", help="A tcpdump filter, which the card runs; in one word or several."),
    ] = None,
    interface: common.Interface = None,
    write: Annotated[
        str | None, typer.Option("-w", metavar="FILE", help="Write packets to FILE (- for stdout); else only count.")
    ] = None,
    count: Annotated[int | None, typer.Option("-c", metavar="COUNT", min=1, help="Stop after COUNT packets.")] = None,
    snaplen: Annotated[
        int | None,
        typer.Option("-s", metavar="SNAPLEN", min=0, max=262144, help="Cut packets to this many bytes."),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "-C", metavar="SIZE", help="Begin a new file after SIZE million bytes, or 100K, 10M, 1G: FILE, FILE1, ..."
        ),
    ] = None,
    seconds: Annotated[
        int | None,
        typer.Option("-G", metavar="SECONDS", min=1, help="Begin a new file after SECONDS; FILE is a strftime format."),
    ] = None,
    files: Annotated[
        int | None,
        typer.Option("-W", metavar="COUNT", min=1, help="With -C, overwrite after COUNT files; with -G, stop then."),
    ] = None,
    autostop: Annotated[
        list[str] | None,
        typer.Option(
            "-a",
            metavar="WHAT:N",
            help="Stop after duration:N seconds, filesize:N kB, files:N or packets:N; may be given again.",
        ),
    ] = None,
    ring_buffer: Annotated[
        list[str] | None,
        typer.Option(
            "-b",
            metavar="WHAT:N",
            help="Begin a new file, named as dumpcap does, after duration:N seconds, filesize:N kB or packets:N, or "
            "where the time is a multiple of interval:N seconds; files:N: keep the last N. May be given again.",
        ),
    ] = None,
    packet_buffered: Annotated[
        bool, typer.Option("-U", "--packet-buffered", help="Write each packet at once, not when a buffer is full.")
    ] = False,
    user: common.User = None,
    direction: Annotated[
        str,
        typer.Option(
            "-Q", metavar="in|out|inout", help="Capture only packets that come in or go out of a live interface."
        ),
    ] = "inout",
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
    plain: Annotated[bool, typer.Option("-O", help="Don't optimise the program.")] = False,
    linktype: common.LinkType = None,
    not_promiscuous: common.NotPromiscuous = False,
    list_interfaces: common.ListInterfaces = False,
    list_link_types: common.ListLinkTypes = False,
    version: common.Version = False,
    background: common.Background = False,
    format: Annotated[
        str | None,
        typer.Option(metavar="pcap|pcapng", help="Format of FILE.", show_default="pcapng if FILE ends so, else pcap"),
    ] = None,
    precision: Annotated[
        str, typer.Option("--time-stamp-precision", metavar="micro|nano", help="Precision of times in pcap.")
    ] = "micro",
    timestamps: Annotated[
        str, typer.Option(metavar="recorded|card", help="Times of packets: the source's, or the card's clock's.")
    ] = "recorded",
    path: Annotated[
        str | None,
        typer.Option(
            metavar="wire|memory",
            help="How packets enter the card: by an Ethernet port, or from host memory.",
            show_default="memory for files and xdp:, else wire",
        ),
    ] = None,
    ring: Annotated[
        int, typer.Option("-B", metavar="KIB", min=1, max=1 << 21, help="Size of the ring in host memory.")
    ] = 4096,
    rate: common.Rate = "lossless",
    cores: Annotated[
        int | None, typer.Option(min=1, max=64, help="Filter cores of the card.", show_default="4 with a filter")
    ] = None,
    trace: Annotated[str | None, typer.Option(metavar="FILE.fst", help="Record the card's signals.")] = None,
    parameter: common.Parameters = None,
    json: common.JsonFile = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no summary.")] = False,
) -> int:
    """Capture packets with the capture card, as tcpdump does: from live interfaces, files and generators.

    Ctrl-C ends a capture; everything the card has taken is then in the file. Without -w, tcpdump prints packets if one
    of its options says how: -A, -X, -e, -n, -v and others.
    """
    if common.listed(version, list_interfaces):
        return 0
    if list_link_types:
        common.list_link_types(interface or [])
        return 0
    where = common.the_source(interface, not_promiscuous).of_type(linktype) if interface else None
    wanted = _filter(words or [], file, snaplen, not plain)
    if dump:
        common.dump(wanted, where, linktype, dump)
        return 0
    if where is None:
        raise HeadraceError(
            "-i SOURCE is missing: such as -i eth0, or -r FILE; headrace capture -D lists interfaces", 2
        )
    for option, value, choices in (
        ("-Q", direction, ("in", "out", "inout")),
        ("--time-stamp-precision", precision, ("micro", "nano")),
        ("--timestamps", timestamps, ("recorded", "card")),
    ):
        common.one_of(option, value, choices)
    where = where.only(direction)
    limits = _limits(count, _file_bytes(size), seconds, files, autostop or [], ring_buffer or [])
    _check_files(write, limits, where, json)
    offered, settings = parse_rate(rate), common.parameters(parameter)
    way, file_format = _way(path), _file_format(format, write)
    several_files = "-C/-G/-W/-a/-b" * (replace(limits, packets=None) != type(limits)())
    asked = (several_files, *common.anew(rate, timestamps, snaplen))
    several = common.SeveralTypes(where, write is None or file_format == "pcapng", asked)
    program: Filter | None = None
    if file is not None or words:
        program = wanted if several else where.compiled(wanted)

    from headrace.cards.capture.blocks import capture_blocks
    from headrace.cards.capture.run import DEFAULT_CORES, CaptureJob, run_capture
    from headrace.net import devices, packed

    common.check_source(where)
    common.check_outputs(write if seconds is None else None, json)
    tell = common.background(background, write, json)
    common.become(user)
    with ExitStack() as stack:
        progress = stack.enter_context(common.progress_line())
        built = {"CORES": (0 if program is None else DEFAULT_CORES) if cores is None else cores, **settings}
        common.build_before(where, "capture", built, trace is not None, progress is not None)
        drops = devices.InterfaceDrops(where)
        inside = stack.enter_context(packed.opened(where, tell))
        contents, cut = several.contents(inside, stack)
        into = stack.enter_context(packed.written(write))
        job = CaptureJob(
            source=inside.source,
            program=program,
            output=into,
            limits=limits,
            way=way,
            snaplen=snaplen or None,
            format=file_format,
            precision=precision,
            timestamps=timestamps,
            ring_bytes=ring * 1024,
            rate=offered,
            packet_buffered=packet_buffered,
            cores=cores,
            trace=trace,
            parameters=settings,
        )
        show = None if progress is None else lambda so_far: progress(_so_far(so_far), None)
        said = None if quiet and not background else tell
        report = run_capture(job, show, said) if contents is None else capture_blocks(job, contents, show, said)
        named = [write if name == into and write else name for name in report.files]
        report = replace(report, fault=cut or inside.fault(report.fault), files=named)
        if inside.missed is not None:
            report = replace(report, dropped_by_kernel=inside.missed, dropped_by_interface=drops.count)
    return _show(report, json, quiet)


def _filter(words: list[str], file: str | None, snaplen: int | None, optimize: bool) -> Filter:
    from headrace.net import bpf

    if file is None:
        return bpf.Expression(" ".join(words), snaplen, optimize)
    if words:
        raise HeadraceError(f"{' '.join(words)}: the filter is in {file}", 2)
    return bpf.load_file(file, snaplen, optimize)


_STOPS = ("duration", "filesize", "files", "packets")
_SWITCHES = (*_STOPS, "interval")
_KB = 1000  # dumpcap's
_INSTEAD = {
    "printname": "the report has the names of all files: --json FILE",
    "nametimenum": "a file's number comes before its time; -G 60 -w NAME_%H%M%S has the time",
}
"""Of dumpcap's -b: what to use instead."""


def _limits(
    count: int | None, size: int | None, seconds: int | None, files: int | None, autostop: list[str], ring: list[str]
) -> Limits:
    """Of -c, -C, -G, -W, -a and -b. Raises HeadraceError for what is no number, or is there twice."""
    from headrace.cards.capture.savefiles import Limits

    stop, switch = _conditions(autostop, "-a", _STOPS), _conditions(ring, "-b", _SWITCHES)
    if switch and (size, seconds, files) != (None, None, None):
        raise HeadraceError("-b does what -C, -G and -W do: use either -b or these", 2)
    if count is not None and "packets" in stop:
        raise HeadraceError("-c and -a packets:N say the same: use one", 2)
    if switch.keys() == {"files"}:
        raise HeadraceError("-b files:N needs duration:N, filesize:N, packets:N or interval:N, too", 2)
    if "duration" in switch and "interval" in switch:
        raise HeadraceError("-b duration:N and -b interval:N: use one", 2)
    if "files" in stop and not (switch or size or seconds):
        raise HeadraceError("-a files:N needs -b, -C or -G, which begin new files", 2)
    interval = switch.get("interval")
    return Limits(
        packets=stop.get("packets", count),
        size=switch["filesize"] * _KB if "filesize" in switch else size,
        seconds=interval or switch.get("duration", seconds),
        files=switch.get("files", files),
        file_packets=switch.get("packets"),
        aligned=interval is not None,
        numbered=bool(switch),
        stop_seconds=stop.get("duration"),
        stop_size=stop["filesize"] * _KB if "filesize" in stop else None,
        stop_files=stop.get("files"),
    )


def _file_bytes(text: str | None) -> int | None:
    """Of -C, as tcpdump reads it. Raises HeadraceError for what is none."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9})([kKmMgG]?)", text)
    if found is None or not int(found[1]):
        raise HeadraceError(f"-C {text}: not million bytes such as 10, nor 100K, 10M, 1G", 2)
    return int(found[1]) * {"": 10**6, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}[found[2].lower()]


def _conditions(texts: list[str], option: str, known: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        what, _, number = text.partition(":")
        if known == _SWITCHES and what in _INSTEAD:
            raise HeadraceError(f"{option} {text}: {_INSTEAD[what]}", 2)
        if what not in known or not (number.isascii() and number.isdecimal() and 0 < int(number) < 1 << 31):
            raise HeadraceError(f"{option} {text}: not WHAT:N, with WHAT of {', '.join(known)} and N from 1", 2)
        if what in found:
            raise HeadraceError(f"{option} {text}: {what} is given twice", 2)
        found[what] = int(number)
    return found


def _way(path: str | None) -> Path | None:
    if path is None:
        return None
    common.one_of("--path", path, ("wire", "memory"))
    return "wire" if path == "wire" else "memory"


def _file_format(format: str | None, write: str | None) -> str:
    from headrace.net import packed

    if format is None:
        return "pcapng" if write is not None and packed.unpacked_name(write).endswith(".pcapng") else "pcap"
    common.one_of("--format", format, ("pcap", "pcapng"))
    return format


def _check_files(write: str | None, limits: Limits, source: Source, json: str | None) -> None:
    """Raise HeadraceError where files clash or are missing."""
    several = limits.size is not None or limits.seconds is not None or limits.numbered
    if several and write in (None, "-"):
        raise HeadraceError("-b needs -w FILE" if limits.numbered else "-C and -G need -w FILE", 2)
    from headrace.net import packed

    if several and write is not None and packed.unpacked_name(write) != write:
        raise HeadraceError(f"-w {write}: files of a series aren't compressed: do that afterwards", 2)
    if limits.files is not None and not several:
        raise HeadraceError("-W needs -C or -G", 2)
    if [write, json].count("-") > 1:
        raise HeadraceError("only one output can be -, the standard output", 2)
    if (
        write not in (None, "-")
        and source.kind == "pcap"
        and os.path.isfile(source.argument)
        and common.same_file(str(write), source.argument)
    ):
        raise HeadraceError(f"{write}: the capture's source is the same file", 2)


def _so_far(progress: CaptureProgress) -> str:
    return f"{progress.captured:,} captured, {progress.received:,} received by filter, {progress.dropped:,} dropped"


def _show(report: CaptureReport, json: str | None, quiet: bool) -> int:
    """Show the summary, then what went wrong on the way, and return the exit code."""
    if json is not None:
        from headrace.evaluate import report as reports

        reports.write_json(report.to_json(), json)
    from headrace.cards.capture.run import summary

    if not quiet and json != "-":
        for line in summary(report):
            print(line, file=sys.stderr)
    for warning in report.warnings:
        print(f"headrace: warning: {warning}", file=sys.stderr)
    gone = report.fault is not None and report.fault.endswith(os.strerror(errno.EPIPE))
    if report.fault is not None and not gone:  # a reader that has seen enough is no fault
        print(f"headrace: {report.fault}", file=sys.stderr)
    return 1 if report.fault else 0
