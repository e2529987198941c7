"""The loads that ``headrace study switch`` and ``bench switch`` are made of, on a small card; a study of few points."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.evaluate import study
from headrace.evaluate.loads import switch as loads
from headrace.evaluate.loads.switch_network import PARAMETERS
from headrace.evaluate.study import Point, switch
from headrace.net import ovs

TABLES = 4  # that flows use
BEATS = 2  # of the smallest packet

needs_ovs = pytest.mark.skipif(ovs.available() is not None, reason=ovs.available() or "")


@pytest.fixture(autouse=True, scope="module")
def small_card() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loads, "parameters", lambda _tables: PARAMETERS)
        patch.setattr(loads, "CONNECTIONS", 100)
        patch.setattr(loads, "_SPAN", 2_000)
        yield


@needs_ovs
def test_packets_pass_as_fast_as_the_pipeline_takes_them() -> None:
    found = loads.limit(TABLES)
    assert found.cycles / found.packets == pytest.approx(BEATS, rel=0.01)


@needs_ovs
def test_a_full_line_more_than_it_takes_is_lost_and_counted() -> None:
    found = loads.full(TABLES, cycles=20_000)
    assert found.lost > 0 and not found.kept_up
    assert found.packets - found.lost == pytest.approx(20_000 / BEATS, rel=0.2)


@needs_ovs
def test_latency_is_the_same_for_all_packets() -> None:
    found = loads.latency(TABLES)
    assert found.least == found.most > 50


@needs_ovs
def test_nothing_goes_the_old_way_behind_a_barrier() -> None:
    for replace in (False, True):
        assert loads.stale_packets(10, replace) == loads.Stale(10, 0, 0)


@needs_ovs
def test_flows_are_counted_and_take_cycles() -> None:
    assert loads.flow_mods(40).flows == 40
    assert 10 < loads.insertions(40).cycles / 40 < 2_000


@needs_ovs
def test_random_packets_become_what_open_vswitch_makes_of_them() -> None:
    found = loads.compare(2, 40, seed=1)
    assert (found.packets, found.different, found.first) == (80, 0, "")
    assert found.sent > 80


@needs_ovs
def test_a_packet_that_becomes_something_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loads, "_results", lambda _wire, _packet: [(1, b"")])
    found = loads.compare(1, 5, seed=1)
    assert found.different == 5 and found.first.startswith("set 0, port ")


def here(function: Any, points: Sequence[dict[str, Any]], *_: Any) -> list[Any]:
    return [function(**point) for point in points]


@needs_ovs
def test_a_study_has_tables_figures_and_what_it_was_measured_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [
        *(Point("depths", {"kind": kind, "tables": 4}) for kind in ("latency", "limit")),
        Point("small", {"kind": "carried", "tables": 4, "sizes": (64, 512)}),
        Point("connections", {"kind": "connections", "tables": 1, "data": 1, "payload": 100, "times": 1}),
        Point("fir", {"kind": "fir", "samples": 16}),
        Point("barriers", {"kind": "stale_packets", "trials": 4, "replace": False}),
        Point("sizes", {"kind": "size", "part": "ternary", "entries": 8}),
    ]
    monkeypatch.setattr(switch, "all_points", lambda _full: few)
    monkeypatch.setattr(study, "run_points", here)

    def no_rates(*_: Any) -> None:
        raise HeadraceError("not as root")

    monkeypatch.setattr(switch.ovs_rates, "connections", no_rates)
    out = tmp_path / "out"
    assert main(["study", "switch", "--out", str(out), "--json", str(tmp_path / "study.json")]) == 0
    report = (out / "report.md").read_text()
    assert "not as root" in report and "measured by headrace study switch on" in report
    for name in ("sizes", "connections", "small", "fir"):
        assert (out / f"{name}.png").stat().st_size > 5000
    with (out / "small.csv").open(newline="") as file:
        small, large = csv.DictReader(file)
    assert float(small["card_gbit_s"]) == pytest.approx(64 * 8 * 0.322265625 / BEATS, rel=0.1)
    assert float(large["card_gbit_s"]) < 256 * 0.322265625 < float(large["lines_gbit_s"])
    found = json.loads((tmp_path / "study.json").read_text())
    assert found["faults"] == 0
    assert [row["switch"] for row in found["barriers"]] == ["card", "Open vSwitch"]
    assert found["depths"][0]["ovs_new_ns"] is None and found["sizes"][0]["cam_bits"] == 53 * 32 * 8
