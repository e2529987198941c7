"""What a test depends on: the Python that it imports, and what builders noted while it ran last.

Builders (models, benches, syntheses, lint) add the files that they read to the file that $HEADRACE_READS names.
"""

from __future__ import annotations

import ast
import functools
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLACES = (ROOT / "tests", ROOT / "tests" / "rtl", ROOT)  # where modules are looked for, as in pyproject.toml
RECORDS = ROOT / "build" / "reads"


@functools.cache
def imported(path: Path) -> frozenset[Path]:
    """The files of this tree that a Python file imports, anywhere in it."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found.update(file for name in names for file in _files(name))
    return frozenset(found)


def _files(name: str) -> Iterator[Path]:
    """A module's file and those of the packages that it lies in; of ``module.name`` the module's."""
    parts = name.split(".")
    for place in PLACES:
        for end in range(1, len(parts) + 1):
            module = place.joinpath(*parts[:end])
            for file in (module / "__init__.py", module.with_suffix(".py")):
                if file.is_file():
                    yield file


def closure(files: Iterable[Path]) -> set[Path]:
    """Python files and all that they import from this tree, directly or not."""
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imported(path)
    return found


def file_of(item: pytest.Item) -> str:
    """The file that a test lies in, relative to the root."""
    return item.nodeid.partition("::")[0]


def record(test: str) -> Path:
    """Where the builders note what a file of tests (relative to the root) reads."""
    return RECORDS / f"{test.replace('/', '.')}.txt"


def affected(test: str, changed: set[Path]) -> bool:
    """Whether a file of tests can be affected by changed files; one that never ran can be."""
    path = ROOT / test
    noted = record(test)
    if not noted.exists():
        return True
    conftests = [folder / "conftest.py" for folder in path.parents if (folder / "conftest.py").is_file()]
    python = closure([path, *conftests])
    if changed & python or changed & {Path(line) for line in noted.read_text().splitlines()}:
        return True
    others = {file for file in changed if file.suffix != ".py" and file.is_relative_to(ROOT)}
    beside = any(path.parent in file.parents for file in others if path.parent != ROOT / "tests")
    text = path.read_text()
    folders = {file.relative_to(ROOT).parts[0] for file in changed if file.is_relative_to(ROOT)}
    return beside or any(word in text for each in folders for word in (f'"{each}"', f'"{each}/', f"paths.{each}("))


def changed_since(commit: str) -> set[Path]:
    """Files that differ from a commit, with those that git doesn't know yet. Raises RuntimeError with git's reason."""
    found: set[Path] = set()
    for command in (["diff", "--name-only", commit, "--"], ["ls-files", "--others", "--exclude-standard"]):
        run = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(run.stderr.strip())
        found |= {ROOT / line for line in run.stdout.splitlines()}
    return found
