"""Committed figures carry what they were measured on: a digest of each folder of sources that they depend on.

A page or figure says it in one line, ``measured by headrace COMMAND on FOLDER DIGEST, ...``: a page in a comment, a
drawing in its description. ``stale`` finds those whose sources have changed since. Comments, docstrings and formatting
don't count. Figures in a page stand between ``<!--=NAME-->`` and ``<!--/-->`` and are written there by the command
that measures them.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from headrace import paths
from headrace.build.description import load_card
from headrace.errors import HeadraceError
from headrace.synth.sources import module_design

_DIGITS = 8
_MARK = re.compile(r"measured by headrace ((?:study|bench) [\w-]+) on ([\w/]+ [0-9a-f]+(?:, [\w/]+ [0-9a-f]+)*)")
_SLOT = re.compile(r"<!--=([\w.-]+)-->(.*?)<!--/-->", re.DOTALL)
_INCLUDE = re.compile(r'` include "([^"]+)"')

_C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\w+|[^\s\w]', re.DOTALL)
_RDL_WORDS = re.compile(r'\b(?:desc|name) = "(?:\\.|[^"\\])*" ;')
_PYTHON_TOKEN = re.compile(
    r"\"\"\".*?\"\"\"|'''.*?'''"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|\#[^\n]*|\n[ ]*(?=[^\s#])|\w+|[^\s\w]",
    re.DOTALL,
)


@dataclass(frozen=True)
class Measurement:
    """A command whose results are committed, and what they depend on.

    ``tops``: RTL modules, with all that they need. ``cards``: whose default parameters are used. ``code``: files of
    Python and C++, patterns relative to the root. ``settings``: all else that decides what comes out, such as points.
    ``files``: pages and figures that hold results, relative to the root.
    """

    command: str
    tops: tuple[str, ...]
    cards: tuple[str, ...]
    code: tuple[str, ...]
    files: tuple[str, ...]
    settings: Callable[[], object] = tuple

    def digests(self, root: Path) -> dict[str, str]:
        """Of a tree: a few digits for each folder of sources, for the parameters and for the settings."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted({*_rtl(self.tops, root), *_matching(self.code, root)}):
            # A processor lies in the cache, made of a package.
            place = path.relative_to(root).parent.as_posix() if path.is_relative_to(root) else path.parent.name
            found[place].append(f"{path.name} {tokens(path.suffix, path.read_text())}")
        defaults = [load_card(root / "rtl/card" / f"{card}.toml") for card in self.cards]
        found["parameters"] = [f"{card.clock_hz} {card.mem_w} {card.resolve()}" for card in defaults]
        for firmware in (card.firmware for card in defaults if card.firmware):
            texts = [f"{path.name} {tokens(path.suffix, path.read_text())}" for path in firmware.files]
            found["firmware"] += [firmware.prefix, *firmware.flags, *texts]
        found["settings"] = [repr(self.settings())]
        return {name: _digest("\n".join(texts)) for name, texts in found.items()}

    def here(self) -> str:
        """The mark of this tree; of an installed package, which has no tree, its version."""
        root = paths.share()
        if not (root / "headrace").is_dir():
            return f"measured by headrace {self.command} of version {metadata.version('headrace')}"
        return self.mark(root)

    def mark(self, root: Path) -> str:
        """The line that says what a figure was measured on."""
        parts = ", ".join(f"{name} {digest}" for name, digest in self.digests(root).items())
        return f"measured by headrace {self.command} on {parts}"


@dataclass(frozen=True)
class Stale:
    """A file whose figures are out of date, the command that measures them again, and what has changed."""

    path: str
    command: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: headrace {self.command}: {self.what}"


def stale(measurements: Iterable[Measurement], root: Path) -> list[Stale]:
    """Committed figures of a tree whose sources are no longer those that they were measured on."""
    found = []
    for measurement in measurements:
        now = measurement.digests(root)
        for file in measurement.files:
            try:
                marks = _marks((root / file).read_text())
            except OSError as error:
                found.append(Stale(file, measurement.command, f"{error.strerror}"))
                continue
            if measurement.command not in marks:
                found.append(Stale(file, measurement.command, "does not say what it was measured on"))
                continue
            then = marks[measurement.command]
            changed = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
            if changed:
                found.append(Stale(file, measurement.command, f"{', '.join(changed)} changed"))
    return found


