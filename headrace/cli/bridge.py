"""``headrace bridge``: packets between hardware and software, as EmbedNet's tools moved them, and a running bridge."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common
from headrace.errors import HeadraceError
from headrace.net.source import parse_rate, parse_source

if TYPE_CHECKING:
    from headrace.cards.bridge.jobs import Report

_EPILOG = """Examples:

headrace bridge recv 64 10 16384 --link gen:size=1500 --rate 1G

headrace bridge recv 1 10 50 --host embednet --link gen:size=1500,rate=20M --rate line

headrace bridge recv 64 10 2000 --host message=0.8ms,byte=40.7ns,jitter=10% --link gen:size=1500 --rate 1G

headrace bridge send 64 10 1500 -1 200 --host message=5us,s2h-message=8us,byte=0.3ns

headrace bridge trace 64 10 20 500 --link pcap:triangle.pcap --rate recorded

headrace bridge send 64 10 1500 -1 1000 -w out.pcap

headrace bridge run --chain crc32,generic --link tap:a --link1 tap:b

headrace bridge run --link iface:eth1 --sink iface:eth1 --link1 iface:eth2 --sink1 iface:eth2
"""

app = typer.Typer(
    name="bridge",
    help="Move packets between Ethernet ports, functional blocks in hardware and software, in batches.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)

Buffer = Annotated[int, typer.Argument(metavar="[BUFFER_KB]", help="Size of batches; 1: single packets.")]
Timeout = Annotated[
    float, typer.Argument(metavar="[TIMEOUT_MS]", help="Longest wait for a batch to fill; 0: no limit.")
]
Link = Annotated[
    str, typer.Option(metavar="LINK", help="What port 0 receives: gen:SPEC, FILE, iface:NAME, xdp:NAME, tap:NAME.")
]
HostName = Annotated[
    str,
    typer.Option(
        "--host",
        metavar="NAME|COSTS",
        help="Model of the host: none, pcie, embednet, or its costs: message=0.8ms,byte=40.7ns,jitter=10%, also "
        "s2h-message for messages to hardware and packet for each packet.",
    ),
]
Adaptive = Annotated[
    float | None,
    typer.Option(
        metavar="TARGET_MS",
        help="Let the card choose batches, so that 99 of 100 packets are in software within this time.",
    ),
]
Express = Annotated[bool, typer.Option("--express", help="Send packets as latency-critical, over the express lane.")]
Write = Annotated[str | None, typer.Option("-w", metavar="FILE", help="Write the packets to a pcap file (-: stdout).")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no report.")]
Control = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Socket of the bridge.", show_default="$XDG_RUNTIME_DIR/headrace/bridge.sock"),
]


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


@app.command("recv")
def recv_command(
    buffer_kb: Buffer = 64,
    timeout_ms: Timeout = 10,
    packets: Annotated[int, typer.Argument(metavar="[PACKETS]", min=1, help="How many packets to receive.")] = 16384,
    link: Link = "gen:",
    rate: common.Rate = "lossless",
    host: HostName = "none",
    adaptive: Adaptive = None,
    express: Express = False,
    write: Write = None,
    user: common.User = None,
    parameter: common.Parameters = None,
    json: common.JsonFile = None,
    quiet: Quiet = False,
) -> int:
    """Receive packets from port 0 in software, and measure throughput: EmbedNet's app_h2s."""
    from headrace.cards.bridge.jobs import ReceiveJob
    from headrace.cards.bridge.tools import receive

    link = _link(link)
    job = ReceiveJob(
        buffer_kb=buffer_kb,
        timeout_ms=timeout_ms,
        profile=host,
        output=_output(write, json),
        parameters=common.parameters(parameter),
        link=link,
        rate=parse_rate(rate),
        packets=packets,
        adaptive_ms=adaptive,
        express=express,
    )
    common.check_links([link])
    common.become(user)
    with common.progress_line() as progress, common.unpacked(job) as inside:
        report = receive(inside, None if progress is None else lambda part: progress("receiving", part))
    return _show(report, "received", json, quiet or write == "-")


