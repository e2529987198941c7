"""The files that a study leaves: report.md, a CSV file for each table, its points as JSON, figures that are drawn from
them; and its table in the terminal."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from headrace.errors import HeadraceError
from headrace.evaluate.study import Study

if TYPE_CHECKING:
    from rich.table import Table

AnyStudy = TypeVar("AnyStudy", bound=Study)

POINTS = "study.json"
"""The file of a study's points."""

_DIGITS = 6  # of numbers in it


def write(
    study: AnyStudy,
    folder: Path,
    draw: Callable[[AnyStudy, Path], dict[str, str]],
    markdown: Callable[[AnyStudy, dict[str, str]], str],
) -> None:
    """Writes them into a folder, which is made if need be.

    ``draw`` draws into the folder and gives captions by name; ``markdown`` gets these and gives the markdown. Raises
    HeadraceError when a file can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in study.tables.items():
            if rows:
                _write_csv(folder / f"{name}.csv", rows)
        text = json.dumps(_rounded(study.to_json()), separators=(",", ":"))
        (folder / POINTS).write_text(text.replace("{", "\n{") + "\n")  # a row a line
        figures = draw(read(type(study), folder / POINTS), folder)
        (folder / "report.md").write_text(markdown(study, figures))
    except OSError as error:
        raise HeadraceError(f"{error.filename or folder}: {error.strerror}") from None


def read(kind: type[AnyStudy], path: Path) -> AnyStudy:
    """What a study found, out of its points or of what ``--json`` wrote. Raises HeadraceError for another file."""
    try:
        found: AnyStudy = _decoded(kind, json.loads(path.read_text()))
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeadraceError(f"{path}: no points of this study: {type(error).__name__}: {error}") from None
    return found


def _decoded(kind: Any, data: Any) -> Any:
    """Plain data as dataclasses again, by the types of their fields."""
    if isinstance(kind, type) and is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{each.name: _decoded(types[each.name], data[each.name]) for each in fields(kind)})
    if get_origin(kind) is list:
        return [_decoded(get_args(kind)[0], each) for each in data]
    return data


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def report(study: Study, name: str, title: str, known: str, parts: Iterable[str]) -> str:
    """The markdown of a study's report: ``known`` says how its figures are, ``parts`` are chapters and what is in
    them; empty ones are left out."""
    made = f"Made by `headrace study {name}{' --full' * study.full}` in {study.wall_s:.0f} s. How it is known:"
    measured_on = f"All of it {study.measured_on}." if study.measured_on else ""
    all_ = [f"# {title}", made, known, *parts, files_list(study.tables), measured_on]
    return "\n\n".join(part for part in all_ if part) + "\n"


def terminal_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 0) -> Table:
    """A table for the terminal; all columns but the first ``left`` are numbers."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, title=title)
    for number, heading in enumerate(head):
        table.add_column(heading, justify="left" if number < left else "right")
    for row in rows:
        table.add_row(*row)
    return table


def span(least: float, most: float) -> str:
    """From the least to the most, or the one that both are."""
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def or_nothing(value: float | None, form: str) -> str:
    """A number in a format; None: nothing."""
    return "" if value is None else format(value, form)


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in markdown; all columns but the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def grid_or_nothing(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same, but nothing without rows."""
    return grid(head, rows) if rows else ""


def figure(name: str, figures: Mapping[str, str]) -> str:
    """A figure and its caption in markdown; nothing if it wasn't drawn."""
    return f"![{figures[name]}]({name}.png)\n\n*{figures[name]}.*" if name in figures else ""


def files_list(tables: Mapping[str, Sequence[Any]]) -> str:
    """The report's chapter on the CSV files."""
    return "## Files\n\n" + "\n".join(f"- `{name}.csv`" for name, rows in tables.items() if rows)


def _write_csv(path: Path, rows: Sequence[Any]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(rows[0])])
        for row in rows:
            writer.writerow([round(value, 6) if isinstance(value, float) else value for value in asdict(row).values()])
