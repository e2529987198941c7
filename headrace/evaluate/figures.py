"""The committed figures: docs/figures.json holds all of them, by the command that measures them; pages are filled.

A command's entry says when it was measured, whether it is place and route, the processor time that it took, on which
files (digests, as ``headrace.evaluate.measured`` makes them), and its values by name. A table is a list of lines. In a
page, a value stands between ``<!--=NAME-->`` and ``<!--/-->``. When the files have changed since, the page says so:
below each table, and in the slot ``GROUP.stale`` beside single values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.evaluate.measured import Measurement, Sources

FILE = "docs/figures.json"
NOTE = "*Measured before the last change.*"
"""What a page says of stale figures."""

_STALE = "stale"
_SLOT = re.compile(r"<!--=([\w.-]+)-->(.*?)<!--/-->", re.DOTALL)
_NAMED = 3  # files that are named where a line must do


@dataclass(frozen=True)
class Entry:
    """What a command has measured. ``files``: digests by path; none where only the values are known, of figures that
    are older than this record. ``processor_s``: seconds that it took, builds of models included; None where that isn't
    known."""

    date: str
    fit: bool
    values: Mapping[str, str]
    files: Mapping[str, str]
    processor_s: float | None = None

    def changed(self, now: Mapping[str, str]) -> list[str]:
        """Files that are others now, are new or are gone."""
        return sorted(path for path in now.keys() | self.files.keys() if now.get(path) != self.files.get(path))


@dataclass(frozen=True)
class Stale:
    """Figures that are out of date, and which files have changed; none where that isn't known."""

    measurement: Measurement
    changed: tuple[str, ...]
    measured: bool = True

    @property
    def what(self) -> str:
        """In a few words."""
        if not self.changed:
            return "measured before its files were recorded" if self.measured else "never measured"
        more = len(self.changed) - _NAMED
        named = ", ".join(self.changed[:_NAMED] if more > 1 else self.changed)
        return f"{named} and {more} more changed" if more > 1 else f"{named} changed"

    def __str__(self) -> str:
        return f"headrace {self.measurement.command}: {self.what}"


def read(root: Path) -> dict[str, Entry]:
    """All entries of a tree, by command. Raises HeadraceError where there is no such file, or it isn't what it should
    be."""
    path = root / FILE
    try:
        return {command: _entry(data) for command, data in json.loads(path.read_text()).items()}
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeadraceError(f"{path}: {type(error).__name__}: {error}") from None


def _entry(data: Mapping[str, Any]) -> Entry:
    values = {name: value if isinstance(value, str) else "\n".join(value) for name, value in data["values"].items()}
    return Entry(data["date"], data["fit"], values, data["files"], data.get("processor_s"))


def to_json(entry: Entry) -> dict[str, Any]:
    """As the file has it."""
    values = {name: value.split("\n") if "\n" in value else value for name, value in entry.values.items()}
    took = {} if entry.processor_s is None else {"processor_s": entry.processor_s}
    return {"date": entry.date, "fit": entry.fit, **took, "values": values, "files": dict(entry.files)}


def write(entries: Mapping[str, Entry], root: Path) -> None:
    """Writes the file. Raises HeadraceError."""
    data = {command: to_json(entries[command]) for command in sorted(entries)}
    try:
        (root / FILE).write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise HeadraceError(f"{root / FILE}: {error.strerror}") from None


def record(
    measurement: Measurement, values: Mapping[str, str | None], sources: Sources, processor_s: float | None = None
) -> None:
    """Puts what was measured today into the file. A value that is None stays as it was."""
    entries = read(sources.root)
    old = entries[measurement.command].values if measurement.command in entries else {}
    found = {name: old.get(name) if value is None else value.strip("\n") for name, value in values.items()}
    entries[measurement.command] = Entry(
        date.today().isoformat(),
        measurement.fit,
        {name: value for name, value in found.items() if value is not None},
        sources.digests(measurement),
        None if processor_s is None else round(processor_s, 1),
    )
    write(entries, sources.root)


def stale(measurements: Iterable[Measurement], sources: Sources) -> list[Stale]:
    """Those whose files are no longer what they were measured on."""
    entries = read(sources.root)
    found = []
    for each in measurements:
        if (entry := entries.get(each.command)) is None:
            found.append(Stale(each, (), measured=False))
        elif not entry.files:
            found.append(Stale(each, ()))
        elif changed := entry.changed(sources.digests(each)):
            found.append(Stale(each, tuple(changed)))
    return found


def fill(text: str, values: Mapping[str, str], outdated: Collection[str] = ()) -> str:
    """A page with its slots filled, by name. Slots of groups (``capture.``) of which there is no value stay.
    ``outdated``: groups whose figures are stale.

    Raises HeadraceError for a slot of another group without a value.
    """
    groups = {name.partition(".")[0] for name in values}

    def value(slot: re.Match[str]) -> str:
        group, _, word = slot[1].partition(".")
        if group not in groups:
            return slot[0]
        note = NOTE if group in outdated else ""
        shown = note if word == _STALE else values.get(slot[1])
        if shown is None:
            raise HeadraceError(f"no value for {slot[1]}, which a page wants")
        if "\n" in shown:
            shown = "\n\n".join(["", shown, *([note] if note else []), ""])
        return f"<!--={slot[1]}-->{shown}<!--/-->"

    return _SLOT.sub(value, text)


def slots(text: str) -> dict[str, str]:
    """The figures of a page by name, without what is said of stale ones."""
    found = {match[1]: match[2].removesuffix(f"{NOTE}\n\n").strip("\n") for match in _SLOT.finditer(text)}
    return {name: value for name, value in found.items() if not name.endswith(f".{_STALE}")}


def fill_pages(measurements: Iterable[Measurement], sources: Sources) -> list[str]:
    """Writes the file's values, and what is stale, into the pages; gives those that are others now."""
    measurements = list(measurements)
    entries, root = read(sources.root), sources.root
    outdated = {each.measurement.command for each in stale(measurements, sources)}
    written = []
    for page in dict.fromkeys(page for each in measurements for page in each.pages):
        shown = [each for each in measurements if page in each.pages and each.command in entries]
        values = {name: value for each in shown for name, value in entries[each.command].values.items()}
        try:
            text = (root / page).read_text()
            filled = fill(text, values, {each.group for each in shown if each.command in outdated})
            if filled != text:
                (root / page).write_text(filled)
                written.append(page)
        except OSError as error:
            raise HeadraceError(f"{root / page}: {error.strerror}") from None
    return written
