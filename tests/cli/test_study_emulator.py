"""``headrace study emulator``: a small study from end to end."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.evaluate.study import emulator, emulator_page
from headrace.evaluate.study.emulator_published import COVERAGE, RESILIENCY


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study")
    points = [emulator.coverage_point(450.0, *cell, seeds=2) for cell in ((4, 0, 1), (2, 1, 1), (1, 4, 4))]
    points += [emulator.resiliency_point(450.0, jammed, seeds=2) for jammed in (0, 24)]
    for point in points:
        point.arguments["text"] = point.arguments["text"].replace("duration_s = 600.0", "duration_s = 60.0")
        if point.table == "coverage":
            point.arguments["steps"] = 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emulator, "all_points", lambda _quick: points)
        assert main(["study", "emulator", "--out", str(out), "--json", str(out / "study.json")]) == 0
    return out


def rows_of(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_rows_have_the_published_values_beside(folder: Path) -> None:
    found = {row["phys"]: row for row in rows_of(folder, "coverage")}
    assert [found[phys]["published"] for phys in "421"] == ["True", "True", "False"]
    assert found["1"]["full"] == "0" and float(found["1"]["mean"]) == 0.5  # eight pairs
    assert found["4"]["full"] == found["4"]["scenes"] == "4"
    none, many = rows_of(folder, "resiliency")
    assert float(none["after"]) == float(none["left"]) == 1 and none["found"] == "0.0"
    assert float(many["after"]) >= float(many["left"]) and many["published"] == "0.448"


def test_the_report_has_tables_figures_and_what_was_measured(folder: Path) -> None:
    report = (folder / "report.md").read_text()
    assert "table 3.2" in report and "measured by headrace study emulator on" in report
    for name in emulator_page.FIGURES:
        assert (folder / f"{name}.png").stat().st_size > 5000
    assert json.loads((folder / "study.json").read_text())["faults"] == 0


def test_a_cell_that_comes_out_otherwise_is_a_fault() -> None:
    row = emulator.CoverageRow(450.0, 4, 0, 1, 10, 9, 10, 0.99, 0.9, True)
    assert row.reproduced is False
    assert emulator.EmulatorStudy(True, [row], [], 0.0).faults == 1


def test_published_values_are_those_of_their_source() -> None:
    assert [cell for cell, all_reached in COVERAGE.items() if all_reached] == [(4, 0, 1), (3, 0, 1), (2, 1, 1)]
    assert [round(29 * part) for part, _ in RESILIENCY.values()] == [29, 28, 24, 17, 13]
