"""What a test depends on: the Python that it imports, and what builders noted while it ran last.

Builders (models, benches, syntheses, lint) add the files that they read to the file that $HEADRACE_READS names.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLACES = (ROOT / "tests", ROOT / "tests" / "rtl", ROOT)  # where modules are looked for, as in pyproject.toml
RECORDS = ROOT / "build" / "reads"
BUILT = ("rtl", "card")  # folders of tests of what builders make, and
NOTED = ("rtl", "docs", "README.md")  # what those read only through builders, or by a name that they hold


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


def closure(files: Iterable[Path], within: Path | None = None) -> set[Path]:
    """Python files and all that they import from this tree, or from a folder of it, directly or not."""
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [file for file in imported(path) if within is None or file.is_relative_to(within)]
    return found


def file_of(item: pytest.Item) -> str:
    """The file that a test lies in, relative to the root."""
    return item.nodeid.partition("::")[0]


def record(test: str) -> Path:
    """Where the builders note what a file of tests (relative to the root) reads."""
    return RECORDS / f"{test.replace('/', '.')}.txt"


def noted_by(test: str) -> set[Path]:
    """The files that builders noted while a file of tests ran, now or before."""
    noted = record(test)
    return {Path(line) for line in noted.read_text().splitlines()} if noted.exists() else set()


def _python(test: str, within: Path | None = None) -> set[Path]:
    """A file of tests with its conftests and all that they import, from the tree or a folder of it."""
    conftests = [folder / "conftest.py" for folder in (ROOT / test).parents]
    return closure([ROOT / test, *filter(Path.is_file, conftests)], within)


def _names(text: str, folder: str) -> bool:
    return any(word in text for word in (f'"{folder}"', f'"{folder}/', f"paths.{folder}("))


def affected(test: str, changed: set[Path]) -> bool:
    """Whether a file of tests can be affected by changed files; one that never ran can be."""
    path = ROOT / test
    if not record(test).exists() or changed & (_python(test) | noted_by(test)):
        return True
    others = {file for file in changed if file.suffix != ".py" and file.is_relative_to(ROOT)}
    beside = any(path.parent in file.parents for file in others if path.parent != ROOT / "tests")
    text = path.read_text()
    folders = {file.relative_to(ROOT).parts[0] for file in changed if file.is_relative_to(ROOT)}
    return beside or any(_names(text, each) for each in folders)


def inputs(test: str, files: Iterable[str]) -> list[str]:
    """Those of the tree's files that what a file of tests shows can depend on: more than `affected` looks at.

    The whole tree but Python of tests that aren't imported; all of it where the tests name their folder.
    RTL and docs are left out for tests of what is built (BUILT), but for what builders noted, and if they name neither.
    """
    own = test.rpartition("/")[0] + "/"
    tests = {str(path)[len(f"{ROOT}/") :] for path in _python(test, ROOT / "tests")}
    known = tests | {str(path)[len(f"{ROOT}/") :] for path in noted_by(test)}
    text = "".join((ROOT / file).read_text() for file in tests if file.startswith(own))
    left = {name for name in NOTED if test.split("/")[1] in BUILT and not _names(text, name)}
    if "RTL" in text:  # the folder, as helpers call it
        left.discard("rtl")
    all_tests = _names(text, "tests")

    def can(file: str) -> bool:
        if not file.startswith("tests/"):
            return file.partition("/")[0] not in left
        helper = (file.count("/") == 1 or file.startswith(own)) and "/test_" not in file
        return all_tests or helper or not file.endswith(".py")

    return sorted(file for file in files if file in known or can(file))


def tree() -> dict[str, str]:
    """Digests of all files that git knows, or would; none outside of a clone."""
    try:
        names = _git("ls-files", "--cached", "--others", "--exclude-standard")
    except (OSError, RuntimeError):
        return {}
    paths = {name: ROOT / name for name in names}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items() if path.is_file()}


def changed_since(commit: str) -> set[Path]:
    """Files that differ from a commit, with those that git doesn't know yet. Raises RuntimeError with git's reason."""
    names = [*_git("diff", "--name-only", commit, "--"), *_git("ls-files", "--others", "--exclude-standard")]
    return {ROOT / name for name in names}


def _git(*command: str) -> list[str]:
    run = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stderr.strip())
    return run.stdout.splitlines()
