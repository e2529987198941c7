"""What the papers behind the cards state, number by number, and what ours is: data, a file a paper.

Each ``[[statement]]`` says where it stands, what was published, and whether ours comes out so, doesn't, or can't be
tested here. Ours is text with names in braces; a name is a committed figure, ``study capture.table | ROW | COLUMN``, so
that no number of ours is written twice. ``holds`` is the comparison of figures from which the answer follows. Numbers
that were set and not measured, such as a clock, stand in ``given``.
"""

from __future__ import annotations

import ast
import operator
import re
import string
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.evaluate.figures import read

FOLDER = Path(__file__).parent
COMES_OUT, DIFFERS, UNTESTED = ANSWERS = ("comes out", "doesn't", "can't be tested here")
STUDIES = ("filter", "capture", "bridge", "rpu", "switch", "host", "emulator")
PAGES = tuple(f"docs/study-{study}.md" for study in STUDIES)
"""Those that hold tables of statements, relative to the root."""

_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
_LITERAL = re.compile(r"(?<![A-Za-z\d.])\d+(?:,\d{3})*(?:\.\d+)?")  # of a text, but not in a name such as ECP5
_NAMED = re.compile(r"\{([^{}]+)\}")
_SLOT = re.compile(r"<!--=statements\.([\w-]+)-->.*?<!--/-->", re.DOTALL)
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}


