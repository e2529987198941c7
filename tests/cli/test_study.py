"""``headrace study capture``: a small study from end to end, and the published figures that it is put beside."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import statistics
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from headrace.card import Card
from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.evaluate.loads import capture as capture_loads
from headrace.evaluate.loads.capture import CLOCKS, IDEAL, Memory
from headrace.evaluate.study import Point, capture, capture_figures, capture_report, files
from headrace.evaluate.study.capture_points import MEMORIES, SIZES, TABLES, all_points, cards
from headrace.evaluate.study.capture_rows import CaptureStudy
from headrace.evaluate.study.kernel_path import measure_kernel_path
from headrace.evaluate.study.published import BpfcapRow, bpfcap_table_5_1

CARD: dict[str, Any] = {"mem_w": 32, "burst": 16}  # the only one that these tests need
LOAD: dict[str, Any] = {**CARD, "clock_hz": CLOCKS[32]}
SMALL = [
    *(
        Point(
            "table_5_1",
            {"kind": "single", **LOAD, "sizes": SIZES, "memory": MEMORIES[name], "count": 5},
            {"memory": name},
        )
        for name in ("ideal", "bridge")
    ),
    Point(
        "single_packets",
        {"kind": "single", **LOAD, "sizes": [60], "memory": IDEAL, "count": 2},
        {"sweep": "bus width", "memory": "ideal"},
    ),
    Point(
        "back_to_back",
        {"kind": "together", **LOAD, "sizes": [72], "memory": IDEAL, "counts": (1, 2, 8)},
        {"memory": "ideal"},
    ),
    Point(
        "streams", {"kind": "stream", **LOAD, "sizes": [60, 1514], "memory": Memory(100, 100)}, {"sweep": "packet size"}
    ),
    Point(
        "wire",
        {"kind": "wire", "mem_w": 32, "sizes": [60, 300], "count": 200, "memory": IDEAL, "ports": 1},
        {"sweep": "wire"},
    ),
]
PUBLISHED_SUMS = ([229945, 11176, 229841], 153900, 251590)  # added up from the thesis' text by other means
PUBLISHED_SHA256 = "0d8ccf040f4af156e1d9636aeac694226f0c8a31ada06f3ddd6b4cd7416d6587"


# The published figures


@pytest.fixture(scope="module")
def published() -> list[BpfcapRow]:
    return bpfcap_table_5_1()


def test_the_published_table_is_the_one_that_was_checked_against_the_thesis(published: list[BpfcapRow]) -> None:
    assert len(published) == 54
    sums = [sum(getattr(row, name) for row in published) for name in ("mean_ns", "sigma_ns", "median_ns")]
    assert (sums, sum(row.min_ns for row in published), sum(row.max_ns for row in published)) == PUBLISHED_SUMS
    text = resources.files("headrace.evaluate.study").joinpath("data/bpfcap_table_5_1.csv").read_bytes()
    assert hashlib.sha256(text).hexdigest() == PUBLISHED_SHA256
    assert "Duchniewicz" in text.decode() and "TRITA-EECS-EX" in text.decode()


@pytest.mark.parametrize(
    "row",
    [
        BpfcapRow(50, 4, 32, 2209, 114, 2180, 1940, 2520),
        BpfcapRow(50, 8, 1024, 18683, 1379, 18940, 6880, 20640),
        BpfcapRow(100, 8, 512, 4983, 307, 4965, 3110, 5960),
        BpfcapRow(200, 16, 32, 379, 11, 375, 375, 455),
        BpfcapRow(200, 16, 1024, 3370, 199, 3370, 1710, 3675),
    ],
)
def test_rows_of_the_thesis_are_in_the_table(published: list[BpfcapRow], row: BpfcapRow) -> None:
    assert row in published


def test_the_published_table_is_consistent(published: list[BpfcapRow]) -> None:
    settings = {(row.clock_mhz, row.burst_words, row.payload_bytes) for row in published}
    assert settings == {(c, b, p) for c in (50, 100, 200) for b in (4, 8, 16) for p in (32, 64, 128, 256, 512, 1024)}
    for row in published:
        assert row.min_ns <= row.median_ns <= row.max_ns and row.min_ns < row.mean_ns < row.max_ns
        assert row.sigma_ns < row.max_ns - row.min_ns


def test_what_the_report_says_of_the_published_table_is_true(published: list[BpfcapRow]) -> None:
    rows = {(row.clock_mhz, row.burst_words, row.payload_bytes): row for row in published}
    for burst in (4, 8, 16):
        for payload in (32, 64, 128, 256, 512, 1024):
            cycles = [rows[clock, burst, payload].median_ns * clock for clock in (50, 100, 200)]
            assert max(cycles) / min(cycles) < (1.06 if burst == 16 and payload < 128 else 1.013)
    odd = [row for row in published if row.min_ns < 0.7 * row.median_ns]
    assert len(odd) == 25
    for row in odd:
        smaller = rows[row.clock_mhz, row.burst_words, row.payload_bytes // 2]
        assert smaller.min_ns <= row.min_ns <= smaller.max_ns
        assert (row.mean_ns - row.min_ns) / 10 > row.sigma_ns / 2  # what one among 100 adds to sigma
        assert (row.mean_ns - row.min_ns) / 100 < 0.01 * row.mean_ns


# The study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What a small study without the software path writes."""

    def refuse(_count: int) -> None:
        raise HeadraceError("network namespaces need root")

    out = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capture, "all_points", lambda _full: SMALL)
        patch.setattr(capture, "measure_kernel_path", refuse)
        assert main(["study", "capture", "--out", str(out), "--json", str(out / "study.json")]) == 0
    yield out


