"""``headrace switch``: an OpenFlow switch."""

from __future__ import annotations

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.cards.switch.endpoints import Tls
    from headrace.cards.switch.run import SwitchReport

_RUN_EPILOG = """Examples:

headrace switch run --controller tcp:127.0.0.1:6653 --port 1=tap:h1 --port 2=tap:h2 --port 3=tap:h3

headrace switch run --listen ptcp:6654 --port 1=tap:h1 --port 2=tap:h2

headrace switch run --learn --port 1=tap:h1 --port 2=tap:h2

headrace switch run --flows flows.txt --port 1=in.pcap -w 2=out.pcap -P TABLES=2

headrace switch run --learn --port vf:0=tap:h1 --port vf:1=vhost:/tmp/guest.sock

headrace switch run --learn --port 1=tap:h1 --port 2=tap:h2 --link 2="delay 20ms loss 1%"

Without controllers, flows or --learn the switch has no flows, and drops all packets.
"""
_TRACE_EPILOG = """Examples:

headrace switch trace 1 ffffffffffff02000000000108060001080006040001...

headrace switch trace 1 first.pcap
"""

_ADD_EPILOG = """Examples:

headrace switch add-flow priority=10,tcp,tp_dst=80,actions=dec_ttl,output:2

headrace switch add-flow in_port=1,udp,actions=FIR,output:2

FIR filters the payload of UDP packets, as signed 32-bit samples; CRC puts its CRC into the last four bytes. A custom
action holds for all outputs behind it.
"""
_FIR_EPILOG = """Examples:

headrace switch fir 0.25 0.25 0.25 0.25

headrace switch fir --carry -- 1 0 0 -1
"""

_LINK_EPILOG = """Examples:

headrace switch link 2=\"delay 20ms loss 1%\" 3=\"rate 1mbit\"

headrace switch link 2=

headrace switch link --json

N is a port, and the words are those of headrace link --help: they take the place of all that was set. Without any, the
link does nothing to packets. Without N, it shows what all links do and have counted.
"""

_PORTS = range(1, 65)

Control = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Socket of the switch.", show_default="$XDG_RUNTIME_DIR/headrace/switch.sock"),
]

app = typer.Typer(
    name="switch",
    help="An OpenFlow 1.3 switch that controllers program.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


@app.callback()
def _group() -> None:
    """An OpenFlow 1.3 switch that controllers program."""


@app.command("run", epilog=_RUN_EPILOG)
def run_command(
    port: Annotated[
        list[str],
        typer.Option(
            "--port",
            metavar="N=LINK",
            help="What port N, counted from 1, receives; a live link also gets what the port sends. "
            "vf:N=LINK: virtual function N, counted from 0.",
        ),
    ],
    write: Annotated[
        list[str] | None, typer.Option("-w", metavar="N=FILE", help="Write what a port sends to a pcap file.")
    ] = None,
    controller: Annotated[
        list[str] | None, typer.Option(metavar="tcp:HOST:PORT|ssl:HOST:PORT", help="Connect to a controller.")
    ] = None,
    listen: Annotated[
        list[str] | None, typer.Option(metavar="ptcp:PORT|pssl:PORT", help="Let controllers connect.")
    ] = None,
    flows: Annotated[
        str | None, typer.Option(metavar="FILE", help="Flows in ovs-ofctl's syntax; ovs-ofctl parses them.")
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(metavar="N=WORDS", help="An emulated link at port N; each port gets one. See headrace link."),
    ] = None,
    learn: Annotated[bool, typer.Option("--learn", help="Learn MAC addresses, without a controller.")] = False,
    datapath_id: Annotated[str, typer.Option(metavar="HEX", help="Datapath ID of the switch, for controllers.")] = "1",
    private_key: Annotated[str | None, typer.Option(metavar="FILE", help="TLS: the switch's key (PEM).")] = None,
    certificate: Annotated[str | None, typer.Option(metavar="FILE", help="TLS: its certificate.")] = None,
    ca_cert: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="TLS: certificate of the CA that signs controllers' certificates."),
    ] = None,
    rate: common.Rate = "lossless",
    seconds: common.Seconds = None,
    control: Control = None,
    user: common.User = None,
    background: common.Background = False,
    parameter: common.Parameters = None,
    json: common.Json = False,
) -> int:
    """Run the switch, with packets from files or interfaces.

    The switch has as many ports as you name, or -P PORTS. With live links or controllers it runs until Ctrl-C,
    otherwise until all packets are through and no flow waits for its timeout.
    """
    from headrace.cards.switch.run import SwitchJob, run
    from headrace.engines.netem import parse_netem
    from headrace.net.source import parse_rate

    sinks = common.by_number(write, "-w", _PORTS)
    common.check_outputs(*sinks.values(), ports=port or ())
    try:
        number = int(datapath_id, 16)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 64:
        raise HeadraceError(f"--datapath-id {datapath_id}: not a hexadecimal number of 64 bits", 2)
    functions, others = common.split_functions(port)
    job = SwitchJob(
        sources=common.by_number(others, "--port", _PORTS),
        functions=functions,
        sinks=sinks,
        controllers=controller or [],
        listens=listen or [],
        tls=_tls(private_key, certificate, ca_cert),
        flows=flows,
        links={port: parse_netem(words) for port, words in common.by_number(link, "--link", _PORTS).items()},
        learning=learn,
        datapath_id=number,
        rate=parse_rate(rate),
        seconds=seconds,
        control=control,
        parameters=common.parameters(parameter),
    )
    common.check_links([*job.sources.values(), *job.functions.values()])
    tell = common.background(background, *sinks.values())
    common.become(user)
    with common.progress_line() as progress, common.unpacked(job) as inside:
        report = run(inside, None if progress is None else lambda count: progress(f"{count:,} packets", None), tell)
    with common.beside(sinks.values()):
        if json:
            print(json_format.dumps(asdict(report), indent=2))
        else:
            _show_run(report)
    return 0