@dataclass(frozen=True)
class Statement:
    """One statement of a paper.

    ``study``: whose page has it. ``page``: of the paper, where its text at hand has page numbers. ``figures``: those
    that are committed, by the names that ``ours``, ``why`` and ``holds`` use. ``test``: ``FILE::NAME`` of one that
    shows what no figure does. ``command``: what measures it where no figure is committed. ``given``: what was set, not
    measured.
    """

    study: str
    where: str
    published: str
    answer: str
    ours: str = ""
    why: str = ""
    page: int | None = None
    figures: Mapping[str, str] = field(default_factory=dict)
    holds: str = ""
    test: str = ""
    command: str = ""
    given: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper and its statements, in its order."""

    file: str
    name: str
    source: str
    statements: tuple[Statement, ...]


class Figures:
    """The committed figures of a tree, by name, row and column."""

    def __init__(self, root: Path) -> None:
        self._values = {
            f"{command.split()[0]} {name}": value
            for command, entry in read(root).items()
            for name, value in entry.values.items()
        }

    def text(self, reference: str) -> str:
        """``study NAME`` or ``bench NAME``. Behind that ``| ROW | COLUMN``: a cell of its table, named by what they
        begin with or by their number (``#1``; columns without the first). At last ``| UNIT`` or ``| #N``: the number
        before that unit, or the Nth. Raises HeadraceError."""
        name, *rest = (part.strip() for part in reference.split("|"))
        if name not in self._values:
            raise HeadraceError(f"no figure {name} is committed")
        if not rest:
            return self._values[name].strip()
        if len(rest) == 1:
            return _which(self._values[name], rest[0], reference)
        row, column, *which = rest
        cell = _cell(self._values[name].replace("**", ""), row, column, reference)
        return _which(cell, which[0], reference) if which else cell

    def number(self, reference: str) -> float:
        """The first number there. Raises HeadraceError where there is none."""
        text = self.text(reference)
        if (found := _NUMBER.search(text)) is None:
            raise HeadraceError(f"{reference}: {text!r} is no number")
        return float(found[0].replace(",", ""))

    def shown(self, reference: str) -> str:
        """The first number as it is printed; the whole text where there is none."""
        text = self.text(reference)
        return found[0] if (found := _NUMBER.search(text)) else text


def _cell(table: str, row: str, column: str, reference: str) -> str:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    if not lines:
        raise HeadraceError(f"{reference}: no table")
    heads = lines[0]
    columns = [at for at, head in enumerate(heads) if column in (head, f"#{at}")] or [
        at for at, head in enumerate(heads) if head.startswith(column)
    ]
    rows = [line for at, line in enumerate(lines[2:], 1) if row in (line[0], f"#{at}")] or [
        line for line in lines[2:] if line[0].startswith(row)
    ]
    if len(rows) != 1 or len(columns) != 1:
        raise HeadraceError(f"{reference}: {len(rows)} rows and {len(columns)} columns are named so")
    return rows[0][columns[0]]


def _which(cell: str, which: str, reference: str) -> str:
    if which.startswith("#"):
        found = _NUMBER.findall(cell)[int(which[1:]) - 1 :]
    else:
        found = re.findall(rf"({_NUMBER.pattern}) ?{re.escape(which)}", cell)
    if not found:
        raise HeadraceError(f"{reference}: no such number in {cell!r}")
    return str(found[0])


def load(path: Path) -> Paper:
    """A paper's file. Raises HeadraceError where it isn't what it should be."""
    try:
        data = tomllib.loads(path.read_text())
        common = {"study": data["study"]} if "study" in data else {}
        entries = [each for entry in data["statement"] for each in _expanded(entry)]
        statements = tuple(Statement(**{**common, **entry}) for entry in entries)
        return Paper(path.stem, data["name"], data["source"], statements)
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise HeadraceError(f"{path}: {error}") from None


def papers(folder: Path = FOLDER) -> list[Paper]:
    """All of them. Raises HeadraceError."""
    return [load(path) for path in sorted(folder.glob("*.toml"))]


def _expanded(entry: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """An entry with ``each``: one for each of its lists, whose items stand for ``$a``, ``$b`` and so on."""
    rows = entry.pop("each", None)
    if rows is None:
        return [entry]
    return [_filled(entry, dict(zip(string.ascii_lowercase, map(str, row), strict=False))) for row in rows]


def _filled(value: Any, items: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(each, items) for name, each in value.items()}
    return string.Template(value).substitute(items) if isinstance(value, str) else value


def faults(paper: Paper, figures: Figures, root: Path) -> list[str]:
    """What is wrong with a paper's list in a tree, a line each."""
    return [
        f"{paper.file}.toml: {each.where}: {fault}"
        for each in paper.statements
        for fault in _faults_of(each, figures, root)
    ]


def _faults_of(statement: Statement, figures: Figures, root: Path) -> Iterable[str]:
    if statement.answer not in ANSWERS:
        yield f"{statement.answer!r} is no answer"
    if statement.answer != COMES_OUT and not statement.why:
        yield "no why"
    if statement.answer != UNTESTED and not (statement.ours and (statement.figures or statement.test)):
        yield "nothing of ours that was measured"
    if statement.answer != UNTESTED and statement.figures and not statement.holds:
        yield "no comparison that the answer follows from"
    if statement.test and not _has_test(root, statement.test):
        yield f"no test {statement.test}"
    used = set(re.findall(r"\b[a-z]\w*", " ".join([*_NAMED.findall(statement.ours + statement.why), statement.holds])))
    if unused := set(statement.figures) - used:
        yield f"{', '.join(sorted(unused))}: not used"
    known = _numbers(statement.where, statement.published, statement.given, *statement.figures.values())
    for text in (statement.ours, statement.why):
        yield from (f"{each} is not measured" for each in sorted(_numbers(_NAMED.sub("", text)) - known))
    try:
        fill(statement.ours + statement.why, statement, figures)
        if statement.holds and holds(statement, figures) != (statement.answer == COMES_OUT):
            yield f"{statement.answer!r}, but {fill(statement.ours, statement, figures)}: {statement.holds}?"
    except HeadraceError as error:
        yield str(error)


def _numbers(*texts: str) -> set[str]:
    return {each.replace(",", "") for text in texts for each in _LITERAL.findall(text)}


def _has_test(root: Path, test: str) -> bool:
    file, _, name = test.partition("::")
    return (root / file).is_file() and bool(re.search(rf"def {re.escape(name)}\b", (root / file).read_text()))


def holds(statement: Statement, figures: Figures) -> bool:
    """Whether what was published is so of our figures. Raises HeadraceError."""
    return bool(_evaluate(statement.holds, statement, figures))


def fill(text: str, statement: Statement, figures: Figures) -> str:
    """A text with its names replaced: ``{NAME}`` as it is committed, ``{A / B}`` to three digits.
    Raises HeadraceError."""

    def value(found: re.Match[str]) -> str:
        name = found[1].strip()
        if name in statement.figures:
            return figures.shown(statement.figures[name])
        return _digits(float(_evaluate(name, statement, figures)))

    return _NAMED.sub(value, text)


def _digits(value: float) -> str:
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.3g}"


