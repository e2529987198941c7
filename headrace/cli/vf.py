"""``headrace vf``: the virtual functions of a running switch or RPU card, in the words of ``ip link set DEV vf N``."""

from __future__ import annotations

import json as json_format
import os
from typing import Annotated, Any

import typer

from headrace.cli import common
from headrace.errors import HeadraceError

_EPILOG = """Examples:

headrace vf list

headrace vf set 0 mac 02:00:00:00:00:01 spoofcheck on

headrace vf set 1 vlan 7 qos 3 rate 1000

headrace vf plug 1 tap:h1
"""
_SET_EPILOG = """Examples:

headrace vf set 0 mac 02:00:00:00:00:01 spoofcheck on trust off

headrace vf set 1 vlan 7 qos 3 max_tx_rate 1000

headrace vf set 1 vlan 0 rate 0

mac ADDR: the function's own address; all zeros: none. With one it receives frames to it and
to groups only, unless it is trusted.

vlan ID: what it sends gets this VLAN's tag, of priority qos and of proto 802.1Q or 802.1ad; what it receives must
bear it, and loses it. 0: tags are its own.

rate MBIT, max_tx_rate MBIT: what it may send, in Mbit/s; its driver waits. 0: no limit.

spoofcheck on: what it sends from another address is dropped.

trust on: it receives frames to any address.

state disable: its queues stand still, and its link is down. enable: the link is up, though nobody drives the function.
auto: it is up while somebody does.
"""
_PLUG_EPILOG = """Examples:

headrace vf plug 1 tap:h1

headrace vf plug 2 vhost:/tmp/guest.sock

headrace vf plug 3 pcap:in.pcap
"""
_FILES = ("vhost", "pcap")

Function = Annotated[int, typer.Argument(metavar="N", min=0, help="Number of the function, from 0.")]
Control = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Socket of the card.",
        show_default="$XDG_RUNTIME_DIR/headrace/switch.sock or rpu.sock, whichever runs",
    ),
]

app = typer.Typer(
    name="vf",
    help="The virtual functions of a running card: their connections and settings.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


@app.callback()
def _group() -> None:
    """The virtual functions of a running card: their connections and settings."""


def _ask(control: str | None, **request: Any) -> dict[str, Any]:
    from headrace.card.control import ask, is_up
    from headrace.cards.nic.service import CONTROL as NIC
    from headrace.cards.rpu.service import CONTROL as RPU
    from headrace.cards.switch.service import CONTROL as SWITCH

    common.become(None)  # the socket is in the folder of who has called sudo
    owner = SWITCH
    if control is None and is_up(NIC) and not (is_up(RPU) or is_up(SWITCH)):
        raise HeadraceError(f"{NIC.title} runs: headrace nic run sets its functions, headrace nic stats shows them", 2)
    if control is None and is_up(RPU):
        if is_up(SWITCH):
            raise HeadraceError(f"{SWITCH.title} and {RPU.title} run: choose one by --control", 2)
        owner = RPU
    return ask(owner, control, request)


@app.command("list")
def list_command(control: Control = None, json: common.Json = False) -> None:
    """Show the functions: their port numbers, connections and settings."""
    from headrace.card.functions.policy import Policy

    found = _ask(control, command="vf-list")["functions"]
    if json:
        print(json_format.dumps(found, indent=2))
        return
    rows = []
    for function in found:
        vlan = f"{function['vlan']}" + (f" qos {function['qos']}" if function["qos"] else "")
        vlan += f" proto {function['proto']}" if function["proto"] != Policy().proto else ""
        up = "up" if function["up"] else "down"
        rows.append(
            {
                "function": str(function["function"]),
                "port": str(function["port"]),
                "link": function["link"] or "-",
                "state": up if function["link_state"] == "auto" else f"{up} {function['link_state']}d",
                "mac": function["mac"] or "-",
                "vlan": vlan if function["vlan"] else "-",
                "rate": f"{function['rate']} Mbit/s" if function["rate"] else "-",
                "spoofcheck": "on" if function["spoofcheck"] else "off",
                "trust": "on" if function["trust"] else "off",
            }
        )
    common.show_table(rows, ("function", "port"))


@app.command("set", epilog=_SET_EPILOG)
def set_command(
    function: Function,
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="SETTING...",
            help="mac ADDR, vlan ID \\[qos Q] \\[proto P], rate MBIT, spoofcheck on|off, trust on|off, "
            "state auto|enable|disable; one or several.",
        ),
    ],
    control: Control = None,
) -> None:
    """Set what a function may send and receives; settings that aren't named stay."""
    from headrace.card.functions.policy import parse_settings

    _ask(control, command="vf-set", function=function, settings=parse_settings(settings))


@app.command("stats")
def stats_command(
    function: Annotated[int | None, typer.Argument(metavar="[N]", min=0, help="One function only.")] = None,
    control: Control = None,
    json: common.Json = False,
) -> None:
    """Show what functions have sent and received, and what was dropped and why."""
    found = _ask(control, command="vf-stats", function=function)["functions"]
    if json:
        print(json_format.dumps(found, indent=2))
        return
    if function is not None:
        for name, value in found[0].items():
            print(f"{name.replace('_', ' '):<14} {value:>16,}")
        return
    rows = [{name.replace("_", " "): f"{value:,}" for name, value in row.items()} for row in found]
    common.show_table(rows, rows[0])


@app.command("plug", epilog=_PLUG_EPILOG)
def plug_command(
    function: Function,
    link: Annotated[str, typer.Argument(metavar="LINK", help="tap:NAME, vhost:SOCKET, or another of --port.")],
    control: Control = None,
) -> None:
    """Connect an unused function. Its port comes up."""
    kind, colon, argument = link.partition(":")
    if not colon or not argument:
        raise HeadraceError(f"{link}: not a link such as tap:NAME or vhost:SOCKET", 2)
    if kind in _FILES and argument != "-":
        link = f"{kind}:{os.path.abspath(argument)}"  # the card may run elsewhere
    _ask(control, command="vf-plug", function=function, link=link)


@app.command("unplug")
def unplug_command(function: Function, control: Control = None) -> None:
    """Disconnect a function. Its port goes down; its settings stay."""
    _ask(control, command="vf-unplug", function=function)
