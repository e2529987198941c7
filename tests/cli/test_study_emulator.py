"""``headrace study emulator``: a small study from end to end."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.evaluate.loads.emulator import FIVE, Single, Streamed
from headrace.evaluate.loads.emulator_fabrics import WAYS, Datagrams, Pair, Stream
from headrace.evaluate.loads.emulator_healing import Healed
from headrace.evaluate.study import emulator, emulator_page
from headrace.evaluate.study.emulator_points import coverage_point, resiliency_point
from headrace.evaluate.study.emulator_published import COVERAGE, RESILIENCY
from headrace.evaluate.study.emulator_rows import CoverageRow, EmulatorStudy, SixRow, StreamRow, Switching
from headrace.evaluate.study.emulator_switching import Beside
from headrace.evaluate.study.emulator_traffic_published import GRID_MBIT_S

NOTHING = EmulatorStudy(
    full=False,
    coverage=[],
    resiliency=[],
    healed=[],
    singles=[],
    streams=[],
    without_traffic="",
    switching=Switching(),
    wall_s=0.0,
)


RUN = itertools.cycle((1.0, 0.5, 4.0))


def singles(nodes: int, payloads: Sequence[int], _seconds: float) -> list[Single]:
    run = next(RUN)
    return [Single(nodes, each, run * each * 1e6, run * each * 4e6, 0.25, run * each * 5e5) for each in payloads]


def streams(pairs: Sequence[tuple[int, int]], nodes: int = 32) -> list[Streamed]:
    return [Streamed(a, b, GRID_MBIT_S.get((a, b), (0, 1))[1], 2e7 / nodes, 100, 100, 0) for a, b in pairs]


def beside() -> Beside:
    ways = [Datagrams("ovs", 4 * count, way, 1e6 * count) for count in (16, 256) for way in WAYS]
    return Beside(
        [Pair("ovs", 1e9, 1e-4)],
        [*ways, *(Datagrams("ovs", size, "none", 1e6 * size) for size in (100, 1_400))],
        {100: 1e8, 1_400: 1e9},
        [Stream("ovs", *ends, 1e8, 0) for ends in FIVE[6]],
        {"software": "no permission"},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study")
    points = [coverage_point(450.0, *cell, seeds=2) for cell in ((4, 0, 1), (2, 1, 1), (1, 4, 4))]
    points += [resiliency_point(450.0, jammed, seeds=2) for jammed in (0, 24)]
    for point in points:
        point.arguments["text"] = point.arguments["text"].replace("duration_s = 600.0", "duration_s = 60.0")
        if point.table == "coverage":
            point.arguments["steps"] = 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emulator, "all_points", lambda _full: points)
        patch.setattr(emulator.switching, "beside", lambda _full, _report: beside())
        patch.setattr(emulator, "healing", lambda *_: [Healed(450.0, seed, 4, 3, 3 - seed) for seed in (0, 1)])
        patch.setattr(emulator.traffic_loads, "single_streams", singles)
        patch.setattr(emulator.traffic_loads, "five_streams", lambda nodes, _seconds: streams([(1, 2)], nodes))
        patch.setattr(emulator.traffic_loads, "table_streams", lambda pairs, _seconds: streams(pairs))
        assert main(["study", "emulator", "--out", str(out), "--json", str(out / "study.json")]) == 1
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


def test_a_jam_after_which_nodes_find_another_number_of_links_fails_the_study(folder: Path) -> None:
    assert json.loads((folder / "study.json").read_text())["faults"] == 1
    assert "| 4 | 3.00 | 2.50 | 1 of 2 |" in (folder / "report.md").read_text()


def test_the_report_has_tables_figures_and_what_was_measured(folder: Path) -> None:
    report = (folder / "report.md").read_text()
    assert "table 3.2" in report and "measured by headrace study emulator on" in report
    for name in emulator_page.FIGURES:
        assert (folder / f"{name}.png").stat().st_size > 5000
        assert "<svg" in (folder / f"{name}.svg").read_text()
    assert "software: not measured: no permission." in report


def test_a_cell_that_comes_out_otherwise_is_a_fault() -> None:
    row = CoverageRow(450.0, 4, 0, 1, 10, 9, 10, 0.99, 0.9, True)
    assert row.reproduced is False
    lost = StreamRow("five streams", 6, 1, 2, 1, 9.0, 10.0, 11.0, 3, None)
    six = Switching(six=[SixRow(1, 2, 1.0, 0.1, 0.2, 2)])
    nearer = replace(row, range_m=250.0)  # at which the thesis may not have been
    assert replace(NOTHING, coverage=[row, nearer], streams=[lost], switching=six).faults == 6


def test_a_page_waits_for_all_fabrics() -> None:
    found = replace(NOTHING, switching=Switching(without={"ovs": "not here"}))
    with pytest.raises(HeadraceError, match="bandwidth was not measured: ovs: not here"):
        emulator_page.values(found)


def test_streams_have_the_published_rates_beside(folder: Path) -> None:
    rows = [row for row in rows_of(folder, "streams") if row["what"] == "table 3.1"]
    assert len(rows) == 20
    assert {row["hops"]: row["published_mbit_s"] for row in rows if row["source"] == "10"} == {"2": "13.1", "1": "22.5"}
    assert all(row["mbit_s"] == "0.625" for row in rows)
    assert {row["published_mbit_s"] for row in rows_of(folder, "streams") if row["what"] == "five streams"} == {""}
    alone = {(row["nodes"], row["payload"]): row for row in rows_of(folder, "singles")}
    assert len(alone) == 12
    of_runs = [alone["32", "1400"][f"within_{name}mbit_s"] for name in ("least_", "", "most_")]
    assert of_runs == ["2800.0", "5600.0", "22400.0"]


def test_a_machine_without_namespaces_has_coverage_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise HeadraceError("no permission")

    monkeypatch.setattr(emulator, "healing", refused)
    assert emulator.with_nodes(True, lambda _what, _done: None) == ([], [], [], "no permission")


def test_published_values_are_those_of_their_source() -> None:
    assert [cell for cell, all_reached in COVERAGE.items() if all_reached] == [(4, 0, 1), (3, 0, 1), (2, 1, 1)]
    assert [round(29 * part) for part, _ in RESILIENCY.values()] == [29, 28, 24, 17, 13]