@app.command("trace")
def trace_command(
    buffer_kb: Buffer = 64,
    timeout_ms: Timeout = 10,
    duration_s: Annotated[float, typer.Argument(metavar="[DURATION_S]", help="Duration, in card time.")] = 180,
    timestep_ms: Annotated[float, typer.Argument(metavar="[TIMESTEP_MS]", help="Time between measurements.")] = 500,
    link: Link = "gen:size=1024,rate=10M",
    rate: common.Rate = "lossless",
    host: HostName = "none",
    adaptive: Adaptive = None,
    express: Express = False,
    write: Write = None,
    user: common.User = None,
    parameter: common.Parameters = None,
    json: common.JsonFile = None,
    quiet: Quiet = False,
) -> int:
    """Receive packets, and print the throughput in kbit/s for each time step: EmbedNet's app_h2s_trace."""
    from headrace.cards.bridge.jobs import ReceiveJob
    from headrace.cards.bridge.tools import receive

    link = _link(link)
    job = ReceiveJob(
        buffer_kb=buffer_kb,
        timeout_ms=timeout_ms,
        profile=host,
        output=_output(write, json),
        parameters=common.parameters(parameter),
        link=link,
        rate=parse_rate(rate),
        packets=None,
        seconds=duration_s,
        adaptive_ms=adaptive,
        express=express,
        step_s=timestep_ms / 1e3,
    )
    common.check_links([link])
    common.become(user)
    with common.progress_line() as progress, common.unpacked(job) as inside:
        report = receive(inside, None if progress is None else lambda part: progress("receiving", part))
    if "-" not in (json, write):
        for step, bits_per_s in enumerate(report.trace, 1):
            print(f"{step * timestep_ms / 1e3:10.3f} s {bits_per_s / 1e3:12.1f} kbit/s")
    return _show(report, "received", json, quiet or write == "-")


@app.command("send", context_settings={"ignore_unknown_options": True})  # for -1
def send_command(
    buffer_kb: Buffer = 64,
    timeout_ms: Timeout = 10,
    packet_size: Annotated[int, typer.Argument(metavar="[PACKET_SIZE]", help="Size of a packet in bytes.")] = 64,
    data_rate: Annotated[
        float, typer.Argument(metavar="[DATA_RATE_KBIT]", help="Rate in kbit/s; -1: as fast as possible.")
    ] = -1,
    packets: Annotated[int, typer.Argument(metavar="[PACKETS]", min=1, help="How many packets to send.")] = 16384,
    sink: Annotated[
        str | None, typer.Option(metavar="LINK", help="Where port 0 sends to: pcap:FILE, or iface:, xdp:, tap:NAME.")
    ] = None,
    host: HostName = "none",
    write: Write = None,
    user: common.User = None,
    parameter: common.Parameters = None,
    json: common.JsonFile = None,
    quiet: Quiet = False,
) -> int:
    """Send packets from software out of port 0, and measure throughput: EmbedNet's app_s2h."""
    from headrace.cards.bridge.host import is_live
    from headrace.cards.bridge.jobs import SendJob
    from headrace.cards.bridge.tools import send

    job = SendJob(
        buffer_kb=buffer_kb,
        timeout_ms=timeout_ms,
        profile=host,
        output=_output(write, json),
        parameters=common.parameters(parameter),
        packet_bytes=packet_size,
        rate_kbit=None if data_rate == -1 else data_rate,
        packets=packets,
        sink=sink,
    )
    common.check_links(filter(is_live, filter(None, [sink])))
    common.become(user)
    with common.progress_line() as progress:
        report = send(job, None if progress is None else lambda part: progress("sending", part))
    return _show(report, "sent", json, quiet or write == "-")


