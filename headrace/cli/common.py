"""What several commands share: option types, and progress on the terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, redirect_stdout
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from headrace.errors import HeadraceError
from headrace.net.source import Source, check_link, check_output, parse_source

if TYPE_CHECKING:
    from headrace.card.process import Tell
    from headrace.net.bpf import Filter
    from headrace.net.devices import InterfaceDrops
    from headrace.net.link_types import Contents
    from headrace.net.packed import Opened

Interface = Annotated[
    list[str] | None,
    typer.Option(
        "-i",
        "-r",
        metavar="SOURCE",
        help="Where packets come from: a capture file (- for stdin), an interface by its name or its number in -D, "
        "any, xdp:NAME, tap:NAME or gen:SPEC.",
    ),
]
ListInterfaces = Annotated[bool, typer.Option("-D", help="List interfaces, and stop.")]
ListLinkTypes = Annotated[bool, typer.Option("-L", help="List the link types of an interface, and stop.")]
NotPromiscuous = Annotated[bool, typer.Option("-p", help="Don't put a live interface into promiscuous mode.")]
Version = Annotated[bool, typer.Option("-V", "--version", help="Print versions, and stop.")]
Background = Annotated[
    bool,
    typer.Option("--background", help="Run in the background: return once it is ready, and print the process ID."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonFile = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the report as JSON.")]
Parameters = Annotated[
    list[str] | None, typer.Option("-P", metavar="NAME=VALUE", help="Set a parameter of the card; may be given again.")
]
Cores = Annotated[int | None, typer.Option(min=1, max=64, help="Filter cores of the card.", show_default="8")]
User = Annotated[
    str | None,
    typer.Option(
        "-Z",
        metavar="USER",
        help="As root: become USER once interfaces are open.",
        show_default="the user who called sudo",
    ),
]
Rate = Annotated[
    str,
    typer.Option(
        metavar="lossless|line|recorded|NG",
        help="How fast packets reach the card: at the line's rate with flow control (lossless) or without (line), at "
        "their recorded times, or at N Gb/s. Live packets come as they arrive.",
    ),
]
Seconds = Annotated[float | None, typer.Option(min=0, max=1e9, help="Stop after this card time, in seconds.")]
UpdateDocs = Annotated[
    bool, typer.Option("--update-docs", help="Write the figures into this checkout's README, docs and their images.")
]
Full = Annotated[bool, typer.Option("--full", help="All points, sizes, seeds and seconds: minutes to hours.")]
SHORT = (
    "It takes a few minutes of processor time once its models are built, and README and docs show its figures; "
    "--full takes more points, and longer."
)
"""What --help says of measurements."""
LinkType = Annotated[
    str | None,
    typer.Option("-y", metavar="LINKTYPE", help="Link type to capture, one of those that -L lists."),
]

FUNCTIONS = range(256)
_FUNCTION = "vf:"
_MISSED = re.compile(r"([\d,]+) missed$")

Progress = Callable[[str, float | None], None]
"""Called with what is being done and how much of it is done (0 to 1, or None where that isn't known)."""


def tell(line: str) -> None:
    """A line for the user, beside what a command gives."""
    print(f"headrace: {line}", file=sys.stderr, flush=True)


class _Background:
    here = False  # this process goes on after the one that was started has told that it is ready


READY = ("listening on ", "ready: ")
"""How the line begins that tells that a live source is listened to, or that a card is up."""


def background(wanted: bool, *outputs: str | None, say: Tell | None = None) -> Tell:
    """How a command tells lines: by ``say``, or ``tell``. If it is ``wanted``, the command goes on in a process of its
    own, and this one ends: once a line of ``READY`` is told, after it has printed the other's number, or with the
    other's exit code.

    Raises HeadraceError where one of ``outputs`` is the standard output, and typer.Exit in the process that ends.
    """
    say = say or tell
    if not wanted:
        return say
    if "-" in outputs:
        raise HeadraceError("--background writes nothing to the standard output: leave - out", 2)
    sys.stdout.flush()
    hears, says = os.pipe()
    if child := os.fork():
        os.close(says)
        if os.read(hears, 1):
            print(child)
            raise typer.Exit
        raise typer.Exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os.close(hears)
    _Background.here = True
    os.dup2(sys.stderr.fileno(), 1)  # else who reads the number waits until this process ends, too

    def tell_ready(line: str) -> None:
        nonlocal says
        say(line)
        if says >= 0 and line.startswith(READY):
            os.write(says, b"1")
            os.close(says)
            says = -1

    return tell_ready


def listed(version: bool, interfaces: bool) -> bool:
    """Prints versions, or interfaces as ``tcpdump -D`` does, if they are wanted, and says whether they were."""
    if version:
        from headrace.cli.develop import version_command

        version_command()
    elif interfaces:
        from headrace.net import devices

        for number, device in enumerate(devices.devices(), 1):
            print(f"{number}.{device}")
    return version or interfaces


def list_link_types(sources: list[str]) -> None:
    """Print what ``tcpdump -L`` does of an interface. Raises HeadraceError for what is none."""
    from headrace.net import devices

    source = the_source(sources) if sources else None
    if source is None or source.kind != "iface":
        raise HeadraceError("-L lists the link types of one interface: choose it by -i", 2)
    print(f"Data link types for {source.name} (use option -y to set):")
    for each in devices.link_types(source.name):
        print(f"  {each}")


def the_source(texts: list[str], not_promiscuous: bool = False) -> Source:
    """What is to be captured from: a file, a link, or an interface by its name or number. Raises HeadraceError for
    several, and as ``parse_source``."""
    from headrace.net import devices, packed

    if len(texts) > 1:
        raise HeadraceError(f"{' and '.join(texts)}: one source only; any captures on all interfaces", 2)
    text = texts[0]
    name = None if os.path.exists(text) else devices.find(text)
    if name is None and re.fullmatch(r"[\w-]+", text) and text != "-" and not os.path.exists(text):
        raise HeadraceError(f"{text}: no such file and no such interface: headrace capture -D lists interfaces")
    source = parse_source(text) if name is None else Source("iface", name)
    if not_promiscuous and source.kind == "iface":
        return Source("iface", f"{source.argument},promiscuous=no")
    return packed.recognised(source)


def check_source(source: Source) -> None:
    """Looks whether a source is there and may be opened, before a card is built for it. Raises HeadraceError."""
    from headrace.net import devices

    check_link(source.link)
    devices.check(source)


class SeveralTypes:
    """Whether packets of a source are of several link types: of a file that is known at once, of a pipe once it is
    opened. Raises HeadraceError where they are and can't be taken: not into pcapng files, nor with options that are
    ``asked`` for (empty: not)."""

    def __init__(self, source: Source, into_pcapng: bool, asked: Iterable[str]) -> None:
        from headrace.net import packed

        self._source, self._into_pcapng, self._asked = source, into_pcapng, [*filter(None, asked)]
        self._told = source.kind == "pcap" and os.path.isfile(source.argument) and packed.several_link_types(source)
        if self._told:
            self._check()

    def __bool__(self) -> bool:
        return self._told

    @property
    def _name(self) -> str:
        return "standard input" if self._source.argument == "-" else self._source.argument

    def _check(self) -> None:
        if not self._into_pcapng:
            raise HeadraceError(f"{self._name}: packets of several link types need pcapng: -w FILE.pcapng", 2)
        if self._asked:
            options = " ".join(self._asked)
            raise HeadraceError(f"{self._name}: packets of several link types: leave {options} out", 2)

    def contents(self, inside: Opened, files: ExitStack, always: bool = False) -> tuple[Contents | None, str | None]:
        """What is in the opened source if they are, or ``always``, and why not all of it (None: it is all); ``files``
        closes it."""
        from headrace.net import packed
        from headrace.net.link_types import Contents

        where = self._source
        if not os.path.isfile(where.argument) and packed.several_link_types(inside.source):
            self._check()
            self._told, where = True, inside.source
        if not (self._told or always):
            return None, None
        whole, cut = packed.whole(where, files)
        return Contents(whole, self._name), cut


def anew(rate: str, timestamps: str = "", snaplen: int | None = None) -> tuple[str, ...]:
    """Options that are given with which packets are written anew; an empty one for each that isn't."""
    return (
        "-s" * bool(snaplen),
        "--rate recorded" * (rate == "recorded"),
        "--timestamps card" * (timestamps == "card"),
    )


def optimise(when: str) -> None:
    """When this process, and those that it starts, compile cards with optimisation, unless the user says so: as
    ``toolchain.when_optimised``."""
    os.environ.setdefault("HEADRACE_OPTIMISE", when)


def build_before(source: Source, card: str, parameters: Mapping[str, Any], trace: bool, progress: bool) -> None:
    """Builds the card that is to take a live source's packets, before it is opened: what came during the build would
    fill its buffers. Raises HeadraceError as ``build_card``."""
    if source.live:
        from headrace.build import models

        models.build_card(card, parameters, trace=trace, progress=progress)


def with_drops(tell: Tell, drops: InterfaceDrops) -> Tell:
    """``tell``, which says apart how many of the packets that a line calls missed the interface had no room for."""

    def apart(missed: re.Match[str]) -> str:
        by_interface = drops.count
        by_kernel = max(0, int(missed[1].replace(",", "")) - by_interface)
        return f"{by_kernel:,} dropped by kernel, {by_interface:,} dropped by interface" if by_interface else missed[0]

    return lambda line: tell(_MISSED.sub(apart, line))


def check_links(links: Iterable[str]) -> None:
    """``check_source`` of what ports and functions are linked with."""
    for link in links:
        if link.startswith("vhost:"):
            check_output(link.removeprefix("vhost:"))
        elif link.partition(":")[0] not in ("null", "port"):
            check_source(parse_source(link))


Job = TypeVar("Job")


@contextmanager
def unpacked(job: Job) -> Iterator[Job]:
    """A card's job that reads what is in packed captures: of its ``link`` or ``links``, or of its ``sources``, and
    ``functions`` if it has some. The emulated links of a switch's job stay as they are.

    Raises HeadraceError at the end where not all of one could be unpacked.
    """
    from headrace.net import packed

    inside = []
    with ExitStack() as stack:

        def link(text: str) -> str:
            if text.partition(":")[0] in ("null", "port", "vhost"):
                return text
            opened = stack.enter_context(packed.opened(packed.recognised(parse_source(text))))
            inside.append(opened)
            return opened.source.link

        def each(of: Any) -> Any:
            if isinstance(of, dict):
                return {port: link(text) if isinstance(text, str) else text for port, text in of.items()}
            return link(of) if isinstance(of, str) else tuple(map(link, of))

        names = ("link", "links", "sources", "functions")
        links = {name: each(getattr(job, name)) for name in names if hasattr(job, name)}
        yield replace(job, **links)  # type: ignore[type-var]
        for opened in inside:
            if (fault := opened.fault(None)) is not None:
                raise HeadraceError(fault)


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
            raise HeadraceError(f"{option} {text}: {prefix}{number} is given twice", 2)
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
    """Raise HeadraceError for a file that can't be written, is given twice or is what a port receives, before a card is
    built for it. ``ports``: N=LINK each."""
    given = [path for path in paths if path]
    sources = [text.partition("=")[2].removeprefix("pcap:") for text in ports]
    for number, path in enumerate(given):
        check_output(path)
        if path == os.devnull:
            continue
        if any(same_file(path, other) for other in given[:number]):
            raise HeadraceError(f"-w {path}: given for two captures", 2)
        if path != "-" and any(same_file(path, source) for source in sources):
            raise HeadraceError(f"-w {path}: a port's source is the same file", 2)


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


def show_table(rows: Sequence[Mapping[str, str]], numbers: Container[str], keys: int = 1) -> None:
    """Print a table: headings and cells of each column, those of ``numbers`` to the right. On a terminal that is too
    narrow it is broken into blocks, each of which begins with the first ``keys`` columns; elsewhere lines are never
    broken, so that other programs can read them."""
    names = list(rows[0])
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    blocks, used = [names[:keys]], 0
    for name in names[keys:]:
        used = sum(widths[each] + _GAP for each in blocks[-1])
        if most is not None and used + widths[name] > most and len(blocks[-1]) > keys:
            blocks.append(names[:keys])
        blocks[-1].append(name)
    for number, block in enumerate(blocks):
        if number:
            print()
        for row in ({name: name for name in block}, *rows):
            cells = (
                row[each].rjust(widths[each]) if each in numbers else row[each].ljust(widths[each]) for each in block
            )
            print((" " * _GAP).join(cells).rstrip())


_GAP = 2  # between columns
_EVERY_S = 15  # between lines where there is no terminal


def _lines() -> Progress:
    """Says on stderr what is done: at once when that changes, and then now and then."""
    last, ended, when = "", False, 0.0

    def show(what: str, done: float | None) -> None:
        nonlocal last, ended, when
        now = time.monotonic()
        if what != last or now - when >= _EVERY_S or (done == 1 and not ended):
            print(what if done is None else f"{what} {done:.0%}", file=sys.stderr, flush=True)
            last, ended, when = what, done == 1, now

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
    """A line on the terminal that shows how far a command is; None where stderr isn't a terminal, or in the background.

    The line appears with the first report, so that a build before it can show a line of its own: builds do so anyway.
    """
    from headrace.build import toolchain

    if _Background.here or not sys.stderr.isatty():
        with toolchain.Announced():
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
