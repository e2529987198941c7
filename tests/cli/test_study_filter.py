"""``headrace study filter``: a small study on the card, and what it says of the published numbers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.evaluate.loads.filter import ADDRESS, CLASSES, HTTP
from headrace.evaluate.study import Point
from headrace.evaluate.study import filter as filter_study
from headrace.evaluate.study import filter_published as published

SMALL = [
    Point("sizes", {"kind": "sized", "sizes": ["60", "1572"], "count": 50, "cores": 8}),
    *(Point("classes", {"kind": "classed", "expression": each, "count": 5, "cores": 8}) for each in CLASSES),
    Point("cores", {"kind": "mixed", "expression": ADDRESS, "count": 200, "cores": 8}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    out = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filter_study, "all_points", lambda _full: SMALL)
        assert main(["study", "filter", "--out", str(out), "--json", str(out / "study.json")]) == 0
    yield out


def rows_of(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_packets_go_through_in_a_cycle_and_none_is_lost(folder: Path) -> None:
    for row in rows_of(folder, "sizes"):
        assert (row["packets"], row["lost"], row["uninspected"], row["latency_cycles"]) == ("50", "0", "0", "1")
        assert float(row["ns"]) == pytest.approx(1e9 / 322_265_625, abs=1e-6)


def test_the_rtl_takes_as_many_instructions_as_the_compiled_programs_paths_have(folder: Path) -> None:
    """FFShark's listing 1 has those of table II; of table III today's libpcap takes one more for what is accepted."""
    found = {(row["table"], row["name"]): float(row["instructions"]) for row in rows_of(folder, "classes")}
    assert [found["II", each.name] for each in CLASSES[ADDRESS]] == [each.instructions for each in CLASSES[ADDRESS]]
    assert [found["III", each.name] for each in CLASSES[HTTP]] == [4, 6, 13, 29, 13]


def test_shares_are_those_of_whole_tables() -> None:
    assert all(sum(each.share for each in classes) == pytest.approx(1) for classes in CLASSES.values())


def test_eight_cores_inspect_the_mix(folder: Path) -> None:
    [row] = rows_of(folder, "cores")
    assert (row["cores"], row["packets"], row["uninspected"]) == ("8", "200", "0") and float(row["cpi"]) == 1


def test_sizes_stand_beside_the_published_ones_and_the_whole_cards_elsewhere(folder: Path) -> None:
    parts = {(row["part"], row["what"]): int(row["luts"]) for row in rows_of(folder, "parts")}
    assert parts["whole", "FFShark, Vivado"] == 56_250 and 0 < parts["chopper", "Headrace, filter_dispatch"] < 4_112
    assert len(parts) == 7
    assert "whole: Headrace, six cores | by `headrace bench size-fit`" in (folder / "report.md").read_text()
    report = (folder / "report.md").read_text()
    assert "measured by headrace study filter on" in report and (folder / "insertion.svg").exists()
    assert json.loads((folder / "study.json").read_text())["faults"] == 0


@pytest.mark.parametrize(("size", "us"), [(100, 1.021), (164, 0.301), (292, 0.3645), (1572, 0.456)])
def test_insertion_latency_is_half_of_what_round_trips_differ_by(size: int, us: float) -> None:
    assert published.insertion_us(size) == pytest.approx(us, abs=1e-9)


def test_cores_by_the_papers_equations_and_by_time() -> None:
    """Table II by hand: 8.1 instructions of 40 ns a packet, 54.4 ns of a line; table III: 9.85."""
    two, three = ([(each.share, each.instructions) for each in CLASSES[each]] for each in (ADDRESS, HTTP))
    assert (published.cores_by_rates(two, 680), published.cores_by_times(two, 680)) == (6, 6)
    assert (published.cores_by_rates(three, 680), published.cores_by_times(three, 680)) == (6, 8)
