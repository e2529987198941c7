# SPDX-License-Identifier: Apache-2.0
"""What people are used to type to tcpdump and dumpcap: options that change nothing here, those of how packets are
printed, which tcpdump does here too, and what there is instead of others."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from headrace.cli.commands import _Command
from headrace.errors import HeadraceError

_MET = "headrace.habits"  # in a context: what was typed, in order


class Habit(NamedTuple):
    """An option of tcpdump or dumpcap. ``value``: it takes one. ``printed``: tcpdump gets it. ``chosen``: the value
    that a parameter of the command gets. ``instead``: what to use, where this is not to be had; ``{value}`` in it
    stands for the option's. All else changes nothing."""

    names: tuple[str, ...]
    value: bool = False
    printed: bool = False
    chosen: tuple[str, object] | None = None
    instead: str | None = None


def _printed(*names: str, value: bool = False) -> Habit:
    return Habit(names, value, printed=True)


def _instead(*names: str, of: str, value: bool = False) -> Habit:
    return Habit(names, value, instead=of)


_PRINTED = (
    *(_printed(f"-{letter}") for letter in "AeHNtuvxX"),
    _printed("-n"),
    _printed("-S", "--absolute-tcp-sequence-numbers"),
    _printed("-K", "--dont-verify-checksums"),
    _printed("-#", "--number"),
    _printed("--print"),
    *(_printed(f"-{letter}", value=True) for letter in "EmMT"),
)
_NOTHING = (
    Habit(("-l", "--line-buffered")),  # what is printed on a terminal, or goes into a pipe, goes at once
    Habit(("--immediate-mode",)),
    Habit(("-U", "--packet-buffered")),
    Habit(("-q", "--quiet")),
    Habit(("-g",)),
    Habit(("--count",)),
    *(Habit((name,), value=True) for name in ("--temp-dir", "--log-level", "--log-domains", "--log-file")),
)
_ELSEWHERE = (
    _instead("-I", "--monitor-mode", of="set the interface up for it first: iw dev NAME set type monitor"),
    _instead("-k", of="iw dev NAME set channel", value=True),
    _instead("-j", "--time-stamp-type", of="leave it out: packets have the kernel's times (host)", value=True),
    _instead("-J", "--list-time-stamp-types", of="there is one: host, the kernel's"),
    _instead("-Y", of="display filters run in tshark: headrace ... -w - | tshark -r - -Y '{value}'", value=True),
    _instead("-R", of="display filters run in tshark: headrace ... -w - | tshark -r - -Y '{value}'", value=True),
    _instead("-z", of="run {value} on the files afterwards", value=True),
    _instead("--capture-comment", of="add it afterwards: editcap --capture-comment '{value}' IN OUT", value=True),
    _instead("--ifname", of="the file has the link's own name", value=True),
    _instead("--ifdescr", of="the file has the link's own name", value=True),
)
_OF_CAPTURE = (
    *(_instead(f"-{letter}", of="headrace capture has it", value=True) for letter in "CGWabBQ"),
    *(
        _instead(name, of="headrace capture has it", value=True)
        for name in ("--format", "--path", "--autostop", "--ring-buffer", "--time-stamp-precision")
    ),
    *(_instead(name, of="headrace capture has it") for name in ("--micro", "--nano")),
)
_EXPRESSION = Habit(("-f",), value=True)
HABITS: dict[str, tuple[Habit, ...]] = {
    "capture": (
        *_PRINTED,
        *_NOTHING,
        *_ELSEWHERE,
        *(Habit((f"--{unit}",), chosen=("precision", unit)) for unit in ("micro", "nano")),
    ),
    "filter": (*_PRINTED, *_NOTHING, *_ELSEWHERE, *_OF_CAPTURE),
    "measure": (
        *_PRINTED,
        *_NOTHING,
        _instead("-w", of="measure counts; headrace filter writes packets", value=True),
        _instead("-F", of="name the program: @{value}", value=True),
        Habit(("-s", "--snapshot-length"), value=True),
        Habit(("-O", "--no-optimize")),
        *_ELSEWHERE,
        *_OF_CAPTURE,
    ),
}
"""By command. An option that the command has itself goes before."""
_LONG = {
    "--interface": "-i",
    "--snapshot-length": "-s",
    "--linktype": "-y",
    "--relinquish-privileges": "-Z",
    "--no-optimize": "-O",
    "--direction": "-Q",
    "--buffer-size": "-B",
    "--autostop": "-a",
    "--ring-buffer": "-b",
    "--list-interfaces": "-D",
    "--list-data-link-types": "-L",
    "--no-promiscuous-mode": "-p",
}
"""Longer names of options that a command has."""