def _evaluate(text: str, statement: Statement, figures: Figures) -> Any:
    def of(node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name) if name in statement.figures:
                return figures.number(statement.figures[name])
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
                return _ARITHMETIC[type(sign)](of(left), of(right))
            case ast.Compare(left=left, ops=signs, comparators=others) if {*map(type, signs)} <= {*_ARITHMETIC}:
                values = [of(left), *map(of, others)]
                return all(_ARITHMETIC[type(sign)](*values[at : at + 2]) for at, sign in enumerate(signs))
            case ast.BoolOp(op=ast.And(), values=values):
                return all(map(of, values))
        raise HeadraceError(f"{text}: not a comparison of figures")

    try:
        return of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ZeroDivisionError):
        raise HeadraceError(f"{text}: not a comparison of figures") from None


def table(study: str, figures: Figures, folder: Path = FOLDER) -> str:
    """The statements of a study's page, in Markdown. Raises HeadraceError where a figure isn't there."""
    lines = ["| where | published | ours | does it come out here? |", "|---|---|---|---|"]
    for paper in papers(folder):
        for each in paper.statements:
            if each.study == study:
                ours, why = (fill(text, each, figures) for text in (each.ours, each.why))
                shown = [ours, *([f"`{each.command}`"] if each.command else [])]
                answer = f"**{each.answer}**" if each.answer == DIFFERS else each.answer
                place = f"{each.where}, p. {each.page}" if each.page else each.where
                cells = place, each.published, "; ".join(filter(None, shown)), f"{answer}: {why}" if why else answer
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def filled(text: str, figures: Figures, folder: Path = FOLDER) -> str:
    """A page with the table of its statements."""
    return _SLOT.sub(
        lambda slot: f"<!--=statements.{slot[1]}-->\n\n{table(slot[1], figures, folder)}\n\n<!--/-->", text
    )


def wrong(root: Path) -> list[str]:
    """What is wrong with all lists in a tree, a line each. Raises HeadraceError for a list that can't be read."""
    figures = Figures(root)
    return [fault for paper in papers() for fault in faults(paper, figures, root)]


def refresh(root: Path) -> list[str]:
    """Writes the tables into all pages of a tree; gives what is wrong with the lists, a line each. A page whose figures
    aren't all there is left as it was."""
    figures = Figures(root)
    for page in PAGES:
        path = root / page
        if path.exists() and _SLOT.search(text := path.read_text()):
            try:
                path.write_text(filled(text, figures))
            except HeadraceError:
                continue
    return wrong(root)


def to_json(root: Path) -> dict[str, Any]:
    """All statements as plain data, with ours filled in from a tree. Raises HeadraceError."""
    figures = Figures(root)
    names = [each.name for each in fields(Statement)]
    return {
        paper.file: {
            "name": paper.name,
            "source": paper.source,
            "statements": [
                {name: getattr(each, name) for name in names}
                | {"ours": fill(each.ours, each, figures), "why": fill(each.why, each, figures)}
                for each in paper.statements
            ],
        }
        for paper in papers()
    }
