"""The command line: ``headrace COMMAND``. Each command calls a function of the package that a notebook could call.

Exit codes: 0 done; 1 something failed while running, broken input included; 2 wrong usage or a wrong filter;
130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from headrace.cli import extras
from headrace.cli.commands import AllCommands
from headrace.errors import HeadraceError

app = typer.Typer(
    name="headrace",
    cls=AllCommands,
    help="Packet processing cards in RTL: build them, run real captures through them, measure them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import headrace

        print(f"headrace {headrace.__version__}")
        raise typer.Exit


@app.callback()
def _headrace(
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_show_version, help="Print the version and end.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (default: that of the process) and return its exit code; errors are one line on stderr."""
    os.environ["PYTHONSAFEPATH"] = "1"  # no Python that we start takes modules from the current folder
    try:
        if shell := os.environ.pop("HEADRACE_COMPLETE", None):  # how the scripts of headrace completion ask
            from headrace.cli import completion

            return completion.answer(typer.main.get_group(app), shell, *sys.argv[1:])
        code = typer.main.get_group(app)(arguments, prog_name="headrace", standalone_mode=False)
        sys.stdout.flush()
    except HeadraceError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(" ".join(error.format_message().split()), error.exit_code)
    except typer.Abort:
        return _fail("aborted", 1)
    except SystemExit as end:  # how typer and rich end when the reader of the output has gone
        return _reader_gone() if end.code == 1 else int(end.code or 0)
    except BrokenPipeError:
        return _reader_gone()
    except ModuleNotFoundError as error:
        needed = extras.needed(error, sys.argv[1:] if arguments is None else arguments)
        if needed is None:
            raise
        return _fail(needed, 1)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    return _fail("interrupted", 130) if code == 130 else int(code or 0)


def _reader_gone() -> int:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit finds no error
    return 1


def _fail(message: str, code: int) -> int:
    if message:  # it is empty where the help has been shown instead
        print(f"headrace: {message}", file=sys.stderr)
    return code
