"""``headrace traffic``: traffic to try cards with."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from headrace.cli import common
from headrace.errors import HeadraceError

_EPILOG = """Examples:

headrace traffic triangle -p 1024 -l 1000 -u 5000 -i 10 -I 3 -w load.pcap

headrace traffic triangle -p 1024 -l 1000 -u 5000 -w - | headrace bridge trace --link pcap:- --rate recorded

headrace traffic triangle -s 0x0123456789abcdef -l 100 -u 2000 --interface eth1
"""

app = typer.Typer(
    name="traffic",
    help="Generate traffic: files, or packets on a network interface.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


@app.command("triangle", epilog=_EPILOG)
def triangle_command(
    hash: Annotated[
        str, typer.Option("-s", metavar="HASH", help="64 bits after the Ethernet header, such as 0x0123456789abcdef.")
    ] = "0",
    length: Annotated[int, typer.Option("-p", metavar="BYTES", help="Length of packets.")] = 1024,
    lower: Annotated[float, typer.Option("-l", metavar="PPS", help="Lower rate, packets a second.")] = 1000,
    upper: Annotated[float, typer.Option("-u", metavar="PPS", help="Upper rate.")] = 5000,
    first: Annotated[
        float, typer.Option("-i", metavar="SECONDS", help="Time from the lower to the upper rate, for triangle 1.")
    ] = 10,
    second: Annotated[float, typer.Option("-I", metavar="SECONDS", help="The same for triangle 2.")] = 3,
    duration: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="How long.", show_default="a file: up and down once; else no end"),
    ] = None,
    crc: Annotated[
        bool, typer.Option("--crc", help="End packets with their CRC-32, for the bridge's CRC block.")
    ] = False,
    write: Annotated[str | None, typer.Option("-w", metavar="FILE", help="Write a pcap file (-: stdout).")] = None,
    interface: Annotated[str | None, typer.Option(metavar="NAME", help="Send on this network interface.")] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no summary.")] = False,
) -> int:
    """Two superposed triangle waves of packets, which start at the lower rate and have the same amplitude.

    Packets have the experimental EtherType 0x88B5, then the hash, their number and their time in ns, 64 bits each.
    """
    from headrace.traffic import triangle

    try:
        number = int(hash, 0)
    except ValueError:
        raise HeadraceError(f"-s {hash}: not a number such as 0x0123456789abcdef", 2) from None
    load = triangle.Triangle(number, length, lower, upper, (first, second), crc)
    if (write is None) == (interface is None):
        raise HeadraceError("either -w FILE or --interface NAME is needed (see headrace traffic triangle --help)", 2)
    if duration is not None and not 0 < duration <= 1e6:
        raise HeadraceError(f"--duration {duration:g}: must be longer than 0 s, and at most 1e6", 2)
    if write is not None:
        count = _write(load, duration or 2 * max(first, second), write)
    else:
        assert interface is not None
        count = _send(load, duration, interface, quiet)
    if not quiet:
        print(f"{count:,} packets of {length} bytes", file=sys.stderr)
    return 0


def _write(load: object, duration: float, path: str) -> int:
    from headrace.traffic import triangle

    assert isinstance(load, triangle.Triangle)
    with common.progress_line() as progress:
        show = None if progress is None else lambda part: progress(f"writing {path}", part)
        with open(os.dup(1) if path == "-" else path, "wb") as file:
            return triangle.write(load, duration, file, show)


def _send(load: object, duration: float | None, interface: str, quiet: bool) -> int:
    from headrace.card.process import StopRequests
    from headrace.traffic import triangle

    assert isinstance(load, triangle.Triangle)
    ready = quiet
    with common.progress_line() as progress, StopRequests() as stop:

        def show(seconds: float, packets: int) -> None:
            nonlocal ready
            if not ready:
                common.tell(f"ready: packets go out on {interface}")
                ready = True
            if progress is not None:
                what = f"{packets:,} packets, {load.rate(seconds):,.0f} a second"
                progress(what, None if duration is None else min(1.0, seconds / duration))

        return triangle.send(load, interface, duration, lambda: bool(stop), show)
