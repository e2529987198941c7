# SPDX-License-Identifier: Apache-2.0
"""What a shell can complete a command line of ``headrace`` with, and the scripts by which shells ask."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer._click.shell_completion import CompletionItem, _resolve_context, _resolve_incomplete, split_arg_string
from typer.core import TyperGroup

from headrace import paths
from headrace.cli.commands import AllCommands, Commands
from headrace.errors import HeadraceError

_BASH = r"""# Completion of headrace in bash.
_headrace() {
    local IFS=$'\n'
    COMPREPLY=($(HEADRACE_COMPLETE=bash "$1" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    [[ ${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace
    return 0
}
complete -o default -F _headrace headrace
"""
_ZSH = r"""#compdef headrace
# Completion of headrace in zsh.
_headrace() {
    local -a found open whole
    found=("${(@f)$(HEADRACE_COMPLETE=zsh "${words[1]}" "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    found=("${(@)found:#}")
    (( $#found )) || { _files; return }
    open=("${(@M)found:#*([=]|\\:):*}")
    whole=("${(@)found:#*([=]|\\:):*}")
    _describe headrace whole -- open -S ''
}
if [[ $funcstack[1] == _headrace ]]; then _headrace "$@"; else compdef _headrace headrace; fi
"""
_FISH = r"""# Completion of headrace in fish.
function __headrace
    set -l typed (commandline -opc)
    set -l line (commandline -cp)
    set -l found (env HEADRACE_COMPLETE=fish $typed[1] "$line" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c headrace -f -a '(__headrace)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_PLACES = {  # in the home folder
    "bash": ".local/share/bash-completion/completions/headrace",
    "zsh": ".zfunc/_headrace",
    "fish": ".config/fish/completions/headrace.fish",
}
_KINDS = ("iface:", "xdp:", "tap:")
_LINK = re.compile(r"((?:[\w:]+=)?(?:iface|xdp|tap):)[^,]*")
_CHOICES = re.compile(r"[a-z]\w*")


def shell_of(name: str | None) -> str:
    """The shell of a name, or of $SHELL. Raises HeadraceError for one that there is no script for."""
    shell = name or Path(os.environ.get("SHELL", "")).name
    if shell not in SCRIPTS:
        raise HeadraceError(f"{shell or 'no shell'}: none of {', '.join(SCRIPTS)}", 2)
    return shell


def install(shell: str) -> str:
    """Writes the script of a shell where the shell looks for it; gives what to tell the user. Raises OSError."""
    place = Path.home() / _PLACES[shell]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(SCRIPTS[shell])
    if shell == "zsh":
        return f"{place}: with 'fpath=(~/.zfunc $fpath)' before 'compinit' in ~/.zshrc, new shells complete headrace"
    return f"{place}: new shells complete headrace"


def answer(commands: Any, shell: str, line: str = "") -> int:
    """Prints for the script of a shell what the last word of a line can become, one a line; gives an exit code."""
    words = split_arg_string(line)[1:]
    incomplete = "" if line[-1:].isspace() or not words else words.pop()
    for item in candidates(commands, words, incomplete):
        value, about = str(item.value), " ".join((item.help or "").split())
        if shell == "bash":  # for which a word begins behind a : or =
            print(value[max(incomplete.rfind(":"), incomplete.rfind("=")) + 1 :])
        elif shell == "zsh":
            print(value.replace("\\", "\\\\").replace(":", r"\:") + ":" + about)
        else:
            print(f"{value}\t{about}")
    return 0


def candidates(commands: Any, words: list[str], incomplete: str) -> list[CompletionItem]:
    """What ``incomplete``, behind the other words of a command line, can become; none where it may be a file."""
    whole = words[:-1] if words and words[-1].startswith("-") else words  # an option without its value is an error
    context = _resolve_context(commands, {}, "headrace", whole)
    target, incomplete = _resolve_incomplete(context, words, incomplete)
    if isinstance(target, AllCommands) and not incomplete.startswith("-"):
        return [CompletionItem(name) for name in Commands() if name.startswith(incomplete)]
    if isinstance(target, TyperGroup) or not hasattr(target, "metavar"):
        return target.shell_complete(context, incomplete)
    return [item for item in _values(context, target, incomplete) if str(item.value).startswith(incomplete)]


def _values(context: Any, parameter: Any, incomplete: str) -> Iterator[CompletionItem]:
    """What a parameter's value may be, as far as that can be listed."""
    metavar, options = str(parameter.metavar or ""), getattr(parameter, "opts", ())
    if link := _LINK.fullmatch(incomplete):
        yield from (CompletionItem(link[1] + name) for name in _interfaces())
    elif "-P" in options:
        yield from _parameters(context, incomplete)
    elif metavar == "SOURCE":
        yield from map(CompletionItem, (*_KINDS, *_interfaces()))
    elif "--interface" in options:
        yield from map(CompletionItem, _interfaces())
    elif "CARD" in metavar or "--card" in options:
        yield from map(CompletionItem, _cards())
    elif context.info_name == "help":
        yield from _commands(context)
    elif incomplete:  # else it may be a file
        start = incomplete[: incomplete.rfind("=") + 1]
        yield from (CompletionItem(start + kind) for kind in _KINDS if kind.startswith(incomplete[len(start) :]))
    if "|" in metavar:
        yield from (CompletionItem(word) for word in metavar.strip("[]").split("|") if _CHOICES.fullmatch(word))


def _commands(context: Any) -> Iterator[CompletionItem]:
    command: Any = context.parent.command
    for name in context.params["command"] or ():
        command = getattr(command, "commands", {}).get(name)
    yield from map(CompletionItem, getattr(command, "commands", ()))


def _interfaces() -> list[str]:
    return sorted(name for _, name in socket.if_nameindex())


def _cards() -> list[str]:
    return sorted(path.stem for path in paths.cards().glob("*.toml"))


def _parameters(context: Any, incomplete: str) -> Iterator[CompletionItem]:
    from headrace.build.description import load_card

    command = context.command_path.split()[1]
    card = command if command in _cards() else next(filter(None, map(context.params.get, ("card", "what"))), "filter")
    try:
        known = load_card(card).parameters.values()
    except HeadraceError:
        return
    for each in known:
        if not incomplete.startswith(f"{each.name}="):
            yield CompletionItem(f"{each.name}=", help=each.help)
        else:
            yield from (CompletionItem(f"{each.name}={value}") for value in each.choices or (each.default,))
