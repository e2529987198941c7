"""``headrace synth``: what a card or a module costs on an FPGA."""

from __future__ import annotations

import json as json_format
from typing import Annotated

import typer

from headrace.cli import common

_EPILOG = """Examples:

headrace synth filter --target xcup

headrace synth bpf_core --target ecp5 -P PACKET_KB=32 -P MAX_FRAME=9216 --seeds 5

headrace synth host_engine --target xcup --boundaries 1

headrace synth ./mycard --target cyclonev --json

headrace synth gate/gate.sv -P WIDTH=64
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("synth", epilog=_EPILOG)(synth_command)


def synth_command(
    what: Annotated[
        str, typer.Argument(metavar="CARD|MODULE|FILE", help="A card or its folder, a module of rtl/ or its file.")
    ],
    target: Annotated[str, typer.Option(metavar="ecp5|xcup|cyclonev", help="The FPGA family.")] = "ecp5",
    parameter: common.Parameters = None,
    seeds: Annotated[int, typer.Option(min=1, help="ecp5: runs of place and route; the median counts.")] = 3,
    no_pnr: Annotated[bool, typer.Option("--no-pnr", help="ecp5: don't place and route, so no Fmax.")] = False,
    boundaries: Annotated[
        int, typer.Option(min=0, help="For large designs: number of levels whose module boundaries are kept.")
    ] = 0,
    router: Annotated[
        str,
        typer.Option(metavar="router1|router2", help="ecp5: nextpnr's router; router2 for designs that fill a device."),
    ] = "router1",
    speed_grade: Annotated[
        str, typer.Option(metavar="6|7|8", help="ecp5: speed grade of the device; 6 is the slowest.")
    ] = "6",
    depth: Annotated[int | None, typer.Option(min=0, help="Levels of hierarchy to show.")] = None,
    json: common.Json = False,
) -> None:
    """Count LUTs, flip-flops and RAMs per level of hierarchy (Yosys), and find the Fmax on ECP5 (nextpnr)."""
    from headrace import synth
    from headrace.synth.own import described

    given = common.parameters(parameter)
    with common.progress_line() as progress, described(what, given) as design:
        report = synth.run(
            design,
            target,
            given,
            pnr=not no_pnr,
            seeds=seeds,
            boundaries=boundaries,
            router=router,
            speed_grade=speed_grade,
            progress=lambda text: progress(text, None) if progress else None,
        )
    if json:
        print(json_format.dumps(report.to_json(), indent=2))
    else:
        synth.print_report(report, depth=depth)
