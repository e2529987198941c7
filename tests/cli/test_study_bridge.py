"""``headrace study bridge``: a small study from end to end, and the published figures that it is put beside."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.evaluate.bench import bridge as bench_bridge
from headrace.evaluate.loads import bridge as bridge_loads
from headrace.evaluate.loads import bridge_traffic
from headrace.evaluate.loads.bridge import SINGLE
from headrace.evaluate.study import Point, bridge, bridge_figures, bridge_report, files
from headrace.evaluate.study.bridge_points import SIZES, all_points, batching, wire_points
from headrace.evaluate.study.bridge_rows import BridgeStudy
from headrace.evaluate.study.published import EMBEDNET_MBIT_S

LOAD = {
    "kind": "trace",
    "host": "pcie",
    "size": 1024,
    "lower_pps": 100e3,
    "upper_pps": 800e3,
    "intervals_s": (300e-6, 130e-6),
    "seconds": 600e-6,
    "step_s": 100e-6,
    "settings": {**batching(64, 10), "adaptive": True, "target_ns": 20_000},
    "window_log2": 13,
}
POINTS = [
    *(
        Point(
            "throughput",
            {"kind": kind, "host": "pcie", "size": 500, "buffer_kb": kb, "messages": 4},
            {"host": "pcie", "direction": direction, "buffer_kb": kb},
        )
        for direction, kind in (("h2s", "to_software"), ("s2h", "to_hardware"))
        for kb in (SINGLE, 8)
    ),
    Point(
        "latency",
        {
            "kind": "receive_latency",
            "host": "pcie",
            "size": 500,
            "buffer_kb": 64,
            "timeout_ms": 0.01,
            "bits_per_s": 5e8,
            "packets": 50,
        },
        {"direction": "h2s", "buffer_kb": 64, "timeout_ms": 0.01, "rate": 500},
    ),
    Point("traces", LOAD, {"load": "fast", "mode": "adaptive"}),
    *(
        Point(
            "critical",
            {"kind": "critical", "mode": mode, "burst": burst, "packets": 20},
            {"mode": mode, "burst": burst},
        )
        for mode, burst in (("single", False), ("express", True))
    ),
    wire_points()[0],
]


@pytest.fixture(scope="module")
def study() -> BridgeStudy:
    return bridge.measure(points=POINTS)


@pytest.fixture(scope="module")
def folder(study: BridgeStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study")
    files.write(study, out, bridge_figures.draw, bridge_report.markdown)
    return out


def test_no_packet_is_wrong_or_missing(study: BridgeStudy) -> None:
    assert study.faults == 0


def test_batches_get_more_across_than_single_packets(study: BridgeStudy) -> None:
    gains = {row.direction: row.gain for row in study.throughput if row.buffer_kb == 8}
    assert min(gains.values()) > 1.5
    assert all(row.gain == 1 for row in study.throughput if row.buffer_kb == SINGLE)


def test_a_timeout_bounds_latency(study: BridgeStudy) -> None:
    [row] = study.latency
    assert row.min_us < row.median_us <= row.max_us < 10 + 1 + 2  # the timeout, the message, the way


def test_a_trace_has_all_its_steps_and_packets(study: BridgeStudy) -> None:
    [mode] = study.modes
    assert len(study.traces) == 6
    assert mode.delivered == 1 and mode.packets == round(sum(row.offered_mbit_s for row in study.traces) * 100 / 8192)
    assert mode.p99_us <= mode.target_us


def test_a_trace_may_begin_within_the_waves(study: BridgeStudy) -> None:
    steps = bridge_loads.run(**LOAD, begin_s=300e-6).steps
    rest = study.traces[3:]
    assert [step.time_s for step in steps] == pytest.approx([row.time_s for row in rest])
    assert [step.offered_bits_per_s / 1e6 for step in steps] == pytest.approx([r.offered_mbit_s for r in rest], abs=100)


def test_a_critical_packet_passes_the_burst(study: BridgeStudy) -> None:
    alone, express = study.critical
    assert alone.p99_us < express.allowed_us and express.p99_us <= express.allowed_us


def test_a_full_line_goes_both_ways(study: BridgeStudy) -> None:
    [row] = study.wire
    assert row.size == 60 and row.dropped == 0
    assert min(row.h2s_share, row.s2h_share) > 0.99


def test_the_report_has_tables_figures_and_files(study: BridgeStudy, folder: Path) -> None:
    text = (folder / "report.md").read_text()
    for part in ("figure_5_2.png", "figure_5_3.png", "adaptive.png", "wire.png", "| express, in a full line |"):
        assert part in text
        assert "png" not in part or (folder / part).stat().st_size > 10_000
    for name, rows in study.tables.items():
        assert (folder / f"{name}.csv").exists() == bool(rows)
        if rows:
            with (folder / f"{name}.csv").open(newline="") as file:
                assert len(list(csv.DictReader(file))) == len(rows)


def test_json_has_all_rows(study: BridgeStudy) -> None:
    found = json.loads(json.dumps(study.to_json()))
    tables = ("throughput", "latency", "traces", "modes", "critical", "wire", "sizes")
    assert [len(found[name]) for name in tables] == [4, 1, 6, 1, 2, 1, 0] and set(study.tables) == set(tables)


def test_all_points_have_what_the_rows_need() -> None:
    points = all_points(full=True)
    assert {point.table for point in points} == {"throughput", "latency", "traces", "critical", "wire"}
    assert {point.arguments["size"] for point in points if point.table == "throughput"} == set(SIZES)
    assert len(wire_points(every=True)) == 1455


def test_a_wrong_packet_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bridge_traffic.Frames.data
    monkeypatch.setattr(
        bridge_traffic.Frames,
        "data",
        lambda self, number: data(self, number)[:-1] + b"?" if number == 3 else data(self, number),
    )
    latency = bridge_loads.receive_latency("pcie", 500, 64, 0.01, 5e8, 20)
    assert latency.faults > 0


def test_published_figures_are_the_theses() -> None:
    assert EMBEDNET_MBIT_S["h2s", 64] / EMBEDNET_MBIT_S["h2s", SINGLE] == 10


def test_an_address_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "bridge", "--out", str(tmp_path), "--cluster", "nonsense://here"]) == 1
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("headrace: cluster nonsense://here: unknown address scheme")


def test_the_bench_says_what_must_be(study: BridgeStudy) -> None:
    rows = [*bench_bridge._line(study), *bench_bridge._critical(study)]
    assert [row.ok for row in rows] == [True, True, None, True]
