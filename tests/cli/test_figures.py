# SPDX-License-Identifier: Apache-2.0
"""``headrace figures``: the committed figures, which of them are stale, and the pages filled from them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import pytest
from stale_figures import StaleFigures

from headrace import paths
from headrace.cli import figures as command
from headrace.cli import main
from headrace.evaluate import figures, measured
from headrace.evaluate.committed import MEASUREMENTS
from headrace.evaluate.figures import NOTE
from headrace.evaluate.measured import Measurement, Sources

REPOSITORY = paths.share()
FILE = "rtl/filter/bpf_core.sv"
STALE = {"bench filter": [FILE], "bench size-fit": [FILE], "study rpu": []}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A manual whose figures are as measured, but for some; their sources are never looked at."""
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs")
    shutil.copytree(REPOSITORY / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "README.md", tmp_path)
    monkeypatch.setattr(measured.paths, "share", lambda: tmp_path)
    monkeypatch.setattr(Sources, "digests", lambda _self, each: files_of(each))
    entries = figures.read(tmp_path)
    for name, entry in entries.items():
        files = {} if name == "study rpu" else {FILE: "old"} if name in STALE else files_of(MEASUREMENTS[name])
        took = 90.0 if name == "bench sim" else None
        entries[name] = replace(entry, files=files, date="2026-01-02", processor_s=took)
    figures.write(entries, tmp_path)
    return tmp_path


def files_of(measurement: Measurement) -> dict[str, str]:
    return {FILE: f"new {measurement.command}"}


def test_all_are_shown_with_their_date_and_what_changed(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"headrace bench filter, 2026-01-02: {FILE} changed" in lines
    assert f"headrace bench size-fit, 2026-01-02, place and route: {FILE} changed" in lines
    assert "headrace study rpu, 2026-01-02: measured before its files were recorded" in lines
    assert "headrace bench sim, 2026-01-02, 1.5 min of processor time: as measured" in lines
    assert "  filter.latency = 1" in lines and "  filter.table: 11 rows" in lines
    assert sum(line.startswith("headrace ") for line in lines) == len(MEASUREMENTS)


def test_one_command_s_are_shown_with_their_tables(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figures", "bench filter"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("headrace bench filter") and "| what | must be | is | how it is known |" in lines
    assert sum(line.startswith("headrace ") for line in lines) == 1


def test_json_has_all_of_it(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figures", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == set(MEASUREMENTS)
    assert {name: each["changed"] for name, each in found.items() if each["stale"]} == STALE
    sim = found["bench sim"]
    assert (sim["date"], sim["fit"], sim["processor_s"]) == ("2026-01-02", False, 90)
    assert (found["bench size-fit"]["fit"], found["bench size-fit"]["processor_s"]) == (True, None)
    assert sim["values"]["sim.table"].startswith("| what |")


def test_pages_are_filled_once(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tree / "docs/performance.md"
    page.write_text(page.read_text().replace("<!--=filter.table-->", "<!--=filter.table-->by hand"))
    assert main(["figures", "--fill"]) == 0
    assert "headrace: docs/performance.md: filled" in capsys.readouterr().err
    assert "by hand" not in page.read_text()
    assert page.read_text().count(NOTE) == 3  # the filter card's table, and two of sizes
    assert (tree / "README.md").read_text().count(NOTE) == 2
    assert (tree / "docs/study-rpu.md").read_text().count(NOTE) == 5
    assert NOTE not in (tree / "docs/study-bridge.md").read_text()
    assert main(["figures", "--fill"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "code", "wanted"),
    [
        ([], 0, ["study rpu --update-docs --out build/rpu-study", "bench filter --update-docs"]),
        (["--fit"], 0, ["bench size-fit --update-docs"]),
        (["bench filter"], 1, ["bench filter --update-docs"]),
        (["bench sim"], 0, []),
    ],
)
def test_what_is_stale_is_measured(
    tree: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int, wanted: list[str]
) -> None:
    called = []

    def run(words: Sequence[str], **_: Any) -> CompletedProcess[str]:
        called.append(" ".join(words[len(paths.command()) :]))
        return CompletedProcess([], 3 * code)

    monkeypatch.setattr(command.subprocess, "run", run)
    assert main(["figures", "--measure", *options]) == code
    assert called == wanted


def test_after_all_tests_the_stale_ones_are_listed(tree: Path) -> None:
    lines: list[str] = []
    StaleFigures().pytest_terminal_summary(SimpleNamespace(write_line=lines.append))  # type: ignore[arg-type]
    assert lines[0].startswith("stale figures") and len(lines) == 1 + len(STALE)
    assert f"  headrace bench filter: {FILE} changed" in lines


@pytest.mark.parametrize("words", [["none"], ["--fit"]])
def test_other_words_are_refused(words: list[str]) -> None:
    assert main(["figures", *words]) == 2
