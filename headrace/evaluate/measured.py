"""What a committed figure was measured on: a digest of each file that the measured thing reads.

Of RTL, the modules that a top needs; of cards, their default parameters; of Python, the definitions that a function
uses. Comments, docstrings and formatting don't count, nor do assertions where only cycles and cells are counted.
"""

from __future__ import annotations

import hashlib
import re
import resource
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from headrace import paths
from headrace.build.description import load_card
from headrace.errors import HeadraceError
from headrace.evaluate.reads import Code
from headrace.synth.sources import module_design

_DIGITS = 8
_INCLUDE = re.compile(r'` include "([^"]+)"')
_MODULE, _OUTPUT = re.compile(r"^module\b", re.MULTILINE), re.compile(r"^\s*(output|inout)\b", re.MULTILINE)
_CONDITION = re.compile(r"\s*`(ifdef|ifndef|elsif|else|endif)\b\s*(\w*)")

_C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\w+|[^\s\w]', re.DOTALL)
_RDL_WORDS = re.compile(r'\b(?:desc|name) = "(?:\\.|[^"\\])*" ;')
_PYTHON_TOKEN = re.compile(
    r"\"\"\".*?\"\"\"|'''.*?'''"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|\#[^\n]*|\n[ ]*(?=[^\s#])|\w+|[^\s\w]",
    re.DOTALL,
)


class Sources:
    """The sources of a tree. What was read once is kept: a tree that changes needs another one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._code = Code(root)
        self._file = cache(self._digest_of_file)
        self._top = cache(self._files_of_top)
        self._card = cache(self._digests_of_card)

    def digests(self, measurement: Measurement) -> dict[str, str]:
        """Of what a measurement reads: a few digits for each file, by its path relative to the root.

        Raises HeadraceError where something isn't there.
        """
        read = {*self._matching(measurement.files), *(path for top in measurement.tops for path in self._top(top))}
        found: dict[str, str] = {}
        for path in read:
            # A processor lies in the cache, made of a package.
            inside = path.is_relative_to(self.root)
            name = path.relative_to(self.root).as_posix() if inside else f"{path.parent.name}/{path.name}"
            if digest := self._file(path, measurement.assertions):
                found[name] = digest
        for card in measurement.cards:
            found |= self._card(card)
        for name, pieces in self._code.used(measurement.functions).items():
            found[name] = _digest("\n".join(tokens(".py", piece) for piece in pieces))
        return dict(sorted(found.items()))

    def _digest_of_file(self, path: Path, assertions: bool) -> str:
        """Nothing for a module that only looks, or is there in simulation only, where assertions don't count."""
        text = path.read_text()
        if path.suffix == ".sv" and not assertions:
            text = synthesised(text)
            if not tokens(path.suffix, text) or (_MODULE.search(text) and not _OUTPUT.search(text)):
                return ""
        return _digest(tokens(path.suffix, text))

    def _files_of_top(self, top: str) -> list[Path]:
        design = module_design(top, self.root)
        includes = {
            Path(name).name
            for path in design.files
            if "`include" in (text := path.read_text())
            for name in _INCLUDE.findall(tokens(path.suffix, text))
        }
        others = [path for name in sorted(includes) for path in (self.root / "rtl").rglob(name)]
        return [*design.registers, *design.files, *others]

    def _digests_of_card(self, name: str) -> dict[str, str]:
        """Of its default parameters, and of its firmware."""
        path = self.root / "rtl/card" / f"{name}.toml"
        card = load_card(path)
        settings = [f"{card.clock_hz} {card.mem_w} {card.resolve()}"]
        found = {}
        if card.firmware:
            settings += [card.firmware.prefix, *card.firmware.flags]
            found = {each.relative_to(self.root).as_posix(): self._file(each, False) for each in card.firmware.files}
        return found | {path.relative_to(self.root).as_posix(): _digest("\n".join(settings))}

    def _matching(self, patterns: Iterable[str]) -> Iterator[Path]:
        for pattern in patterns:
            found = list(self.root.glob(pattern))
            if not found:
                raise HeadraceError(f"{self.root}: no {pattern}, on which figures depend")
            yield from found


@dataclass(frozen=True)
class Measurement:
    """A command whose figures are committed, and what they depend on.

    ``tops``: RTL modules, with all that they need. ``cards``: whose default parameters are used. ``functions``: of
    Python, with all that they use. ``files``: others that count in whole, patterns relative to the root. ``pages``:
    that show figures of it. ``fit``: whether it is place and route. ``assertions``: whether the RTL's count as well,
    where the simulator's speed is measured.
    """

    command: str
    tops: tuple[str, ...]
    cards: tuple[str, ...]
    functions: tuple[str, ...]
    files: tuple[str, ...]
    pages: tuple[str, ...]
    fit: bool = False
    assertions: bool = False

    @property
    def group(self) -> str:
        """What the names of its figures begin with."""
        return self.command.split()[1]

    def here(self, sources: Sources | None = None) -> str:
        """What it would be measured on now, in a line: a digest of this tree's ``sources``, read now if none are given;
        of an installed package, which has no tree, its version."""
        root = paths.share()
        if not (root / "headrace").is_dir():
            return f"measured by headrace {self.command} of version {metadata.version('headrace')}"
        digests = (sources or Sources(root)).digests(self)
        return f"measured by headrace {self.command} on sources {_digest(repr(digests))}"


def processor_s() -> float:
    """Seconds of processor time that this process has taken, and all that it has started and waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def checkout() -> Path:
    """The folder of the manual and all sources. Raises HeadraceError in an installed package, which has none."""
    root = paths.share()
    if not (root / "docs").is_dir():
        raise HeadraceError(f"{root}: no checkout of Headrace, whose docs hold the committed figures")
    return root


def synthesised(text: str) -> str:
    """SystemVerilog without what ``SYNTHESIS`` leaves out."""
    lines = []
    branches: list[bool | None] = []  # of open conditions: whether lines stay; None where it is about something else
    for line in text.splitlines(keepends=True):
        kind, name = found.groups() if (found := _CONDITION.match(line)) else ("", "")
        if kind.startswith("if"):
            branches.append(kind == "ifdef" if name == "SYNTHESIS" else None)
        if False not in branches and (not kind or branches[-1] is None):
            lines.append(line)
        if kind == "endif":
            branches.pop()
        elif kind in ("else", "elsif") and branches[-1] is not None:
            branches[-1] = not branches[-1]
    return "".join(lines)


@cache  # a piece counts for many figures, and in other trees
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


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
