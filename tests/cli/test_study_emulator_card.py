"""What the emulator's study has of chapter 6: messages that the card cuts, and rows of the card and of fabrics."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from function_card import PARAMETERS

from headrace.errors import HeadraceError
from headrace.evaluate.loads import emulator_card, emulator_fabrics, host_card
from headrace.evaluate.loads.emulator import FIVE
from headrace.evaluate.loads.emulator_card import MESSAGE, Cut
from headrace.evaluate.loads.emulator_fabrics import WAYS, Datagrams, Pair, Stream
from headrace.evaluate.loads.host import Carried, Latency
from headrace.evaluate.loads.switch import Filtered
from headrace.evaluate.points import PointsFile
from headrace.evaluate.study import emulator_switching as switching
from headrace.evaluate.study import emulator_switching_report as report
from headrace.evaluate.study.emulator_switching import Beside


@pytest.fixture(autouse=True, scope="module")
def small_card() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_card, "parameters", lambda: PARAMETERS)
        yield


def test_messages_are_cut_and_come_whole() -> None:
    found = emulator_card.cut(1_448, messages=3)
    assert (found.packets, found.lost) == (3 * 45, 0)
    (bps,) = found.bps
    assert 1e9 < bps < PARAMETERS["DATA_W"] * host_card.CLOCK_HZ


def test_packets_that_find_no_room_are_counted_and_dont_count_as_come() -> None:
    found = emulator_card.cut(100, messages=4)
    assert found.packets == 4 * MESSAGE // 100 and 0 < found.lost < found.packets


def test_more_streams_than_functions_are_refused() -> None:
    with pytest.raises(HeadraceError, match="2 streams: the card has functions for 1"):
        emulator_card.cut(1_448, 2)


def card(size: int = 100, streams: int = 5) -> list[tuple[dict[str, object], object]]:
    packets_s, cycles = 1_000_000, 250
    assert packets_s * cycles == host_card.CLOCK_HZ
    found = [
        Cut(1_448, 4, 180, 0, (4e10,)),
        Cut(1_448, 4, 900, 0, tuple(1e9 * number for number in range(1, streams + 1))),
        Cut(size, 4, 2_600, 9, (2e9,)),
        Carried(1, size + 46, 1, 1, 0, 1, 1, cycles, 0, 0, 0, 0),
        Filtered(16, 1_000, 16_000, 322_000_000),
        Latency(102, 20, 1_000, 900, 1_000),
    ]
    return [({}, each) for each in found]


def fabrics() -> Beside:
    ways = zip(WAYS, (3e7, 2e7, 1e7), strict=True)
    return Beside(
        [Pair("ovs", 5e8, 2e-4), Pair("software", 1e10, 6e-5)],
        [Datagrams("ovs", 64, way, bps) for way, bps in ways] + [Datagrams("ovs", 100, "none", 4e7)],
        {100: 5e7},
        [Stream(fabric, *ends, 1e8, 0) for fabric in ("ovs", "software") for ends in FIVE[6]],
    )


def lines_of(table: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_the_card_stands_beside_fabrics_and_published_values() -> None:
    found = switching.rows(card(), fabrics())
    pairs = lines_of(report.pairs_table(found))
    assert pairs["the card, modelled, nodes take no time"] == ["40.0", "8.0"]  # there and back, 1,000 cycles each
    assert pairs["Open vSwitch here"] == ["0.50", "200.0"]
    assert lines_of(report.small_table(found))["100 bytes"] == ["0.80", "2.00", "0.040", "0.050", "0.79", "1.21"]
    six = lines_of(report.six_table(found))
    assert six["n6 to n3"] == ["5.00", "0.10", "0.10", "0"] and six["all together"] == ["15.0", "0.50", "0.50", "0"]
    assert lines_of(report.filter_table(found))["16"] == ["10.3", "0.030", "0.020", "0.010", "3.0"]


def test_a_fabric_that_isnt_there_leaves_its_cells_empty() -> None:
    found = switching.rows(card(), Beside(without={"ovs": "not installed", "software": "no permission"}))
    assert [row.fabric for row in found.pairs] == ["card"]
    assert lines_of(report.six_table(found))["all together"] == ["15.0", "", "", "0"]
    assert lines_of(report.filter_table(found))["16"] == ["10.3", "", "", "", ""]


def test_a_fabric_that_fails_is_told_and_the_others_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(found: Beside, fabric: str, *_: object) -> None:
        if fabric == "software":
            raise HeadraceError("no permission")
        found.streams += emulator_fabrics.six_nodes(fabric, 1.0, 2)

    monkeypatch.setattr(switching.emulator_fabrics, "why_not", lambda _fabric: None)
    monkeypatch.setattr(switching, "_measure", measure)
    rates = iter((1e8, 3e8))

    def streams(_nodes: int, _seconds: float, *, phys: int, fabric: str) -> list[object]:
        assert (phys, fabric) == (3, "ovs")
        return [emulator_fabrics.emulator.Streamed(1, 2, 1, next(rates), 9, 8, 1)]

    monkeypatch.setattr(emulator_fabrics.emulator, "five_streams", streams)
    found = switching.beside(True, lambda _what, _done: None)
    assert found.without == {"software": "no permission"}
    assert found.streams == [Stream("ovs", 1, 2, 2e8, 2)]  # a mean rate, and all that were lost


def test_a_machine_without_iperf3_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "iperf3" else which(name))
    found = switching.beside(True, lambda _what, _done: None)
    assert found.without == dict.fromkeys(("ovs", "software"), "iperf3 is not installed")


def test_points_that_were_found_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    with PointsFile(path, "x", [emulator_card]) as file:
        for number, (_, result) in enumerate(card()):
            file[{"number": number}] = result
    with PointsFile(path, "x", [emulator_card]) as file:
        assert [file[{"number": number}] for number in range(6)] == [result for _, result in card()]
