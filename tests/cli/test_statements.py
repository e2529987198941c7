"""The papers' statements: each has an answer that follows from committed figures, and each page has their table."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace import paths
from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.evaluate import figures, measured, statements
from headrace.evaluate.figures import Entry
from headrace.evaluate.statements import COMES_OUT, DIFFERS, FOLDER, STUDIES, UNTESTED, Figures, Paper, Statement
from headrace.evaluate.study.emulator_published import COVERAGE, RESILIENCY
from headrace.evaluate.study.emulator_traffic_published import GRID_MBIT_S
from headrace.evaluate.study.filter_published import ROUND_TRIPS_US
from headrace.evaluate.study.filter_published import SIZES as FFSHARK_SIZES
from headrace.evaluate.study.published import EMBEDNET_SIZES, RPU_RECONFIGURATION_S, bpfcap_table_5_1
from headrace.evaluate.study.switch_published import CONNECTIONS_KPPS

REPOSITORY = paths.share()
PAPERS = {paper.file: paper for paper in statements.papers()}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("docs", "tests"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "README.md", tmp_path)
    monkeypatch.setattr(measured.paths, "share", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize("file", PAPERS)
def test_every_statement_has_an_answer_that_follows_from_what_was_measured(file: str) -> None:
    assert statements.faults(PAPERS[file], Figures(REPOSITORY), REPOSITORY) == []


@pytest.mark.parametrize("study", STUDIES)
def test_a_page_opens_with_the_table_of_the_list(study: str) -> None:
    page = (REPOSITORY / f"docs/study-{study}.md").read_text()
    assert statements.filled(page, Figures(REPOSITORY)) == page, "headrace study papers --update-docs writes it"
    assert page.index("\n## Every statement") == page.index("\n## ")
    assert f"<!--=statements.{study}-->" in page


def test_five_papers_have_a_list_and_every_statement_a_page() -> None:
    assert set(PAPERS) == {"ffshark", "bpfcap", "embednet", "rosebud", "manet"}
    assert {each.study for paper in PAPERS.values() for each in paper.statements} == set(STUDIES)


def numbers(*texts: str) -> list[float]:
    return [float(each.replace(",", "")) for text in texts for each in re.findall(r"\d[\d,]*\.?\d*(?<=\d)", text)]


def published(file: str, where: str) -> dict[str, str]:
    return {each.where: each.published for each in PAPERS[file].statements if each.where.startswith(where)}


def test_tables_are_whole_and_those_that_the_studies_use() -> None:
    rows = bpfcap_table_5_1()
    means = [row.mean_ns for size in (32, 64, 128, 256, 512, 1024) for burst in (4, 8, 16) for row in rows
             if (row.payload_bytes, row.burst_words) == (size, burst)]  # fmt: skip
    listed = [text.partition("words ")[2] for text in published("bpfcap", "table 5.1, ").values()]
    assert [each for text in listed for each in numbers(text) if each not in (8, 16)] == means
    of_table_4 = [each for each in PAPERS["ffshark"].statements if each.where == "table IV"]
    assert {int(n[0]): tuple(n[1:]) for n in (numbers(each.published) for each in of_table_4)} == ROUND_TRIPS_US
    table_5 = " ".join(each.published for each in PAPERS["ffshark"].statements if each.where.startswith("table V"))
    assert {value for each in FFSHARK_SIZES.values() for value in each if value} - {1_161, 1_045_440} <= {
        *numbers(table_5)
    }
    grid = published("manet", "table 3.1, ")
    assert {tuple(map(int, numbers(where)[1:])): tuple(numbers(text)) for where, text in grid.items()} == GRID_MBIT_S
    coverage = published("manet", "table 3.2: ")
    assert {
        tuple(map(int, numbers(where)[1:])): text == "all are reached" for where, text in coverage.items()
    } == COVERAGE
    jammed = published("manet", "table 3.3, ")
    assert {int(numbers(w)[1]): (numbers(t)[0] / 100, int(numbers(t)[1])) for w, t in jammed.items()} == {
        jam: (pytest.approx(part), found) for jam, (part, found) in RESILIENCY.items()
    }
    connections = published("manet", "table 6.1, ")
    assert {tuple(map(int, numbers(w)[1:])): tuple(numbers(t)[:2]) for w, t in connections.items()} == CONNECTIONS_KPPS
    reconfigured = [each.published for each in PAPERS["rosebud"].statements if each.where == "table 4.1"]
    assert {int(numbers(text)[0]): numbers(text)[1] for text in reconfigured} == RPU_RECONFIGURATION_S
    sizes = " ".join(each.published for each in PAPERS["embednet"].statements if each.where.startswith("table 5"))
    assert {value for each in EMBEDNET_SIZES.values() for value in each} <= {
        *numbers(sizes.replace("H2S", "").replace("S2H", ""))
    }


# ---------------------------------------------------------------------------------------- what a list must not be


def tree_with(folder: Path, cell: str = "25.0 Gb/s") -> Path:
    """A tree with figures of one study, and with a test."""
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    table = f"| size | ours | theirs |\n| --- | ---: | ---: |\n| 64 bytes | {cell} | 1, 2 |"
    figures.write({"study rpu": Entry("2026-01-02", False, {"rpu.rates": table, "rpu.word": "T"}, {})}, folder)
    (folder / "test_it.py").write_text("def test_that() -> None: ...")
    return folder


RATE = {"rate": "study rpu.rates | 64 | ours"}
GOOD: dict[str, Any] = {
    "study": "rpu", "where": "table 1", "published": "20 Gb/s", "answer": COMES_OUT, "ours": "{rate} Gb/s",
    "figures": RATE, "holds": "rate > 20",
}  # fmt: skip


def faults(folder: Path, **entry: Any) -> list[str]:
    root = tree_with(folder)
    return statements.faults(Paper("x", "", "", (Statement(**(GOOD | entry)),)), Figures(root), root)


def test_a_good_entry_is_left_alone(tmp_path: Path) -> None:
    assert faults(tmp_path) == []
    assert faults(tmp_path, ours="so", figures={}, holds="", test="test_it.py::test_that") == []
    assert faults(tmp_path, answer=UNTESTED, why="no board", ours="", figures={}, holds="") == []


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"answer": "perhaps"}, "no answer"),
        ({"answer": DIFFERS, "holds": "rate > 30"}, "no why"),
        ({"answer": UNTESTED}, "no why"),
        ({"figures": {}, "holds": "", "ours": "25 Gb/s"}, "nothing of ours that was measured"),
        ({"ours": ""}, "nothing of ours"),
        ({"holds": ""}, "no comparison"),
        ({"ours": "{rate} Gb/s, not 31"}, "31 is not measured"),
        ({"holds": "rate > 30"}, "'comes out', but 25.0 Gb/s: rate > 30?"),
        ({"answer": DIFFERS, "why": "slow"}, '"doesn\'t", but 25.0 Gb/s'),
        ({"holds": "rate > __import__('os')"}, "not a comparison"),
        ({"holds": "rate > other"}, "not a comparison"),
        ({"holds": "rate / 0 > 1"}, "not a comparison"),
        ({"figures": RATE | {"more": "study rpu.rates | 64 | theirs"}}, "more: not used"),
        ({"figures": {"rate": "study rpu.none"}}, "no figure study rpu.none"),
        ({"figures": {"rate": "study rpu.rates | 65 | ours"}}, "0 rows and 1 columns"),
        ({"figures": {"rate": "study rpu.rates | 64 | o | GB"}}, "no such number"),
        ({"figures": {"rate": "study rpu.word"}}, "'T' is no number"),
        (
            {"ours": "so", "figures": {}, "holds": "", "test": "test_it.py::test_other"},
            "no test test_it.py::test_other",
        ),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(entry: dict[str, Any], fault: str, tmp_path: Path) -> None:
    found = faults(tmp_path, **entry)
    assert any(fault in each for each in found), found
    assert all(each.startswith("x.toml: table 1: ") for each in found)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{rate} Gb/s", "25.0 Gb/s"),
        ("{rate / second} times", "12.5 times"),
        ("{100 * rate} %", "2,500 %"),
        ("{second}", "2"),
    ],
)
def test_names_are_filled_in(text: str, shown: str, tmp_path: Path) -> None:
    figures = RATE | {"second": "study rpu.rates | #1 | #2 | #2"}
    assert statements.fill(text, Statement(**(GOOD | {"figures": figures})), Figures(tree_with(tmp_path))) == shown


def test_a_table_follows_its_figures_and_its_list(tmp_path: Path) -> None:
    root = tree_with(tmp_path / "tree")
    (tmp_path / "x.toml").write_text(
        'name = "X"\nsource = "X"\nstudy = "rpu"\n[[statement]]\nwhere = "table 1, $a"\npublished = "$b Gb/s"\n'
        'answer = "comes out"\nours = "{rate}"\nfigures.rate = "study rpu.rates | $a | ours"\nholds = "rate > $b"\n'
        'each = [["64 bytes", "20"]]\npage = 3\n'
    )
    assert "| table 1, 64 bytes, p. 3 | 20 Gb/s | 25.0 | comes out |" in statements.table(
        "rpu", Figures(root), tmp_path
    )
    again = Figures(tree_with(tmp_path / "tree", "19.5 Gb/s"))
    assert "| 19.5 | comes out |" in statements.table("rpu", again, tmp_path)
    [fault] = statements.faults(statements.load(tmp_path / "x.toml"), again, root)
    assert "'comes out', but 19.5" in fault


@pytest.mark.parametrize("text", ["name = ", "name = 'x'", "name='x'\nsource='x'\n[[statement]]\nwhere='x'\nodd=1"])
def test_a_list_that_is_none_is_told_with_its_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(HeadraceError, match=r"x\.toml"):
        statements.papers(tmp_path)


# --------------------------------------------------------------------------------------------------- the command


def test_the_command_writes_the_tables_again(tree: Path) -> None:
    page = tree / "docs/study-rpu.md"
    good = page.read_text()
    page.write_text(re.sub(r"(<!--=statements\.rpu-->).*?(<!--/-->)", r"\1edited by hand\2", good, flags=re.DOTALL))
    assert main(["study", "papers", "--update-docs"]) == 0
    assert page.read_text() == good


def test_the_command_says_which_answer_is_another_now(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = figures.read(tree)
    values = {**entries["bench rpu"].values, "rpu.eight": "7"}
    figures.write(entries | {"bench rpu": replace(entries["bench rpu"], values=values)}, tree)
    assert main(["study", "papers", "rpu"]) == 1
    found = capsys.readouterr()
    assert "rosebud.toml: 3.1.4: 'comes out', but eight units carry a full line of 100 Gb/s at 7 sizes" in found.err
    assert "table 4.1, p. 43" in found.out


def test_the_command_gives_json(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "papers", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: len(paper["statements"]) for name, paper in found.items()} == {
        name: len(paper.statements) for name, paper in PAPERS.items()
    }
    assert "{" not in "".join(each["ours"] for paper in found.values() for each in paper["statements"])


def test_another_study_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "papers", "none"]) == 2
    assert "filter" in capsys.readouterr().err


def test_the_lists_are_in_the_package() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(PAPERS)
