"""What several commands share: option types, and progress on the terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.errors import HeadraceError
from headrace.net.source import check_output

if TYPE_CHECKING:
    from headrace.net.bpf import Filter
    from headrace.net.source import Source

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonFile = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the report as JSON.")]
Parameters = Annotated[
    list[str] | None, typer.Option("-P", metavar="NAME=VALUE", help="Set a parameter of the card; may be given again.")
]
Cores = Annotated[int | None, typer.Option(min=1, max=64, help="Filter cores of the card.", show_default="8")]
User = Annotated[
    str | None,
    typer.Option(
        "-Z", metavar="USER", help="If root, become USER once interfaces are open.", show_default="who has called sudo"
    ),
]
Rate = Annotated[
    str,
    typer.Option(
        metavar="lossless|line|recorded|NG",
        help="How packets are offered: at the line's rate but held off while the card can't keep up (lossless), at the "
        "line's rate whatever happens (line), at their recorded times, or at N Gb/s. Live packets come when they come.",
    ),
]
Seconds = Annotated[float | None, typer.Option(min=0, max=1e9, help="End after so much of the card's time.")]
UpdateDocs = Annotated[
    bool, typer.Option("--update-docs", help="Write the figures into this checkout's README, docs and their images.")
]
Full = Annotated[bool, typer.Option("--full", help="All points, sizes, seeds and seconds: minutes to hours.")]
SHORT = (
    "It takes a few minutes of processor time once its models are built, and is what README and docs show; "
    "--full takes more points, and longer."
)
"""What --help says of measurements."""
LinkType = Annotated[
    str | None, typer.Option("-y", metavar="LINKTYPE", help="Of those that an interface has, the link type to capture.")
]

FUNCTIONS = range(256)
_FUNCTION = "vf:"

Progress = Callable[[str, float | None], None]
"""Called with what is being done and how much of it is done (0 to 1, or None where that isn't known)."""


def tell(line: str) -> None:
    """A line for the user, beside what a command gives."""
    print(f"headrace: {line}", file=sys.stderr, flush=True)


def parameters(settings: list[str] | None) -> dict[str, str]:
    """NAME=VALUE strings as a mapping. Raises HeadraceError where one has no name or no =."""
    result: dict[str, str] = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise HeadraceError(f"-P {setting}: not NAME=VALUE", 2)
        result[name] = value
    return result


def by_number(texts: list[str] | None, option: str, numbers: range, prefix: str = "") -> dict[int, str]:
    """What values of an option such as ``3=in.pcap`` say by number. Raises HeadraceError where one has none of
    ``numbers``."""
    found: dict[int, str] = {}
    for text in texts or []:
        number, equals, what = text.removeprefix(prefix).partition("=")
        if not equals or not number.isdecimal() or int(number) not in numbers:
            where = f"N from {numbers[0]} to {numbers[-1]}"
            raise HeadraceError(f"{option} {text}: not {prefix}N=..., with {where}", 2)
        if int(number) in found:
            raise HeadraceError(f"{option} {text}: {prefix}{number} is there twice", 2)
        found[int(number)] = what
    return found


def split_functions(texts: list[str] | None, option: str = "--port") -> tuple[dict[int, str], list[str]]:
    """What values of an option such as ``vf:0=tap:h0`` say of virtual functions, by number, and its other values.
    Raises HeadraceError as ``by_number``."""
    others = [text for text in texts or [] if not text.startswith(_FUNCTION)]
    mine = [text for text in texts or [] if text.startswith(_FUNCTION)]
    return by_number(mine, option, FUNCTIONS, _FUNCTION), others


def same_file(one: str, other: str) -> bool:
    """Whether two paths are one file, by whatever links, or would be once it is made."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def check_outputs(*paths: str | None, ports: Iterable[str] = ()) -> None:
    """Raise HeadraceError for a file that can't be written, is there twice or is what a port receives, before a card is
    built for it. ``ports``: N=LINK each."""
    given = [path for path in paths if path]
    sources = [text.partition("=")[2].removeprefix("pcap:") for text in ports]
    for number, path in enumerate(given):
        check_output(path)
        if path == os.devnull:
            continue
        if any(same_file(path, other) for other in given[:number]):
            raise HeadraceError(f"-w {path}: two captures in one file", 2)
        if path != "-" and any(same_file(path, source) for source in sources):
            raise HeadraceError(f"-w {path}: is what a port receives", 2)


def beside(paths: Iterable[str]) -> AbstractContextManager[object]:
    """What is printed goes to stderr where stdout is one of the captures."""
    return redirect_stdout(sys.stderr) if "-" in paths else nullcontext()


def as_shown(full: bool, update_docs: bool) -> None:
    """Raise HeadraceError where another form would be published than README and docs show."""
    if full and update_docs:
        raise HeadraceError("--update-docs writes the form that README and docs show: leave out --full", 2)


def become(user: str | None) -> None:
    """Goes on as another user, if this is root: see ``headrace.card.process.become``."""
    from headrace.card import process

    if os.geteuid() == 0:  # what is used at the end may lie where the user can't read
        import headrace.evaluate.report  # noqa: F401
    process.become(user)


def one_of(option: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise HeadraceError unless the value of an option is one of ``choices``."""
    if value not in choices:
        raise HeadraceError(f"{option} {value}: none of {', '.join(choices)}", 2)


def ask(card: str, control: str | None, **request: Any) -> dict[str, Any]:
    """What a running card answers at its control socket; None: the usual one. Raises HeadraceError."""
    from headrace.card import control as sockets

    owner = import_module(f"headrace.cards.{card}.service").CONTROL
    become(None)  # the socket is in the folder of who has called sudo
    return sockets.ask(owner, control, request)


_EVERY_S = 15  # between lines where there is no terminal


def _lines() -> Progress:
    """Says on stderr what is done: at once when that changes, and then now and then."""
    last, when = "", 0.0

    def show(what: str, done: float | None) -> None:
        nonlocal last, when
        now = time.monotonic()
        if what != last or now - when >= _EVERY_S or done == 1:
            print(what if done is None else f"{what} {done:.0%}", file=sys.stderr, flush=True)
            last, when = what, now

    return show


@contextmanager
def long_progress() -> Iterator[Progress]:
    """The progress of a command that takes minutes: ``progress_line``, or lines now and then without a terminal."""
    with progress_line() as progress:
        yield progress or _lines()


def dump(wanted: Filter, source: Source | None, linktype: str | None, option: int) -> None:
    """Print the program of a filter as ``-d``, ``-dd`` and ``-ddd`` do (option 1, 2, 3), for packets of a source, or of
    a link type where there is none. Raises FilterError as `bpf.compile` does."""
    from headrace.net import bpf

    link = source.format() if source is not None else None
    if link is None:
        link = bpf.LinkFormat(bpf.DLT_EN10MB if linktype is None else bpf.link_number(linktype), live=True)
    print(bpf.dump(bpf.for_link(wanted, link, source.argument if source else "-y"), option), end="")


@contextmanager
def progress_line() -> Iterator[Progress | None]:
    """A line on the terminal that shows how far a command is; None where stderr isn't a terminal.

    The line appears with the first report, so that a build before it can show a line of its own.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.SpinnerColumn(),
        rich_progress.TextColumn("{task.description}"),
        rich_progress.TimeElapsedColumn(),
    )
    bars = rich_progress.Progress(*columns, console=Console(stderr=True), transient=True)

    def show(what: str, done: float | None) -> None:
        if not bars.tasks:
            bars.add_task("", total=None)
            bars.start()
        bars.update(bars.task_ids[0], description=what if done is None else f"{what} {done:.0%}")

    try:
        yield show
    finally:
        bars.stop()