def _tls(private_key: str | None, certificate: str | None, ca_cert: str | None) -> Tls | None:
    from headrace.cards.switch.endpoints import Tls

    if private_key is None and certificate is None and ca_cert is None:
        return None
    if private_key is None or certificate is None or ca_cert is None:
        raise HeadraceError("TLS needs --private-key, --certificate and --ca-cert", 2)
    return Tls(Path(private_key), Path(certificate), Path(ca_cert))


def _show_run(report: SwitchReport) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("port", "in", "out", "dropped in", "dropped out", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for port in report.ports:
        counts = (port.received, port.sent, port.rx_dropped, port.tx_dropped)
        table.add_row(str(port.port), *(f"{count:,}" for count in counts))
    Console().print(table)
    print(
        f"{report.to_host:,} packets to controllers, {report.host_dropped:,} of them dropped; {report.flows:,} flows; "
        f"{report.cycles:,} cycles"
    )


@app.command("flows")
def flows_command(control: Control = None, json: common.Json = False) -> None:
    """Show the flows of the running switch, with their counters."""
    found = common.ask("switch", control, command="flows")["flows"]
    if json:
        print(json_format.dumps(found, indent=2))
        return
    for flow in found:
        times = [f"{name}={flow[name]}" for name in ("idle_timeout", "hard_timeout") if flow[name]]
        print(
            f"table={flow['table']} priority={flow['priority']} {flow['match']} -> {flow['instructions']}  "
            + " ".join([f"{flow['packets']:,} packets, {flow['bytes']:,} bytes, {flow['age_s']:.1f} s", *times])
        )


@app.command("add-flow", epilog=_ADD_EPILOG)
def add_flow_command(
    flow: Annotated[str, typer.Argument(metavar="FLOW", help="In ovs-ofctl's syntax; FIR and CRC are actions, too.")],
    control: Control = None,
) -> None:
    """Add a flow to the running switch."""
    common.ask("switch", control, command="add-flow", flow=flow)


@app.command("del-flows")
def del_flows_command(
    match: Annotated[
        str, typer.Argument(metavar="[MATCH]", help="Which flows, in ovs-ofctl's syntax; without it, all.")
    ] = "",
    control: Control = None,
) -> None:
    """Delete flows of the running switch."""
    common.ask("switch", control, command="del-flows", match=match)


@app.command("fir", epilog=_FIR_EPILOG)
def fir_command(
    taps: Annotated[list[float], typer.Argument(metavar="A B C D", help="Coefficients, -2 to 2; newest sample first.")],
    carry: Annotated[
        bool, typer.Option("--carry", help="Let a packet's samples continue those of the packet before.")
    ] = False,
    control: Control = None,
) -> None:
    """Set the coefficients of the running switch's FIR filter."""
    common.ask("switch", control, command="fir", taps=taps, carry=carry)


@app.command("link", epilog=_LINK_EPILOG)
def link_command(
    links: Annotated[
        list[str] | None, typer.Argument(metavar="N=WORDS...", help="What the link of port N does.")
    ] = None,
    control: Control = None,
    json: common.Json = False,
) -> None:
    """Set or show the emulated links of the running switch."""
    from headrace.engines.netem import parse_netem

    made = common.by_number(links, "link", _PORTS)
    for words in made.values():
        parse_netem(words)  # wrong ones are told where they were typed
    if made:
        common.ask("switch", control, command="link-set", links={str(port): words for port, words in made.items()})
        return
    found = common.ask("switch", control, command="link-stats")
    if json:
        print(json_format.dumps(found, indent=2))
        return
    for link in found["links"]:
        counts = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in list(link.items())[2:] if value)
        print(f"{link['port']}: {link['netem'] or 'nothing'}; {counts or 'no packets'}")


@app.command("stats")
def stats_command(control: Control = None, json: common.Json = False) -> None:
    """Show the counters of the running switch: ports, tables, controllers."""
    found = common.ask("switch", control, command="stats")
    if json:
        print(json_format.dumps(found, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for name in ("ports", "tables", "controllers"):
        rows = [row for row in found[name] if name != "tables" or row["looked_up"] or row["flows"]]
        if not rows:
            continue
        table = Table(*(key.replace("_", " ") for key in rows[0]), box=None, pad_edge=False)
        for row in rows:
            table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
        console.print(table)


@app.command("trace", epilog=_TRACE_EPILOG)
def trace_command(
    port: Annotated[int, typer.Argument(metavar="PORT", help="Port at which the packet arrives.")],
    packet: Annotated[
        str, typer.Argument(metavar="HEX|FILE", help="The packet, or a capture whose first packet is taken.")
    ],
    control: Control = None,
    json: common.Json = False,
) -> None:
    """Show what the running switch would do with a packet, table by table. Nothing is sent."""
    found = common.ask("switch", control, command="trace", packet=_packet(packet), port=port)
    if json:
        print(json_format.dumps(found, indent=2))
    else:
        print(found["text"], end="")


def _packet(text: str) -> str:
    if not Path(text).is_file():
        return text
    from scapy.error import Scapy_Exception
    from scapy.utils import RawPcapReader

    try:
        with RawPcapReader(text) as reader:
            found: bytes = next(reader)[0]
    except StopIteration:
        raise HeadraceError(f"{text}: the file has no packet") from None
    except Scapy_Exception as error:
        raise HeadraceError(f"{text}: {error}") from None
    return found.hex()
