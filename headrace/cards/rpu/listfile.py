"""Text files of which each line counts for itself: what can't be used is left out and told, or refused."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import NamedTuple

from headrace.errors import HeadraceError

_NAMED = 3  # lines that are left out


class Skipped(NamedTuple):
    """A line that is left out, and why."""

    line: int
    reason: str


def read_text(path: str | Path) -> str:
    """A file whose bytes are its characters, but for a byte order mark. Raises HeadraceError."""
    try:
        return Path(path).read_bytes().removeprefix(codecs.BOM_UTF8).decode("latin-1")
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None


def skip(path: str | Path, skipped: list[Skipped], line: int, error: ValueError, strict: bool) -> None:
    """Leaves a line out for what is wrong with it. ``strict``: raises HeadraceError, file:line first."""
    what = Skipped(line, " ".join(str(error).split()))
    if strict:
        raise HeadraceError(f"{path}:{what.line}: {what.reason}")
    skipped.append(what)


def nothing(path: str | Path, skipped: list[Skipped]) -> HeadraceError:
    """The error of a file of which no line can be used."""
    line, reason = skipped[0]
    return HeadraceError(f"{path}:{line}: {reason}; nothing in the file can be used")


def told(skipped: list[Skipped]) -> str:
    """Lines that are left out: how many, and the first of them with their reasons."""
    first = "; ".join(f"line {line}: {reason}" for line, reason in skipped[:_NAMED])
    return f"{len(skipped)} line{'s' * (len(skipped) > 1)} ({first}{'; ...' * (len(skipped) > _NAMED)})"
