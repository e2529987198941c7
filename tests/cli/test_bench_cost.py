# SPDX-License-Identifier: Apache-2.0
"""``headrace bench cost``: two versions measured in turns. They are small programs here, one of which takes long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from patience import until

from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.evaluate.bench import Row, cost

_CLI = """
import sys
from headrace.card import work

def main():
    {main}
    work(2000)
    print(sys.argv)
"""
_CARD = """
def work(times):
    sum(range(times * {weight}))

class Card:
    @classmethod
    def open(cls, name, progress):
        return cls()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, until, cycles):
        work(1)

    def stats(self):
        work(1)
        self.time_ns = 0
        return self
"""
LIGHT, HEAVY = 1, 1000


def write(root: Path, weight: int, main: str = "", dependencies: str = "") -> None:
    """A Headrace whose commands and calls cost so much."""
    (root / "headrace").mkdir(parents=True, exist_ok=True)
    (root / "docs").mkdir(exist_ok=True)
    (root / "headrace/__init__.py").touch()
    (root / "headrace/cli.py").write_text(_CLI.format(main=main))
    (root / "headrace/card.py").write_text(_CARD.format(weight=weight))
    (root / "pyproject.toml").write_text(f"[project]\ndependencies = [{dependencies}]\n")


def commit(root: Path) -> str:
    """Commits all of it; gives the commit."""
    git = ["git", "-C", str(root), "-c", "user.name=T", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout, and a folder for all that is temporary."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(cost.tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(cost, "checkout", lambda: tmp_path / "tree")
    return tmp_path / "tree"


def measured() -> list[Row]:
    return cost.run(True, lambda _what, _done: None, "HEAD")


@pytest.mark.parametrize(("here", "there", "less"), [(LIGHT, HEAVY, True), (HEAVY, LIGHT, False)])
def test_each_version_is_run_by_its_own_code(tree: Path, tmp_path: Path, here: int, there: int, less: bool) -> None:
    write(tree, there)
    name = commit(tree)[:7]
    write(tree, here)
    rows = measured()
    assert len(rows) == 5
    assert all((row.value < 0.8) == less and (row.value > 1.2) != less for row in rows if row.unit == f"of {name}'s")
    assert all(row.ok is None and row.must == "-" for row in rows)
    assert not list((tmp_path / "temporary").iterdir())


def test_beside_the_commit_of_the_demands_figures_are_met_or_missed(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tree, HEAVY)
    monkeypatch.setattr(cost, "BASE", commit(tree)[:7])
    assert main(["bench", "cost"]) == 1
    out = capsys.readouterr().out
    assert out.count("missed") == 4 and "at most 10 %" in out
    write(tree, LIGHT)
    assert [row.ok for row in cost.run(True, lambda _what, _done: None)][:2] == [True, True]


def test_a_version_that_fails_is_named_with_its_last_line(tree: Path, tmp_path: Path) -> None:
    write(tree, LIGHT, main="sys.exit('headrace: no such card')")
    name = commit(tree)[:7]
    write(tree, LIGHT)
    with pytest.raises(HeadraceError, match=f"^{name}: no such card$"):
        measured()
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cost", "--beside", "nothing"], "headrace: --beside nothing: no such commit in this checkout's history"),
        (["cost", "--beside", "--all"], "headrace: --beside --all: "),
        (["sim", "--beside", "HEAD"], "headrace: --beside is for bench cost without --update-docs"),
        (["cost", "--beside", "HEAD", "--update-docs"], "headrace: --beside is for bench cost without --update-docs"),
        (["cost", "--beside", "HEAD"], "headrace: --beside HEAD: there is no Headrace with a pyproject.toml"),
    ],
)
def test_wrong_usage_is_one_line(
    tree: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tree, LIGHT)
    (tree / "pyproject.toml").unlink()
    commit(tree)
    assert main(["bench", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith(message) and err.count("\n") == 1


def test_without_a_repository_there_is_nothing_to_compare_with(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tree, LIGHT)
    assert main(["bench", "cost"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("headrace: --beside 1e1770b: not a git repository") and err.count("\n") == 1


def test_git_is_named_where_it_is_missing(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["bench", "cost"]) == 1
    assert capsys.readouterr().err == "headrace: git is not installed: apt-get install git\n"


def test_a_version_that_wants_other_packages_gets_them(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("thing.py", "")
        file.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        file.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("thing-1.0.dist-info/RECORD", "")
    for name in ("PIP_NO_INDEX", "PIP_DISABLE_PIP_VERSION_CHECK"):
        monkeypatch.setenv(name, "1")
    write(tree, LIGHT, main="import thing", dependencies=f'"thing @ file://{wheel}"')
    commit(tree)
    write(tree, LIGHT)
    assert len(measured()) == 5


def test_control_c_ends_what_was_started_and_leaves_nothing(tree: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    child = "import os, subprocess; started = subprocess.Popen(['sleep', '100000'])"
    tell = f"open({str(started)!r}, 'w').write(str(started.pid) + '\\n'); started.wait()"
    write(tree, LIGHT, main=f"{child}; {tell}")
    commit(tree)
    program = f"""
import sys
from pathlib import Path
from headrace.cli import main
from headrace.evaluate.bench import cost
cost.checkout = lambda: Path({str(tree)!r})
sys.exit(main(["bench", "cost", "--beside", "HEAD"]))
"""
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        until(lambda: started.exists() and started.read_text().endswith("\n"), "the first build")
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().splitlines()[-1] == "headrace: interrupted"
        assert process.wait() == 130
    sleeper = Path(f"/proc/{int(started.read_text())}/stat")
    until(lambda: not sleeper.exists() or ") Z " in sleeper.read_text(), "what it started to end")
    assert not list((tmp_path / "temporary").iterdir())
