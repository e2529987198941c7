"""Points of a study are kept as they are found: one that was ended goes on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from distributed import Client
from patience import until

from headrace.cli import common
from headrace.errors import HeadraceError
from headrace.evaluate import points
from headrace.evaluate.loads import bridge, bridge_traffic, capture
from headrace.evaluate.loads.bridge import Step, Trace
from headrace.evaluate.loads.bridge_traffic import Latency
from headrace.evaluate.loads.capture import Flow, Memory, Single
from headrace.evaluate.points import PointsFile, run_points

MODULES = [bridge, bridge_traffic, capture]
POINTS: list[dict[str, Any]] = [{"size": size, "memory": Memory(read_ns=5)} for size in (60, 61, 62)]
FLOW = Flow(60, 5, 17, 380, 0.1 + 0.2, 1 / 3)
TRACE = Trace((Step(0.0, 1.5, 1.0, 2.0, 3.0),), 5, 4, 2, Latency(4, 1.0, 2.0, 3.0, 4.0, 0))


def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    found = [[Single(60, (34, 35), (45, 46), 0), FLOW], TRACE, None]
    with PointsFile(tmp_path / "new" / "points.jsonl", "rtl 1", MODULES) as store:
        for point, result in zip(POINTS, found, strict=True):
            store[point] = result
    with PointsFile(tmp_path / "new" / "points.jsonl", "rtl 1", MODULES) as store:
        assert [store[point] for point in POINTS] == found
        assert {"size": 60, "memory": Memory(read_ns=6)} not in store


def test_points_of_other_sources_are_dropped(tmp_path: Path) -> None:
    with PointsFile(tmp_path / "points", "rtl 1", MODULES) as store:
        store[POINTS[0]] = FLOW
    with PointsFile(tmp_path / "points", "rtl 2", MODULES) as store:
        assert POINTS[0] not in store
    with PointsFile(tmp_path / "points", "rtl 1", MODULES) as store:
        assert POINTS[0] not in store


def test_a_line_that_was_cut_off_costs_its_point_only(tmp_path: Path) -> None:
    path = tmp_path / "points"
    with PointsFile(path, "rtl 1", MODULES) as store:
        store[POINTS[0]], store[POINTS[1]] = FLOW, FLOW
    path.write_text(path.read_text()[:-30])
    with PointsFile(path, "rtl 1", MODULES) as store:
        assert POINTS[0] in store and POINTS[1] not in store
        store[POINTS[1]] = FLOW
    with PointsFile(path, "rtl 1", MODULES) as store:
        assert POINTS[1] in store


def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []

    def run(
        function: Any, wanted: Sequence[dict[str, Any]], _address: None, progress: Any, store: PointsFile
    ) -> dict[int, Any]:
        """In this process instead of a cluster's, until the third ends it."""
        for number, point in enumerate(wanted):
            if number == 2:
                raise KeyboardInterrupt
            ran.append(point["size"])
            store[point] = function(**point)
            progress(number + 1)
        return {}

    def load(size: int, memory: Memory) -> Latency:
        return Latency(size, memory.read_ns, 0, 0, 0, 0)

    monkeypatch.setattr(points, "_run", run)
    done: list[tuple[int, int]] = []
    with PointsFile(tmp_path / "points", "rtl", MODULES) as store, pytest.raises(KeyboardInterrupt):
        run_points(load, POINTS, store=store)
    with PointsFile(tmp_path / "points", "rtl", MODULES) as store:
        found = run_points(load, POINTS, progress=lambda n, all_: done.append((n, all_)), store=store)
    assert ran == [60, 61, 62] and done == [(3, 3)]
    assert [result.packets for result in found] == [60, 61, 62]


def test_points_run_beside_each_other_and_are_in_the_file_as_each_is_found(tmp_path: Path) -> None:
    path = tmp_path / "points"

    def load(size: int, memory: Memory) -> Latency:
        (tmp_path / f"{size}").touch()
        others = [tmp_path / "60", tmp_path / "61"]
        until(lambda: all(other.exists() for other in others), "another point beside this one")
        until(lambda: size != 62 or '"packets": 6' in path.read_text(), "another point in the file")
        return Latency(size, memory.read_ns, 0, 0, 0, 0)

    with PointsFile(path, "rtl", MODULES) as store, Client(n_workers=2, threads_per_worker=1) as two:
        found = run_points(load, POINTS, two.scheduler.address, store=store)
    assert [result.packets for result in found] == [60, 61, 62]


def test_a_whole_file_needs_no_cluster(tmp_path: Path) -> None:
    with PointsFile(tmp_path / "points", "rtl", MODULES) as store:
        for point in POINTS:
            store[point] = FLOW
        assert run_points(capture.run, POINTS, "nonsense://here", store=store) == [FLOW] * 3


def test_a_file_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadraceError, match="file"):
        PointsFile(tmp_path / "file" / "points", "rtl", MODULES)


def test_progress_is_told_without_a_terminal_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 1.0, 2.0, common._EVERY_S + 3.0, common._EVERY_S + 4.0])
    monkeypatch.setattr("headrace.cli.common.time.monotonic", lambda: next(clock))
    with common.long_progress() as progress:
        for what, done in (("cards", None), ("points", 0.0), ("points", 0.1), ("points", 0.2), ("points", 1.0)):
            progress(what, done)
    assert capsys.readouterr().err == "cards\npoints 0%\npoints 20%\npoints 100%\n"