class _Met(NamedTuple):
    habit: Habit
    name: str
    value: str | None


class HabitsCommand(_Command):
    """A command that understands what is typed to tcpdump and dumpcap."""

    def make_parser(self, ctx: Any) -> Any:
        """As click's, with the habits of the command; what was typed of them is kept in the context."""
        parser: Any = super().make_parser(ctx)
        known = {name for each in self.get_params(ctx) for name in each.opts}
        for name, short in _LONG.items():
            if short in known:
                parser._long_opt[name] = parser._short_opt[short]
                known.add(name)
        habits = {}
        for habit in (*HABITS[self.name or ""], _EXPRESSION):
            for name in habit.names:
                if name not in known:
                    habits[name] = habit
                    action = "append" if habit.value else "append_const"
                    parser.add_option(obj=habit, opts=[name], dest=name, action=action, const=None)
        plain = parser.parse_args

        def parse_args(args: list[str]) -> tuple[dict[str, Any], list[str], list[Any]]:
            options, rest, order = plain(args=args)
            typed = [_Met(habit, name, value) for name, habit in habits.items() for value in options.pop(name, [])]
            ctx.meta[_MET] = typed
            return options, rest, [each for each in order if not isinstance(each, Habit)]

        parser.parse_args = parse_args
        return parser

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; tcpdump prints where an option of how it prints is there, and no -w."""
        met: list[_Met] = ctx.meta.get(_MET, [])
        for habit, name, value in met:
            if habit.instead is not None and (name, value) not in (("-j", "host"), ("--time-stamp-type", "host")):
                raise HeadraceError(f"{name}{f' {value}' if value else ''}: {habit.instead.format(value=value)}", 2)
            if habit.chosen is not None:
                ctx.params[habit.chosen[0]] = habit.chosen[1]
        if expressions := [each.value for each in met if each.habit is _EXPRESSION]:
            if len(expressions) > 1 or ctx.params["words"]:
                raise HeadraceError("-f: two filters: give one", 2)
            ctx.params["words"] = expressions
        if misread := next((each for each in ctx.params["parameter"] or [] if each.startswith("-")), None):
            raise HeadraceError(f"-P {misread}: -P sets a parameter, NAME=VALUE; --format pcap is dumpcap's -P", 2)
        options = [part for each in met if each.habit.printed for part in (each.name, each.value) if part]
        if not options or "write" not in ctx.params or ctx.params.get("dump"):
            return super().invoke(ctx)
        if ctx.params["write"]:
            if "--print" in options:
                raise HeadraceError("--print: leave -w out, or print the file afterwards: tcpdump -r FILE", 2)
            return super().invoke(ctx)
        if ctx.params.get("also"):
            raise HeadraceError(f"{options[0]}: only one filter's matches can be printed: leave --also out", 2)
        ctx.params["write"] = ["-"] if self.name == "filter" else "-"
        with _printing([each for each in options if each != "--print"]):
            return super().invoke(ctx)


@contextmanager
def _printing(options: Sequence[str]) -> Iterator[None]:
    """What is written to the standard output meanwhile is a capture, which tcpdump prints there."""
    if shutil.which("tcpdump") is None:
        why = "tcpdump, which prints packets, is missing: apt install tcpdump"
        raise HeadraceError(f"{options[0] if options else '--print'}: {why}")
    sys.stdout.flush()
    printed = _stdout()
    end, into = os.pipe()
    thread = threading.Thread(target=_print, args=(["tcpdump", "-l", *options, "-r", "-"], end, os.dup(printed)))
    kept = os.dup(1)
    os.dup2(into, 1)
    os.close(into)
    thread.start()
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        thread.join()


def _print(command: Sequence[str], end: int, printed: int) -> None:
    """Has tcpdump print what comes by a pipe, if anything does; but for where it reads from."""
    with open(end, "rb", buffering=0) as pipe, open(printed, "wb") as out:
        waiting = select.poll()
        waiting.register(pipe, select.POLLIN)
        if not waiting.poll()[0][1] & select.POLLIN:
            return
        # Ctrl-C isn't for it: it ends when there is nothing more.
        with subprocess.Popen(
            command, stdin=pipe, stdout=out, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as tcpdump:
            pipe.close()
            assert tcpdump.stderr is not None
            for line in tcpdump.stderr:
                if not line.startswith("reading from file -"):
                    print(line, end="", file=sys.stderr, flush=True)


def _stdout() -> int:
    """What stdout is for Python, which need not be descriptor 1."""
    try:
        return sys.stdout.fileno()
    except OSError:
        return 1
