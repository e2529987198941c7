"""``headrace demo``: each card at its work in a few lines, on real traffic."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli import common

_EPILOG = """Examples:

headrace demo

headrace demo --card switch --card link

headrace demo --packets 100000 --folder /tmp/demo
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog=_EPILOG)(demo_command)


def demo_command(
    packets: Annotated[int, typer.Option(min=100, help="Packets to record.")] = 30_000,
    folder: Annotated[str, typer.Option(metavar="DIR", help="Where the files go.")] = "build/demo",
    card: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Show this card only; may be given again.", show_default="all of them"),
    ] = None,
) -> int:
    """Record real traffic, and show each card at work in a few lines, compared with tcpdump or ping.

    Cards: filter, capture, bridge, rpu, switch, nic, link, and the emulator. Each is shown before the next one is
    built. The exit code is 1 if what a card does is not what tcpdump, ping or the scenario says.
    """
    from pathlib import Path

    from rich.console import Console
    from rich.panel import Panel

    from headrace.evaluate import demo

    parts = tuple(card or demo.PARTS)
    for name in parts:
        common.one_of("--card", name, tuple(demo.PARTS))
    common.optimise("never")  # each card runs for some seconds
    console, same = Console(), True
    with common.long_progress() as progress:
        recording = "recording traffic"
        traffic = demo.record(Path(folder), packets, lambda done: progress(recording, min(done / packets, 1.0)))
    console.print(Panel(traffic.describe(), title="Traffic", title_align="left"))
    for number, name in enumerate(parts, 1):
        where = f"{number} of {len(parts)}, {name}"
        with common.long_progress() as progress:
            setting = demo.Setting(traffic.path.parent, traffic, lambda what: progress(f"{where}: {what}", None))  # noqa: B023
            shown = demo.show(name, setting)
        console.print(Panel(shown.view, title=f"{number} of {len(parts)}  {demo.PARTS[name]}", title_align="left"))
        same &= shown.same
    console.print(
        f"Files are in {traffic.path.parent}/. Open one in Wireshark, or try: "
        f"headrace filter 'arp' {traffic.path} -w arp.pcap"
    )
    return 0 if same else 1
