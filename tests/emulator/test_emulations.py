"""The loads of the emulator's bench: what is measured in nodes follows the model, and what the bench says of it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.emulator.linking import links
from headrace.emulator.radio import Scene
from headrace.emulator.scenario import parse
from headrace.errors import HeadraceError
from headrace.evaluate.bench import Row
from headrace.evaluate.bench import emulator as bench
from headrace.evaluate.loads import coverage, emulations, link
from headrace.evaluate.loads.emulations import Jammed, Reached
from headrace.evaluate.loads.emulator import Scale
from headrace.evaluate.loads.emulator_hosts import Spread


@pytest.mark.live
def test_what_a_jammed_link_loses_and_carries_is_what_the_model_says() -> None:
    [power] = emulations.powers([0.3])
    found = emulations.jam(power, 600)
    assert found.loss == pytest.approx(0.3, abs=0.05) and found.rate_bps == 6e6
    assert found.deviation < 5
    assert found.measured_bps < 6e6 * (1 - found.loss) * 1.1  # less where the machine is busy
    assert found.far_loss < 0.05 and found.far_deviation < 5


@pytest.mark.live
def test_who_has_a_way_answers() -> None:
    found = emulations.reached(emulations.SMALL, ["software"], 2)
    assert found.same == 2
    assert found.expected[0] != found.expected[1]
    every = list(itertools.combinations(range(6), 2))
    assert found.expected[0] != every  # there are pairs that have no way


def test_a_pair_too_many_or_too_few_is_seen() -> None:
    expected = [[(0, 1)], [(0, 1), (1, 2)]]
    assert Reached(expected, {"a": expected, "b": expected}).same == 2
    assert Reached(expected, {"a": expected, "b": [[(0, 1)], [(0, 1)]]}).same == 1
    assert Reached(expected, {"a": [[(0, 1), (0, 2)], expected[1]]}).same == 1


def test_the_jammers_power_gives_the_loss_that_is_asked_for() -> None:
    clear, weak, strong = (
        parse(Path("x"), emulations.jamming(power)) for power in (None, *emulations.powers([0.1, 0.5]))
    )
    losses = [links(each.radio, Scene.of(each.movement, 0.0), 1)[0, 1].loss for each in (clear, weak, strong)]
    assert losses[1:] == pytest.approx([0.1, 0.5], abs=0.03) and losses[0] < 0.1


def test_rows_say_what_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Jammed(10.0, 3.6, 6e6, 0.25, 1000, 740, 4.5e6, 0.0, 1000)
    monkeypatch.setattr(emulations, "powers", lambda _losses: [10.0])
    for found, ok in (
        (good, [True, True]),
        (replace(good, received=900), [False, True]),
        (replace(good, far_received=900), [False, True]),
        (replace(good, measured_bps=6e6), [True, False]),
    ):
        monkeypatch.setattr(emulations, "jam", lambda _power, _frames, f=found: f)
        rows = list(bench._jamming(False, None, lambda _what, _done: None))
        assert [row.ok for row in rows] == ok * 2


def test_cells_that_come_out_otherwise_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(_function: object, points: list[dict[str, object]], *_: object) -> list[object]:
        return [
            coverage.Coverage(10, 10, 10, 1.0, 1.0)
            if point["kind"] == "coverage"
            else coverage.Resiliency(2, int(str(point["jammed"])), 1.0, 0.5, 0.6, 0.5, 0.7, 3.0)
            for point in points
        ]

    monkeypatch.setattr(bench, "run_points", here)
    cells, *rows = bench._coverage(False, None, lambda _what, _done: None)
    assert (cells.value, cells.ok) == (3, False)  # all are reached, where five cells say no
    assert [row.ok for row in rows] == [False, False, True, True]


def test_links_in_rtl_are_held_to_their_bounds() -> None:
    delay = link.Delay(1_000_000, 1514, 10, 1e8, 120_000.0, 119_500.0, 120_900.0, 0, 0)
    rate = link.Rate(1e6, 1514, 100, 1_000_500.0)
    lost = link.Lost("loss 1%", 10_000, 110, 100.0, 40.0)
    assert [bench._link(each).ok for each in (delay, rate, lost)] == [True] * 3
    for bad in (
        replace(delay, wrong=1),
        replace(delay, most_ns=121_100.0),
        replace(rate, measured_bps=1_002_000.0),
        replace(lost, lost=141),
    ):
        assert bench._link(bad).ok is False


def test_scale_is_held_to_the_script_and_to_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Scale(12, 4, 99, 24, 48, 3.0, 2.0, 4e6, 480, 480, 0, 0.01)
    for found, ok in (
        (good, [True, True, None]),
        (replace(good, built_s=4.1), [False, True, None]),
        (replace(good, lost=1), [True, False, None]),
    ):
        monkeypatch.setattr(bench.traffic, "scale", lambda _nodes, f=found: f)
        assert [row.ok for row in bench._scale(False, None, lambda _what, _done: None)] == ok


def test_hosts_are_held_to_all_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Spread([["n1"], ["n2"], ["n3"]], 3, 3, 6, 6, "n3 is down", ["n3"], 1, 1, {}, ["c"], 0)
    monkeypatch.setattr(bench.namespaces, "why_not", lambda: None)
    monkeypatch.setattr(bench.emulator_hosts, "three_hosts", contextlib.nullcontext)
    for found, ok in (
        (good, [True, True, True]),
        (replace(good, answered=2), [False, True, True]),
        (replace(good, whole=5), [True, False, True]),
        (replace(good, answered_then=0), [True, True, False]),
        (replace(good, down=[]), [True, True, False]),
        (replace(good, left=1), [True, True, False]),
    ):
        monkeypatch.setattr(bench.emulator_hosts, "spread", lambda _hosts, f=found: f)
        assert [row.ok for row in bench._hosts(False, None, lambda _what, _done: None)] == ok
    monkeypatch.setattr(bench.namespaces, "why_not", lambda: "network namespaces need root")
    [row] = bench._hosts(False, None, lambda _what, _done: None)
    assert (row.value, row.ok, row.note) == ("not run", None, "network namespaces need root")


def test_a_part_that_cant_be_measured_is_a_missed_row_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def some(*_: object) -> Iterator[Row]:
        yield bench._row("a link", "1", 1, "", True, bench.MEASURED)
        raise HeadraceError("no permission")

    def all_of_it(*_: object) -> Iterator[Row]:
        yield bench._row("a node", "1", 1, "", True, bench.MEASURED)

    monkeypatch.setattr(bench, "_PARTS", {"links": some, "nodes": all_of_it})
    rows = bench.run(False, None, lambda _what, _done: None)
    assert [(row.what, row.ok) for row in rows] == [("a link", True), ("links: the rest", False), ("a node", True)]
    assert rows[1].note == "no permission"
