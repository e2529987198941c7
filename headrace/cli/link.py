"""``headrace link``: a WAN emulator, in netem's words."""

from __future__ import annotations

import json as json_format
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headrace.cli import common

_RUN_EPILOG = """Examples:

headrace link --port 0=tap:left --port 1=tap:right delay 20ms 5ms distribution normal loss 1%

headrace link --port 0=in.pcap -w 1=out.pcap delay 100ms rate 10mbit limit 100

headrace link --port 0=iface:eth1 --port 1=iface:eth2 --from 1="delay 300ms loss gemodel 1% 10%" delay 20ms

headrace link --port 0=gen:count=1000,rate=10M -w 1=out.pcap delay 10ms reorder 25% 50% gap 5 --json

What comes in by port 0 leaves by port 1 and the other way round; ports 2 and 3, 4 and 5, ... are further links. Words:
delay TIME [JITTER [CORRELATION]] [distribution uniform|normal|pareto|paretonormal], loss [random] PERCENT
[CORRELATION], loss gemodel P [R [1-H [1-K]]], duplicate, corrupt, reorder PERCENT [CORRELATION], gap DISTANCE,
rate RATE [PACKETOVERHEAD], limit PACKETS, as in tc-netem(8).
"""
_SET_EPILOG = """Examples:

headrace link set delay 50ms loss 2%

headrace link set --from 1 rate 1mbit

headrace link set

The words take the place of all that was set; without any, the link does nothing to packets.
"""
_STATS_EPILOG = """Examples:

headrace link stats

headrace link stats --json
"""
_PORTS = range(8)

Control = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Socket of the emulator.", show_default="$XDG_RUNTIME_DIR/headrace/link.sock"),
]
Words = Annotated[list[str] | None, typer.Argument(metavar="[WORDS]...", help="What the link does, as in tc-netem(8).")]


class _RunsWithoutBeingTold(TyperGroup):
    """``headrace link --port ...`` is ``headrace link run --port ...``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As click's."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="link",
    help="A WAN emulator: delay, jitter, rate, loss between ports, in tc-netem's words.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    cls=_RunsWithoutBeingTold,
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


@app.callback()
def _group() -> None:
    """A WAN emulator: delay, jitter, rate, loss between ports, in tc-netem's words."""


@app.command("run", epilog=_RUN_EPILOG)
def run_command(
    port: Annotated[
        list[str],
        typer.Option(
            "--port",
            metavar="N=LINK",
            help="What port N, counted from 0, receives; a live link also gets what the port sends.",
        ),
    ],
    words: Words = None,
    sender: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="N=WORDS", help="What happens to packets from port N, instead of WORDS; in quotes."
        ),
    ] = None,
    write: Annotated[
        list[str] | None, typer.Option("-w", metavar="N=FILE", help="Write what a port sends to a pcap file.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers: the same seed repeats a run.")] = 1,
    rate: common.Rate = "recorded",
    seconds: common.Seconds = None,
    control: Control = None,
    user: common.User = None,
    background: common.Background = False,
    parameter: common.Parameters = None,
    json: common.Json = False,
) -> int:
    """Run the emulator, with packets from files or interfaces; "run" may be left out.

    With live links it runs until Ctrl-C, otherwise until all packets are through.
    """
    from headrace.cards.link.run import LinkJob, run
    from headrace.engines.netem import parse_netem
    from headrace.net.source import parse_rate

    sinks = common.by_number(write, "-w", _PORTS)
    common.check_outputs(*sinks.values(), ports=port or ())
    others = common.by_number(sender, "--from", _PORTS)
    job = LinkJob(
        sources=common.by_number(port, "--port", _PORTS),
        netem=parse_netem(words or []),
        settings={number: parse_netem(text) for number, text in others.items()},
        sinks=sinks,
        seed=seed,
        rate=parse_rate(rate),
        seconds=seconds,
        control=control,
        parameters=common.parameters(parameter),
    )
    common.check_links(job.sources.values())
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


@app.command("set", epilog=_SET_EPILOG)
def set_command(
    words: Words = None,
    sender: Annotated[
        int | None,
        typer.Option("--from", metavar="N", min=0, max=_PORTS[-1], help="Packets from port N.", show_default="all"),
    ] = None,
    control: Control = None,
) -> None:
    """Change the running emulator; packets that it already holds leave at the times that they had."""
    from headrace.engines.netem import parse_netem

    parse_netem(words or [])  # wrong ones are told where they were typed
    common.ask("link", control, command="set", port=sender, words=words or [])


@app.command("stats", epilog=_STATS_EPILOG)
def stats_command(control: Control = None, json: common.Json = False) -> None:
    """Show settings and counters of the running emulator, for both directions of each link."""
    found = common.ask("link", control, command="stats")
    if json:
        print(json_format.dumps(found, indent=2))
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console()
    for link in found["links"]:
        title = f"{link['from']} -> {link['to']}: {link['netem'] or 'nothing'}"
        counts = (f"{value:,} {name.replace('_', ' ')}" for name, value in list(link.items())[3:] if value)
        console.print(f"{title}\n  {', '.join(counts) or 'no packets'}", highlight=False)