def rows_of(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_table_is_a_csv_file_with_all_points(folder: Path) -> None:
    counts = {table: len(rows_of(folder, table)) for table in TABLES}
    assert counts == {"table_5_1": 12, "single_packets": 1, "back_to_back": 1, "streams": 2, "wire": 2}
    assert not (folder / "kernel_path.csv").exists()


def test_published_figures_stand_beside_ours(folder: Path, published: list[BpfcapRow]) -> None:
    theirs = {(str(r.clock_mhz), str(r.burst_words), str(r.payload_bytes)): r for r in published}
    for row in rows_of(folder, "table_5_1"):
        paper = theirs[row["clock_mhz"], row["burst_words"], row["payload_bytes"]]
        assert int(row["published_mean_ns"]) == paper.mean_ns and int(row["published_max_ns"]) == paper.max_ns
        assert float(row["ratio"]) == pytest.approx(paper.mean_ns / float(row["mean_ns"]), abs=1e-4)
        assert float(row["mean_ns"]) == pytest.approx(float(row["mean_cycles"]) * 10)
        assert float(row["doorbell_mean_ns"]) > float(row["mean_ns"])
        assert float(row["min_ns"]) <= float(row["median_ns"]) <= float(row["max_ns"])


def test_a_packet_takes_at_least_as_many_cycles_as_its_record_has_words(folder: Path) -> None:
    for row in rows_of(folder, "table_5_1"):
        words = (int(row["payload_bytes"]) + 40 + 16) / 4
        assert words < float(row["min_ns"]) / 10 < words + (60 if row["memory"] == "ideal" else 300)
    for row in rows_of(folder, "streams"):
        assert 0.8 < float(row["share"]) < 1 and float(row["payload_share"]) < float(row["share"])


def test_the_cycles_of_a_point_are_the_same_when_it_is_repeated(folder: Path) -> None:
    rows = [row for row in rows_of(folder, "table_5_1") if row["memory"] == "bridge"]
    again = capture_loads.run(**SMALL[1].arguments)
    assert [float(row["mean_cycles"]) for row in rows] == [statistics.fmean(single.packet_cycles) for single in again]
    assert len({single.packet_cycles for single in again}) == len(again)  # and they vary from packet to packet
    assert all(len(set(single.packet_cycles)) > 1 for single in again)


def test_what_a_slow_bus_can_not_take_off_the_wire_is_dropped_and_counted(folder: Path) -> None:
    for row in rows_of(folder, "wire"):
        assert int(row["packets"]) == 200 and 0 < int(row["dropped"]) < 200 and int(row["faults"]) == 0


def test_the_report_shows_figures_and_says_what_is_not_measured(folder: Path) -> None:
    report = (folder / "report.md").read_text()
    for name in ("figure_5_3", "figure_5_4", "streams", "wire"):
        assert f"({name}.png)" in report
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{name}.svg").read_text()
    assert "Power can't be measured here" in report
    assert "Not measured: network namespaces need root." in report
    for word in ("measured", "modelled", "published", "wall clock"):
        assert f"**{word}**" in report


def test_json_has_all_rows(folder: Path) -> None:
    study = json.loads((folder / "study.json").read_text())
    assert [len(study[table]) for table in TABLES] == [12, 1, 1, 2, 2]
    assert study["faults"] == 0 and study["no_kernel_path"] == "network namespaces need root"


def test_a_wrong_byte_in_the_ring_is_a_fault() -> None:
    with Card.open("capture", capture_loads.parameters(**CARD), progress=False) as card:
        bench = capture_loads._Bench(card, seed=1)
        bench.post(capture_loads._PACKETS, 200)
        assert bench.take_faults() == 0
        bench._lot[[0, 199, 200]] ^= 1  # what it expects is no longer what was there
        bench.post(capture_loads._PACKETS, 200)
        assert bench.take_faults() == 2


def test_the_points_cover_the_table_and_what_lies_beyond() -> None:
    points = all_points(full=True)
    table = {
        (p.arguments["clock_hz"], p.arguments["burst"], p.names["memory"]) for p in points if p.table == "table_5_1"
    }
    assert len(table) == 27 and all(p.arguments["count"] == 100 for p in points if p.table == "table_5_1")
    used = cards(point.arguments for point in points)
    assert {card["mem_w"] for card in used} == {32, 64, 128, 256, 512}
    assert {card["burst"] for card in used if card["mem_w"] == 32} == {1, 2, 4, 8, 16, 32, 64, 128, 256}
    short = all_points(full=False)
    assert len(cards(point.arguments for point in short)) < len(used) / 2
    assert {point.table for point in short} == {point.table for point in points}


def test_an_output_folder_that_can_not_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    study = CaptureStudy(full=True, **{name: [] for name in TABLES}, kernel_path=[], no_kernel_path=None, wall_s=0.0)
    with pytest.raises(HeadraceError, match="file"):
        files.write(study, tmp_path / "file", capture_figures.draw, capture_report.markdown)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("tcpdump"), reason="needs root and tcpdump")
def test_the_software_path_loses_nothing_and_costs_something() -> None:
    rows = measure_kernel_path(300)
    assert [row.received for row in rows] == [0, 300, 300, 300, 300] * 2
    assert all(row.sender_ns > 0 for row in rows)
    assert all(row.latency_ns and row.latency_ns > 0 for row in rows if "blocking" in row.way)
