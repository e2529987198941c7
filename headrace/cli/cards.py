"""``headrace cards``, ``build`` and ``cache``: what can be run, and the models that are ready to run."""

from __future__ import annotations

import json as json_format
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common

if TYPE_CHECKING:
    from headrace.build.description import CardDescription
    from headrace.build.models import CachedModel

_BUILD_EPILOG = """Examples:

headrace build filter

headrace build filter -P CORES=16 -P DATA_W=1024

headrace build switch -P PORTS=4 --profile

headrace build ./mycard --trace
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("cards", epilog="Example:\n\nheadrace cards --json")(cards_command)
    app.command("build", epilog=_BUILD_EPILOG)(build_command)
    app.command("cache", epilog="Examples:\n\nheadrace cache\n\nheadrace cache --clear")(cache_command)


def cards_command(json: common.Json = False) -> None:
    """List the cards with their parameters."""
    from headrace.build.description import list_cards

    cards = list_cards()
    if json:
        print(json_format.dumps([_as_json(card) for card in cards], indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for card in cards:
        console.print(f"[bold]{card.name}[/]  {card.description}")
        console.print(f"  {card.port_count(card.resolve())} ports, {card.clock_hz / 1e6:g} MHz", highlight=False)
        table = Table.grid(padding=(0, 2))
        for parameter in card.parameters.values():
            table.add_row(f"  -P {parameter.name}={parameter.default}", parameter.help, f"[dim]{parameter.allowed}[/]")
        console.print(table)


def _as_json(card: CardDescription) -> dict[str, object]:
    return {
        "name": card.name,
        "description": card.description,
        "ports": card.port_count(card.resolve()),
        "clock_hz": card.clock_hz,
        "parameters": {
            p.name: {"default": p.default, "allowed": p.allowed, "help": p.help} for p in card.parameters.values()
        },
    }


def build_command(
    card: Annotated[str, typer.Argument(metavar="CARD", help="A card's name, its folder, or its .toml file.")],
    parameter: common.Parameters = None,
    trace: Annotated[bool, typer.Option("--trace", help="Build the model that can record signals.")] = False,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile",
            help="Compile by the profile of a run: the next one of 5 s and more gathers it, somewhat slower, and the "
            "model is built in the background then, or by this command. Takes clang++.",
        ),
    ] = False,
) -> None:
    """Compile a card before its first use, and print the model's path.

    A model is kept until its sources, parameters or tools change. Commands that run a card build it, too: first without
    optimisation, which takes less time, and once it has run for some seconds with it, in the background.
    """
    from headrace.build.libraries import harness_library
    from headrace.build.models import build_card, build_profiled

    settings = common.parameters(parameter)
    if profile:
        library = build_profiled(card, settings, trace=trace)
    else:
        library = build_card(card, settings, trace=trace, optimised=True)
    harness_library(progress=True, first=False)
    print(library)


def cache_command(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all models.")] = False, json: common.Json = False
) -> None:
    """List the compiled models, or remove them."""
    from headrace.build.models import cache_clear, cache_list

    if clear:
        freed = cache_clear()
        print(json_format.dumps({"freed_bytes": freed}) if json else f"freed {freed / 1e6:,.1f} MB")
        return
    models = cache_list()
    if json:
        print(json_format.dumps([{**asdict(model), "path": str(model.path)} for model in models], indent=2))
        return
    _print_models(models)


def _print_models(models: list[CachedModel]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("card")
    table.add_column("parameters", overflow="fold")
    table.add_column("trace")
    table.add_column("optimised")
    table.add_column("MB", justify="right")
    table.add_column("built", no_wrap=True)
    table.add_column("in s", justify="right")
    for model in models:
        settings = " ".join(f"{name}={value}" for name, value in model.parameters.items())
        built = datetime.fromtimestamp(model.built_at).strftime("%Y-%m-%d %H:%M")
        trace = "yes" if model.trace else ""
        optimised = "by a profile" if model.profiled else "yes" if model.optimised else ""
        table.add_row(model.card, settings, trace, optimised, f"{model.size / 1e6:.1f}", built, f"{model.build_s:.0f}")
    Console().print(table if models else "no models are built")
