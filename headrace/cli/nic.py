"""``headrace nic``: virtual functions behind Ethernet ports."""

from __future__ import annotations

import json as json_format
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import common
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.cards.nic.card import Setting

_RUN_EPILOG = """Examples:

headrace nic run --port vf:0=tap:h0 --port vf:1=tap:h1

headrace nic run --port 0=iface:eth1 --port vf:0=vhost:/tmp/guest.sock --port vf:1=tap:h1 --mac 1=02:00:00:00:01:01

headrace nic run --port 0=in.pcap --port vf:0=null --vlan 0=100 -w 0=out.pcap

headrace nic run --port vf:0=vhost:/tmp/guest.sock -P PAIRS=4

Function N has the MAC 02:00:00:00:00:NN, is at Ethernet port 0 and gets frames without a VLAN tag, unless an option
says otherwise. A TAP device gets the MAC of its function; a guest or DPDK is to be given it.
"""
_PORTS, _VLANS = range(4), 4094

Control = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Socket of the NIC.", show_default="$XDG_RUNTIME_DIR/headrace/nic.sock"),
]
Values = list[str] | None

app = typer.Typer(
    name="nic",
    help="A NIC with virtual functions behind its Ethernet ports.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


@app.callback()
def _group() -> None:
    """A NIC with virtual functions behind its Ethernet ports."""


@app.command("run", epilog=_RUN_EPILOG)
def run_command(
    port: Annotated[
        list[str],
        typer.Option(
            "--port",
            metavar="N=LINK",
            help="What Ethernet port N, counted from 0, receives; a live link also gets what the port sends. "
            "vf:N=LINK: virtual function N.",
        ),
    ],
    write: Annotated[
        Values, typer.Option("-w", metavar="N=FILE", help="Write what an Ethernet port sends to a pcap file.")
    ] = None,
    mac: Annotated[Values, typer.Option(metavar="N=ADDR", help="MAC of function N.")] = None,
    vlan: Annotated[Values, typer.Option(metavar="N=ID", help="VLAN of function N; its frames have that tag.")] = None,
    uplink: Annotated[Values, typer.Option(metavar="N=PORT", help="Ethernet port of function N.")] = None,
    promiscuous: Annotated[
        Values,
        typer.Option(
            metavar="N",
            help="Function N gets multicast of all VLANs, and frames with unknown destinations from the wire.",
        ),
    ] = None,
    rate: common.Rate = "lossless",
    seconds: common.Seconds = None,
    control: Control = None,
    user: common.User = None,
    background: common.Background = False,
    parameter: common.Parameters = None,
    json: common.Json = False,
) -> int:
    """Run the NIC, with packets from files or interfaces.

    The NIC has as many functions as you name, or -P FUNCTIONS. With live links it runs until Ctrl-C, otherwise until
    all packets are through.
    """
    from headrace.cards.nic.run import NicJob, run
    from headrace.net.source import parse_rate

    sinks = common.by_number(write, "-w", _PORTS)
    common.check_outputs(*sinks.values(), ports=port or ())
    functions, others = common.split_functions(port)
    job = NicJob(
        sources=common.by_number(others, "--port", _PORTS),
        functions=functions,
        sinks=sinks,
        settings=_settings(mac, vlan, uplink, promiscuous),
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
            print(json_format.dumps(report, indent=2))
        else:
            _show(report)
            print(f"{report['cycles']:,} cycles")
    return 0


@app.command("stats")
def stats_command(control: Control = None, json: common.Json = False) -> None:
    """Show the counters of the running NIC: Ethernet ports, functions, both directions."""
    found = common.ask("nic", control, command="stats")
    if json:
        print(json_format.dumps(found, indent=2))
    else:
        _show(found)


def _numbers(texts: Values, option: str, most: int) -> dict[int, int]:
    found = {}
    for number, text in common.by_number(texts, option, common.FUNCTIONS).items():
        if not text.isdecimal() or int(text) > most:
            raise HeadraceError(f"{option} {number}={text}: not a number up to {most}", 2)
        found[number] = int(text)
    return found


def _settings(mac: Values, vlan: Values, uplink: Values, promiscuous: Values) -> dict[int, Setting]:
    from headrace.card.functions import parse_mac
    from headrace.cards.nic.run import default_setting

    found: dict[int, Setting] = {}

    def change(function: int, **members: Any) -> None:
        found[function] = replace(found.get(function, default_setting(function)), **members)

    for function, text in common.by_number(mac, "--mac", common.FUNCTIONS).items():
        change(function, mac=parse_mac(text))
    for function, number in _numbers(vlan, "--vlan", _VLANS).items():
        change(function, vlan=number)
    for function, number in _numbers(uplink, "--uplink", _PORTS[-1]).items():
        change(function, uplink=number)
    for text in promiscuous or []:
        if not text.isdecimal() or int(text) not in common.FUNCTIONS:
            raise HeadraceError(f"--promiscuous {text}: not a function, 0 to {common.FUNCTIONS[-1]}", 2)
        change(int(text), promiscuous=True)
    return found


def _show(found: dict[str, Any]) -> None:
    for rows in filter(None, (found["ports"], found["functions"], found["paths"])):
        if rows is not found["ports"]:
            print()
        numbers = {key.replace("_", " ") for key, value in rows[0].items() if isinstance(value, int)}
        texts = [{key.replace("_", " "): _text(value) for key, value in row.items()} for row in rows]
        common.show_table(texts, numbers)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
