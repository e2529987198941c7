"""``headrace rpu``: programs of the RPU card."""

from __future__ import annotations

import json as json_format
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common

if TYPE_CHECKING:
    from headrace.cards.rpu.elf import Program

_BUILD_EPILOG = """Examples:

headrace rpu build firewall.c

headrace rpu build main.c flows.c -o flows.elf -D TABLE_SIZE=4096 -I include

headrace rpu build forwarder -o forwarder.elf

A name without .c is that of a program that comes with Headrace.
"""

app = typer.Typer(
    name="rpu",
    help="An array of packet processors that run C firmware beside accelerators.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


@app.callback()
def _group() -> None:
    """An array of packet processors that run C firmware beside accelerators."""


@app.command("build", epilog=_BUILD_EPILOG)
def build_command(
    sources: Annotated[list[str], typer.Argument(metavar="FILE.c...", help="C and assembler files.")],
    output: Annotated[
        str | None, typer.Option("-o", metavar="FILE", help="The program.", show_default="the first file's name, .elf")
    ] = None,
    define: Annotated[list[str] | None, typer.Option("-D", metavar="NAME[=VALUE]", help="Define a macro.")] = None,
    include: Annotated[list[str] | None, typer.Option("-I", metavar="DIR", help="Look for headers here first.")] = None,
    optimisation: Annotated[
        str, typer.Option("-O", metavar="0|1|2|3|s|g|fast", help="How much the compiler optimises.")
    ] = "2",
    json: common.Json = False,
) -> None:
    """Compile firmware into a program for RPUs, and say how much of each memory it takes.

    Firmware of the Rosebud framework compiles unmodified. What the compiler says is shown as it says it.
    """
    from headrace.cards.rpu import elf, program

    target = output if output is not None else f"{Path(sources[0]).stem}.elf"
    common.check_outputs(target)
    made = program.build(
        sources,
        defines=define or [],
        includes=include or [],
        optimisation=optimisation,
        said=lambda text: print(text.rstrip(), file=sys.stderr),
    )
    shutil.copyfile(made, target)
    _show(elf.read(target), target, json)


def _show(built: Program, path: str, json: bool) -> None:
    memories = {m.name: (built.used(m.name), m.size) for m in built.memories}
    if json:
        listed = {name: {"used": used, "size": size} for name, (used, size) in memories.items()}
        print(json_format.dumps({"path": path, "entry": built.entry, "memories": listed}, indent=2))
        return
    parts = [f"{name} {used:,} of {size:,} bytes" for name, (used, size) in memories.items() if used]
    print(f"{path}: {', '.join(parts)}")
