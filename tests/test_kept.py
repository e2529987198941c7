"""Tests that passed before aren't run again, until something that they can depend on changes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kept
import pytest
import reads

TEST = "tests/cli/test_one.py"
NAMES = ("passes", "fails", "later_fails", "lives")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Digests of the tree's files, as they will be found."""
    (tmp_path / TEST).parent.mkdir(parents=True)
    (tmp_path / TEST).write_text("")
    for module in (reads, kept):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(reads, "RECORDS", tmp_path)
    monkeypatch.setattr(kept, "PASSED", tmp_path / "passed")
    found = {TEST: "1", "rtl/block.sv": "1", "headrace/cli.py": "1", "tests/card/test_other.py": "1"}
    monkeypatch.setattr(kept, "tree", lambda: dict(found))
    return found


def item(name: str) -> Any:
    return SimpleNamespace(nodeid=f"{TEST}::{name}", get_closest_marker=lambda mark: (name, mark) == ("lives", "live"))


def run(edit: Any = None, keep: bool = True) -> list[str]:
    """The tests that a session runs; what is called ``fails`` fails, ``later_fails`` when it is taken down."""
    session = kept.Kept(keep)
    items = [item(name) for name in NAMES]
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda **_: None))
    session.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    for each in items:
        for when in ("setup", "call", "teardown"):
            bad = each.nodeid.endswith({"call": "::fails", "teardown": "later_fails"}.get(when, "none"))
            session.note(each, passed=not bad)
    if edit:
        edit()
    session.pytest_sessionfinish(SimpleNamespace(exitstatus=0))  # type: ignore[arg-type]
    assert session.count == len(NAMES) - len(items)
    return [each.nodeid.rpartition("::")[2] for each in items]


def test_what_passed_is_kept_and_live_tests_run_each_time(files: dict[str, str]) -> None:
    assert run() == list(NAMES)
    assert run() == ["fails", "later_fails", "lives"]
    assert run(keep=False) == list(NAMES)
    assert run() == ["fails", "later_fails", "lives"]


@pytest.mark.parametrize(
    ("changed", "again"),
    [(TEST, True), ("rtl/block.sv", True), ("sim/new.h", True), ("tests/card/test_other.py", False)],
)
def test_a_change_of_what_a_test_can_read_makes_it_run(files: dict[str, str], changed: str, again: bool) -> None:
    run()
    files[changed] = "2"
    assert ("passes" in run()) == again
    assert "passes" not in run()


def test_another_environment_makes_them_run(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(kept, "environment", lambda: "another")
    assert "passes" in run()


def test_what_was_edited_while_tests_ran_was_not_tested(files: dict[str, str]) -> None:
    run(edit=lambda: files.update({"headrace/cli.py": "2"}))
    assert "passes" in run()


def test_a_file_that_git_does_not_know_is_not_kept(files: dict[str, str]) -> None:
    del files[TEST]
    run()
    assert run() == list(NAMES)
