"""``headrace study rpu``: a small study from end to end, and the loads that it and the bench are made of."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.evaluate.loads import rpu as loads
from headrace.evaluate.study import Point, rpu
from headrace.evaluate.study.published import RPU_RECONFIGURATION_S, rosebud_cycles

ONE = {"units": 1, "sizes": [64]}
SMALL = [
    Point("rates", {"kind": "limit", **ONE}, {"what": "forwarded"}),
    Point("rates", {"kind": "limit", **ONE, "name": "basic"}, {"what": "the original's"}),
    Point("rates", {"kind": "generate", **ONE}, {"what": "generated"}),
    Point("rates", {"kind": "limit", **ONE, "name": "crc", "accelerator": "crc"}, {"what": "CRC checked"}),
    Point("stays", {"kind": "stay", **ONE, "loads": (0.01, 0.1)}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    out = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rpu, "all_points", lambda _full: SMALL)
        assert main(["study", "rpu", "--out", str(out), "--json", str(out / "study.json")]) == 0
    yield out


def rows_of(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_what_a_unit_takes_for_a_packet_is_within_what_is_claimed(folder: Path) -> None:
    cycles = {row["what"]: float(row["cycles"]) for row in rows_of(folder, "rates")}
    assert cycles["forwarded"] < 8 < cycles["the original's"] <= 14 < cycles["generated"] < 40
    for row in rows_of(folder, "rates"):
        assert float(row["gbit_s"]) == pytest.approx(64 * 8 * 0.25 / float(row["cycles"]), rel=1e-3)
        assert float(row["gbit_s"]) < float(row["line_gbit_s"]) < 100
        assert (row["rosebud_gbit_s"] == "") == (row["what"] in ("generated", "CRC checked"))


def test_a_packet_stays_as_long_as_its_beats_and_the_program_take(folder: Path) -> None:
    alone, beside = rows_of(folder, "stays")
    assert float(alone["least_cycles"]) == float(alone["most_cycles"]) < 80
    assert float(beside["most_cycles"]) < 200
    assert float(alone["mean_ns"]) == pytest.approx(4 * float(alone["mean_cycles"]))


def test_the_report_has_tables_figures_and_what_was_measured(folder: Path) -> None:
    report = (folder / "report.md").read_text()
    assert "figure 4.2" in report and "measured by headrace study rpu on" in report
    for name in ("figure_4_2", "figure_4_3", "stay"):
        assert (folder / f"{name}.png").stat().st_size > 5000
    assert json.loads((folder / "study.json").read_text())["faults"] == 0


def test_published_figures_are_those_of_their_sources() -> None:
    assert (rosebud_cycles(64), rosebud_cycles(1500), rosebud_cycles(20)) == (16, 106, 14)
    assert RPU_RECONFIGURATION_S == {1: 2.34, 4: 9.02, 8: 16.5}


def test_a_full_line_that_a_unit_can_take_is_kept_up_with_and_one_that_it_cannot_is_not() -> None:
    large, small = loads.full(1, [1500, 64], cycles=6_000)
    assert large.kept_up and large.lost == 0
    assert not small.kept_up


def test_verdicts_are_those_of_an_oracle() -> None:
    for found in (loads.firewall(1_500), loads.intrusion(600)):
        assert found.wrong == 0 < found.stopped < found.packets
