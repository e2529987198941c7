"""The files that a study leaves: report.md, a CSV file for each table, figures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError


def write(
    folder: Path,
    tables: Mapping[str, Sequence[Any]],
    draw: Callable[[Path], dict[str, str]],
    report: Callable[[dict[str, str]], str],
) -> None:
    """Writes them into a folder, which is made if need be.

    ``tables``: rows (dataclasses) by name; ``draw`` draws into a folder and gives captions by name; ``report`` gets
    these and gives the markdown. Raises HeadraceError when a file can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in tables.items():
            if rows:
                _write_csv(folder / f"{name}.csv", rows)
        figures = draw(folder)
        (folder / "report.md").write_text(report(figures))
    except OSError as error:
        raise HeadraceError(f"{error.filename or folder}: {error.strerror}") from None


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