@app.command("run")
def run_command(
    chain: Annotated[
        str, typer.Option(metavar="KIND[=NAME],...", help="Blocks from port 0 to port 1: crc32, generic.")
    ] = "",
    link: Annotated[str, typer.Option(metavar="LINK", help="What port 0 receives.")] = "null",
    sink: Annotated[str | None, typer.Option(metavar="LINK", help="Where port 0 sends to.")] = None,
    link1: Annotated[str, typer.Option(metavar="LINK", help="What port 1 receives; goes to port 0 directly.")] = "null",
    sink1: Annotated[str | None, typer.Option(metavar="LINK", help="Where port 1 sends to.")] = None,
    packet_ns: Annotated[
        int, typer.Option(metavar="NS", min=0, help="Time that a generic block needs for a packet.")
    ] = 0,
    buffer_kb: Annotated[int, typer.Option(metavar="KB", help="Size of batches; 1: single packets.")] = 64,
    timeout_ms: Annotated[float, typer.Option(metavar="MS", help="Longest wait for a batch to fill.")] = 1,
    rate: common.Rate = "lossless",
    host: HostName = "none",
    control: Control = None,
    user: common.User = None,
    background: common.Background = False,
    parameter: common.Parameters = None,
    json: common.JsonFile = None,
    quiet: Quiet = False,
) -> int:
    """Keep a bridge up between two links, with a chain of functional blocks that starts in hardware.

    `headrace bridge map` moves its blocks while packets flow, Ctrl-C ends it. A tap: link is both input and output of
    its port.
    """
    from headrace.cards.bridge.host import is_live
    from headrace.cards.bridge.service import RunJob, run
    from headrace.evaluate import report

    common.check_outputs(json)
    link, link1 = _link(link), _link(link1)
    job = RunJob(
        chain=tuple(filter(None, chain.split(","))),
        links=(link, link1),
        sinks=(sink, sink1),
        packet_ns=packet_ns,
        buffer_kb=buffer_kb,
        timeout_ms=timeout_ms,
        rate=parse_rate(rate),
        profile=host,
        control=control,
        parameters=common.parameters(parameter),
    )
    common.check_links([link, link1, *filter(is_live, filter(None, (sink, sink1)))])
    say = common.background(background, json, say=lambda line: print(line, file=sys.stderr, flush=True))
    common.become(user)
    with common.progress_line(), common.unpacked(job) as inside:
        status = run(inside, None if quiet and not background else say)
    if json is not None:
        report.write_json(status, json)
    return 1 if status["missing"] or status["errors"] else 0


@app.command("map")
def map_command(
    block: Annotated[str, typer.Argument(metavar="BLOCK", help="A block of the chain, by name.")],
    side: Annotated[str, typer.Argument(metavar="hw|sw", help="Where the block is to work: in hardware or software.")],
    control: Control = None,
) -> int:
    """Move a block of the running bridge into hardware or software, while packets flow."""
    common.one_of("map", side, ("hw", "sw"))
    done = common.ask("bridge", control, command="map", block=block, side=side)
    dropped = f", {done['dropped']:,} packets found no room" if done["dropped"] else ""
    print(f"{block} is in {side}; packets were held for {done['held_ns'] / 1e3:.1f} us of card time{dropped}")
    return 0


@app.command("status")
def status_command(control: Control = None, json: common.Json = False) -> int:
    """Show the running bridge: its blocks, where they are, and its counters."""
    status = common.ask("bridge", control, command="status")
    if json:
        import json as json_module

        print(json_module.dumps(status, indent=2))
        return 0
    from headrace.cards.bridge.service import status_lines

    print("\n".join(status_lines(status)))
    return 0


def _link(text: str) -> str:
    """A link of a command line, which may be a file's name alone."""
    return parse_source(text).link if os.path.exists(text) else text


def _output(write: str | None, json: str | None) -> str | None:
    if [write, json].count("-") > 1:
        raise HeadraceError("only one output can be -, the standard output", 2)
    common.check_outputs(json)
    return write


def _show(report: Report, what: str, json: str | None, quiet: bool) -> int:
    """Show the report, then what went wrong on the way, and return the exit code."""
    if json is not None:
        from headrace.evaluate import report as reports

        reports.write_json(report.to_json(), json)
    if not quiet and json != "-":
        print("\n".join(_lines(report, what)))
    for error in dict.fromkeys(report.errors):
        print(f"headrace: {error}", file=sys.stderr)
    if report.missing:
        print(f"headrace: the card's counters don't add up: {report.missing:+,} packets", file=sys.stderr)
    return 1 if report.missing or report.errors else 0


def _lines(report: Report, what: str) -> list[str]:
    lines = [
        f"{report.packets:,} packets {what}, {report.bytes:,} bytes, in {report.batches:,} batches",
        f"{report.bits_per_s / 1e6:,.3f} Mbit/s, {report.packets_per_s:,.0f} packets/s "
        f"over {report.seconds * 1e3:,.3f} ms of card time, host {report.profile}",
    ]
    if report.latency_ns is not None:
        latency = report.latency_ns
        values = (latency.median, latency.p99, latency.most)
        lines.append("latency {:,.3f} ms median, {:,.3f} ms 99 %, {:,.3f} ms most".format(*(v / 1e6 for v in values)))
    if any(report.closed_by.values()):
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.closed_by.items() if count)
        lines.append(f"batches closed: {reasons}")
    if report.adaptation is not None:
        chosen = report.adaptation
        lines.append(f"the card's last choice: {chosen['bytes']:,} bytes, {chosen['timeout'] / 1e6:,.3f} ms")
    lines += [f"{count:,} packets dropped: {where}" for where, count in report.dropped.items()]
    return lines
