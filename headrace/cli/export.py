# SPDX-License-Identifier: Apache-2.0
"""``headrace export``: a block or card for use outside of Headrace."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli import common

_EPILOG = """Examples:

headrace export stream_fifo --to fifo

headrace export exact_table --to table -P KEY_W=48 --fusesoc --vivado

headrace export filter --to filter_rtl --filelist --bender --quartus

headrace export ./mycard --to mycard_rtl --vivado

headrace export gate/gate.sv --to gate_rtl --fusesoc
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", epilog=_EPILOG)(export_command)


def export_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="BLOCK|CARD",
            help="A module of rtl/, a card, the .sv file of a block of your own, or the folder of a card.",
        ),
    ],
    to: Annotated[str, typer.Option("--to", metavar="DIR", help="The folder; made if it isn't there.")],
    filelist: Annotated[bool, typer.Option("--filelist", help="A list of files, for -F; the default.")] = False,
    fusesoc: Annotated[bool, typer.Option("--fusesoc", help="A core file for FuseSoC.")] = False,
    bender: Annotated[bool, typer.Option("--bender", help="A manifest for Bender.")] = False,
    vivado: Annotated[bool, typer.Option("--vivado", help="Scripts for Vivado: synthesis, and an IP.")] = False,
    quartus: Annotated[bool, typer.Option("--quartus", help="A .qip and a script for Quartus.")] = False,
    parameter: common.Parameters = None,
    mhz: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=10_000, help="Frequency of the clocks in the constraints.", show_default="a card's, or 250"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write also into a folder that has files.")] = False,
) -> None:
    """Write a block or card with everything that it needs into a folder, for other tools and projects.

    RTL with its packages, headers and registers, constraints, a wrapper with plain ports, a template to instantiate it,
    a README and the licence, and the files for the tools that are named.
    """
    from headrace.export import export

    chosen = {"filelist": filelist, "fusesoc": fusesoc, "bender": bender, "vivado": vivado, "quartus": quartus}
    forms = [form for form, is_chosen in chosen.items() if is_chosen]
    for path in export(what, to, forms, common.parameters(parameter), mhz=mhz, force=force):
        print(path)