def checkout() -> Path:
    """The folder of the manual and all sources. Raises HeadraceError in an installed package, which has none."""
    root = paths.share()
    if not (root / "docs").is_dir():
        raise HeadraceError(f"{root}: no checkout of Headrace, whose docs hold the committed figures")
    return root


def fill(text: str, values: Mapping[str, str | None]) -> str:
    """A page with its slots filled: what stands between ``<!--=NAME-->`` and ``<!--/-->``, by name.

    Slots of other commands stay: a name begins with its command's (``capture.``). Raises HeadraceError for a slot whose
    command is among those of ``values`` but which isn't; one whose value is None stays as it is.
    """
    commands = {name.partition(".")[0] for name in values}

    def value(slot: re.Match[str]) -> str:
        name = slot[1]
        if name.partition(".")[0] not in commands:
            return slot[0]
        if name not in values:
            raise HeadraceError(f"no value for {name}, which a page wants")
        return slot[0] if values[name] is None else f"<!--={name}-->{values[name]}<!--/-->"

    return _SLOT.sub(value, text)


def slots(text: str) -> dict[str, str]:
    """The figures of a page by name."""
    return {match[1]: match[2] for match in _SLOT.finditer(text)}


def update(measurement: Measurement, mark: str, values: Mapping[str, str | None], root: Path) -> list[Path]:
    """Writes values and mark into the measurement's pages; gives these. Raises HeadraceError where it has none."""
    comment = f"<!-- {mark} -->"
    old = re.compile(rf"<!-- measured by headrace {measurement.command} on .*? -->")
    written = []
    for path in (root / file for file in measurement.files if file.endswith(".md")):
        try:
            text = fill(path.read_text(), values)
            if not old.search(text):
                raise HeadraceError(f"{path}: no place for what was measured by headrace {measurement.command}")
            path.write_text(old.sub(comment, text))
        except OSError as error:
            raise HeadraceError(f"{path}: {error.strerror}") from None
        written.append(path)
    return written


def tokens(suffix: str, text: str) -> str:
    """A source without comments, docstrings and formatting. ``suffix``: ``.py``, or anything with comments as in C."""
    if suffix == ".py":
        return " ".join(_python_tokens(text))
    words = (token for token in _C_TOKEN.findall(text) if not token.startswith(("//", "/*")))
    return _RDL_WORDS.sub("", " ".join(words)) if suffix == ".rdl" else " ".join(words)


def _python_tokens(text: str) -> list[str]:
    """Words, strings and signs; lines with their indentation, but for those that go on in brackets."""
    found: list[str] = ["\n"]
    depth = 0
    for token in _PYTHON_TOKEN.findall(text):
        line = token.startswith("\n")
        docstring = token.startswith(('"""', "'''")) and found[-1].startswith("\n")
        if token.startswith("#") or docstring or (line and depth):
            continue
        if token in ("(", "[", "{"):
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
            if found[-1] == ",":
                found.pop()
        if line and found[-1].startswith("\n"):
            found.pop()
        found.append(token)
    return found


def _rtl(tops: Iterable[str], root: Path) -> Iterator[Path]:
    for top in tops:
        design = module_design(top, root)
        yield from design.registers
        for path in design.files:
            yield path
            for name in _INCLUDE.findall(tokens(path.suffix, path.read_text())):
                yield from (root / "rtl").rglob(Path(name).name)


def _matching(patterns: Iterable[str], root: Path) -> Iterator[Path]:
    for pattern in patterns:
        found = list(root.glob(pattern))
        if not found:
            raise HeadraceError(f"{root}: no {pattern}, on which figures depend")
        yield from found


def _marks(text: str) -> dict[str, dict[str, str]]:
    """Digests by what they are of, by command."""
    return {command: dict(re.findall(r"([\w/]+) (\w+)", parts)) for command, parts in _MARK.findall(text)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
