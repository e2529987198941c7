"""Which tests a change can affect: the Python that they import, what builders noted, folders that they name."""

from __future__ import annotations

from pathlib import Path

import pytest
import reads

from headrace import cache, synth


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with two files of tests: one imports a helper, and one names a folder."""
    for name, text in {
        "tests/conftest.py": "import helper_of_all\n",
        "tests/helper_of_all.py": "",
        "tests/rtl/helper.py": "from headrace.part import thing\n",
        "tests/one/test_one.py": "def test() -> None:\n    import helper\n",
        "tests/two/test_two.py": 'PAGE = ROOT / "docs" / "page.md"\n',
        "headrace/__init__.py": "",
        "headrace/part/__init__.py": "from headrace.part.thing import value\n",
        "headrace/part/thing.py": "value = 1\n",
        "headrace/other.py": "",
        "rtl/block.sv": "",
        "docs/page.md": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(reads, "ROOT", tmp_path)
    monkeypatch.setattr(reads, "PLACES", (tmp_path / "tests", tmp_path / "tests/rtl", tmp_path))
    monkeypatch.setattr(reads, "RECORDS", tmp_path / "build")
    (tmp_path / "build").mkdir()
    for test in ("tests/one/test_one.py", "tests/two/test_two.py"):
        reads.record(test).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "one", "two"),
    [
        ("tests/one/test_one.py", True, False),
        ("tests/one/data.json", True, False),
        ("tests/one/test_other.py", False, False),
        ("tests/rtl/helper.py", True, False),
        ("headrace/part/thing.py", True, False),
        ("headrace/__init__.py", True, False),
        ("headrace/other.py", False, False),
        ("docs/page.md", False, True),
        ("tests/conftest.py", True, True),
        ("tests/helper_of_all.py", True, True),
        ("tests/two/part/block.sv", False, True),
        ("rtl/block.sv", False, False),
    ],
)
def test_what_a_change_can_affect(tree: Path, changed: str, one: bool, two: bool) -> None:
    files = {tree / changed}
    assert reads.affected("tests/one/test_one.py", files) == one
    assert reads.affected("tests/two/test_two.py", files) == two


def test_what_builders_noted_counts(tree: Path) -> None:
    reads.record("tests/two/test_two.py").write_text(f"{tree / 'rtl/block.sv'}\n")
    assert reads.affected("tests/two/test_two.py", {tree / "rtl/block.sv"})
    assert not reads.affected("tests/one/test_one.py", {tree / "rtl/block.sv"})


def test_a_key_covers_all_but_other_tests_and_what_only_builders_read(tree: Path) -> None:
    files = [str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()]
    headrace = {file for file in files if file.startswith("headrace/")}
    helpers = {"tests/conftest.py", "tests/helper_of_all.py"}
    one = {"tests/one/test_one.py", "tests/rtl/helper.py", "docs/page.md", "rtl/block.sv"}
    read = set(reads.inputs("tests/one/test_one.py", files))
    assert headrace | helpers | one <= read and "tests/two/test_two.py" not in read
    (tree / "tests/card").mkdir()
    (tree / "tests/card/test_card.py").write_text("import helper\n")
    (tree / "tests/card/data.json").write_text("")
    files += ["tests/card/test_card.py", "tests/card/data.json", "sim/model.h"]
    card = set(reads.inputs("tests/card/test_card.py", files))
    assert headrace | helpers | {"tests/card/data.json", "tests/rtl/helper.py", "sim/model.h"} <= card
    assert not card & {"docs/page.md", "rtl/block.sv"}
    reads.record("tests/card/test_card.py").write_text(f"{tree / 'rtl/block.sv'}\n")
    assert "rtl/block.sv" in reads.inputs("tests/card/test_card.py", files)


def test_one_that_never_ran_is_affected(tree: Path) -> None:
    reads.record("tests/one/test_one.py").unlink()
    assert reads.affected("tests/one/test_one.py", set())


def test_builders_note_what_they_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = tmp_path / "noted"
    monkeypatch.setenv("HEADRACE_READS", str(noted))
    synth.run("stream_queue", "xcup", {}, hierarchy=False)
    assert {Path(line).name for line in noted.read_text().splitlines()} == {"stream_queue.sv", "ram_dist.sv"}
    monkeypatch.delenv("HEADRACE_READS")
    cache.note_reads([tmp_path / "other"])
    assert "other" not in noted.read_text()


def test_a_commit_that_is_none_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no-such-commit"):
        reads.changed_since("no-such-commit")
