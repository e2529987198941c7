"""``headrace demo``: the filter card, the RPU card and the switch card on real traffic, in one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common

if TYPE_CHECKING:
    from rich.console import RenderableType

    from headrace.evaluate.demo import Demo

_EPILOG = """Examples:

headrace demo

headrace demo --packets 100000 --folder /tmp/demo
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog=_EPILOG)(demo_command)


def demo_command(
    packets: Annotated[int, typer.Option(min=100, help="Packets to record.")] = 30_000,
    folder: Annotated[str, typer.Option(metavar="DIR", help="Where the files go.")] = "build/demo",
) -> int:
    """Record real traffic, filter it with the card and with tcpdump, and show what the card can and can't do.

    Then a firewall in C on the RPU card, and flows on the switch card. The exit code is 1 if a file of the filter card
    is not byte for byte tcpdump's, the firewall lets other packets pass than tcpdump, or flows count others.
    """
    from pathlib import Path

    from rich.console import Console

    from headrace.evaluate import demo

    with common.progress_line() as progress:
        found = demo.run(Path(folder), packets, progress)
    Console().print(_screen(found))
    same = found.firewall.same and found.switched.same and all(comparison.same for comparison in found.comparisons)
    return 0 if same else 1


def _screen(found: Demo) -> RenderableType:
    from rich.console import Group
    from rich.panel import Panel

    from headrace.cards.filter import measurements
    from headrace.evaluate import report

    parts: list[RenderableType] = [
        Panel(found.traffic.describe(), title="1  Traffic", title_align="left"),
        Panel(
            _comparisons(found),
            title="2  Four filters at once; each file compared with tcpdump's, byte for byte",
            title_align="left",
        ),
        Panel(report.filter_figures(found.report.to_json()), title="3  The card", title_align="left"),
        Panel(
            report.measurement_table(measurements.find("ip-proto"), found.protocols, top=6),
            title="4  A measurement in the card's counters",
            title_align="left",
        ),
        Panel(_limits(found), title="5  Where the limit is", title_align="left"),
        Panel(_firewall(found), title="6  C firmware on RISC-V packet processors: a firewall", title_align="left"),
        Panel(_switched(found), title="7  OpenFlow: the flows of a switch", title_align="left"),
    ]
    folder = found.traffic.path.parent
    parts.append(
        f"Files are in {folder}/. Open one in Wireshark, or try: headrace filter 'arp' {found.traffic.path} -w arp.pcap"
    )
    return Group(*parts)


def _comparisons(found: Demo) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("filter")
    table.add_column("packets", justify="right")
    table.add_column("file")
    table.add_column("")
    for row in found.comparisons:
        verdict = Text("= tcpdump's", "green") if row.same else Text("not tcpdump's", "bold red")
        table.add_row(Text(row.expression), f"{row.packets:,}", str(row.path), verdict)
    return table


def _limits(found: Demo) -> RenderableType:
    from rich.bar import Bar
    from rich.console import Group
    from rich.table import Table

    from headrace.evaluate import demo

    cores, clock_hz = found.report.cores, found.report.clock_hz
    smallest = demo.instructions_per_packet(60, cores, clock_hz)
    average = demo.instructions_per_packet(800, cores, clock_hz)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("instructions a packet", justify="right")
    table.add_column("inspected", justify="right")
    table.add_column("")
    for limit in found.limits:
        table.add_row(str(limit.instructions), f"{limit.inspected:.1%}", Bar(1.0, 0, limit.inspected, width=40))
    return Group(
        f"64-byte packets at 100 Gb/s (148.8 million a second), {cores} cores: a packet may cost {smallest:.1f} "
        f"instructions, one of 800 bytes {average:.0f}. What is over goes by uninspected and is counted; "
        "every packet is passed on.",
        "",
        table,
    )


def _firewall(found: Demo) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    firewall = found.firewall
    table = Table("unit", "program", "packets in", "out", "dropped", box=None, pad_edge=False, header_style="bold")
    for column in table.columns[2:]:
        column.justify = "right"
    for unit in firewall.report.units:
        counts = (unit.rx_packets, unit.tx_packets, unit.rx_packets - unit.tx_packets)
        table.add_row(str(unit.unit), unit.program, *(f"{count:,}" for count in counts))
    verdict = Text("= what tcpdump lets pass", "green") if firewall.same else Text("not tcpdump's", "bold red")
    return Group(
        f"What {', '.join(firewall.blocked)} sends is dropped; flows stay on their unit and in order.",
        "",
        table,
        "",
        Text.assemble(f"{firewall.path}: {firewall.report.sent:,} packets ", verdict),
    )


def _switched(found: Demo) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    switched = found.switched
    table = Table(
        "table", "match", "instructions", "packets", "tcpdump's", box=None, pad_edge=False, header_style="bold"
    )
    table.columns[2].overflow = "fold"
    for column in table.columns[3:]:
        column.justify = "right"
    for flow in switched.flows:
        verdict = Text(f"{flow.by_tcpdump:,}", "green" if flow.packets == flow.by_tcpdump else "bold red")
        table.add_row(str(flow.table), flow.match, flow.instructions, f"{flow.packets:,}", verdict)
    return Group(
        f"{switched.received:,} packets came by port 1, {switched.sent:,} left by port 2 into {switched.path}.",
        "",
        table,
        "",
        "What the switch does with a packet (headrace switch trace):",
        "",
        Text(switched.trace.rstrip()),
    )
