"""The looks of SystemVerilog: each fault is found where it is, and the tree has none."""

from pathlib import Path

import pytest

from headrace import paths
from headrace.build import description
from headrace.build.style import LICENCE, faults, faults_of_tree
from headrace.cli import main

GOOD = f"{LICENCE}\n// What it does.\nmodule part (\n    input logic a\n);\nendmodule\n"


def check(folder: Path, text: str, name: str = "part.sv") -> list[str]:
    path = folder / name
    path.write_text(text)
    return [fault.removeprefix(f"{path}:") for fault in faults(path)]


def test_a_good_file_has_no_fault(tmp_path: Path) -> None:
    assert check(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (GOOD.removeprefix(LICENCE + "\n"), f"1: the first line must be {LICENCE}"),
        (GOOD.replace("it does.", "it does. " + "x" * 104), "2: 121 columns, 120 at most"),
        (GOOD.replace("    input", "\tinput"), "4: a tab"),
        (GOOD.replace("part (", "part ( "), "3: blanks at the end of the line"),
        (GOOD.replace("endmodule\n", "endmodule"), "6: no newline at the end of the file"),
        (GOOD + "\n", "7: blank line at the end of the file"),
        (GOOD.replace("\n", "\r\n", 1), "1: blanks at the end of the line"),
        (GOOD + "module other;\nendmodule\n", "7: other: one module or package a file"),
        (GOOD + "package more_pkg;\nendpackage\n", "7: more_pkg: one module or package a file"),
        (GOOD.replace("module part", "module parts"), "3: parts: the file is not named after it"),
        (GOOD.replace("module part", "// module part"), "1: no module or package"),
    ],
    ids=str,
)
def test_each_fault_is_found(text: str, fault: str, tmp_path: Path) -> None:
    assert fault in check(tmp_path, text)


def test_words_in_comments_are_no_modules(tmp_path: Path) -> None:
    assert check(tmp_path, GOOD.replace("// What", "/* a\nmodule of */ // What")) == []


def test_a_header_of_macros_needs_no_module(tmp_path: Path) -> None:
    assert check(tmp_path, f"{LICENCE}\n`define NOTHING\n", "macros.svh") == []


def test_the_tree_has_none() -> None:
    root = paths.share()
    assert faults_of_tree(root / "rtl", root / "headrace", root / "tests", root / "examples") == []


def test_lint_fails_where_a_file_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(description, "list_cards", lambda: [])
    monkeypatch.setattr(paths, "share", lambda: tmp_path)
    (tmp_path / "rtl").mkdir()
    for text, code in ((GOOD, 0), (GOOD + "\n", 1)):
        (tmp_path / "rtl" / "part.sv").write_text(text)
        assert main(["lint"]) == code
    assert "part.sv:7: blank line at the end of the file" in "".join(capsys.readouterr())
