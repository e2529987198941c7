"""The loads that ``headrace study host`` and ``bench host`` are made of, on a small card; a study of few points."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from function_card import PARAMETERS

from headrace.card import Card
from headrace.card.functions import Functions, QueueCounters, Side
from headrace.cli import main
from headrace.evaluate import study
from headrace.evaluate.bench import host as bench
from headrace.evaluate.loads import host as loads
from headrace.evaluate.loads import host_card, host_paths, host_rings, pcie_link
from headrace.evaluate.loads.host_paths import Cost
from headrace.evaluate.loads.pcie_link import COMPLETION, REQUEST, Moved
from headrace.evaluate.study import Point, host, host_points

WIRE = pcie_link.wire(3, 8)


@pytest.fixture(autouse=True, scope="module")
def small_card() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_card, "parameters", lambda: PARAMETERS)
        patch.setattr(loads, "WARM", 3_000)
        yield


def test_functions_carry_and_every_packet_has_its_accesses_of_memory() -> None:
    found = loads.carried(256, functions=2, span=3_000, spans=1)
    assert found.lost == 0 and found.least > 0
    assert found.line_bit_s == pytest.approx(8 * 276 * min(found.sent, found.received) * 250e6 / found.cycles)
    # At the beginning up to a fetch's 32 packets had been read, or written, and weren't counted yet.
    assert found.read_bytes >= 256 * (found.sent - 32) and found.write_bytes >= 256 * (found.received - 32)


def test_who_offers_little_has_it_beside_who_offers_a_lot() -> None:
    alone, beside = (loads.fair(loud, frames=4, functions=2) for loud in (False, True))
    assert (alone.offered, alone.arrived, alone.least_share) == (4, 4, 1.0)
    assert beside.arrived == 4 and beside.loud_packets_s > 1e6 and alone.loud_packets_s == 0
    assert 0 < alone.median_ns <= alone.p99_ns <= alone.most_ns < 10_000


def test_latency_has_the_latencies_of_host_memory_in_it() -> None:
    near, far = (loads.latency(64, 2, read_latency_ns=ns) for ns in (0, 1_000))
    assert near.least > 20
    assert far.least >= near.least + 2 * 250  # a descriptor, and the packet


def test_interrupts_that_wait_are_fewer_and_later() -> None:
    at_once, moderated = (loads.moderated(packets, ns, 500, 64) for packets, ns in ((1, 0), (16, 50_000)))
    assert at_once.frames == moderated.frames == 64
    assert moderated.interrupts == 4 < at_once.interrupts
    assert moderated.median_ns > at_once.median_ns + 8 * 500 / 2


def test_rings_with_anything_in_them_reach_nobody() -> None:
    found = host_rings.mutated(60, seed=2)
    assert found.rings >= 60 and sum(found.failed) > 10 and found.refused > 0
    assert (found.leaked, found.full, found.stuck, found.wrong) == (0, 0, 0, 0)


def test_a_mark_in_anothers_memory_and_frames_that_do_not_come_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    check = host_rings._Liars._check_memory

    def wrong_byte(self: Any) -> None:
        marks = list(self.marks.items())
        self.host.card.memory.write(host_rings.BASE + 100, marks[-1][1], function=marks[1][0])
        check(self)

    monkeypatch.setattr(host_rings._Liars, "_check_memory", wrong_byte)
    monkeypatch.setattr(host_rings, "_PATIENCE", 0)
    found = host_rings.mutated(2, seed=1)
    assert found.leaked and found.stuck and found.wrong


def test_a_frame_that_the_card_had_no_room_for_is_not_lost_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of each honest function's is taken away, of which the card counts one as dropped."""
    received, counters = Card.received, Functions.counters
    taken: set[int] = set()

    def without_one(self: Card, port: int) -> list[Any]:
        frames = received(self, port)
        if not frames or port in taken:
            return frames
        taken.add(port)
        return frames[1:]

    def one_more(self: Functions, side: Side, queue: int) -> QueueCounters:
        found = counters(self, side, queue)
        return found._replace(dropped_full=found.dropped_full + (side == Side.RECEIVE and queue == 0))

    monkeypatch.setattr(Card, "received", without_one)
    monkeypatch.setattr(Functions, "counters", one_more)
    monkeypatch.setattr(host_rings, "_PATIENCE", 1_000)
    found = host_rings.mutated(2, seed=1)
    assert len(taken) == 2
    assert (found.full, found.wrong, found.stuck) == (1, 1, 1)


def test_every_path_into_a_function_brings_all_packets() -> None:
    found, why = host_paths.measure(20)
    assert [each.path for each in found][:2] == [host_paths.MEMORY, host_paths.VHOST]
    assert why or found[2].path == host_paths.TAP
    assert all(each.frames == 20 and each.cpu_ns > 0 for each in found)


@pytest.mark.skipif(pcie_link.why_not() is not None, reason="cocotb is not installed")
def test_transfers_over_pci_express_take_the_links_time_and_bring_their_bytes() -> None:
    def settings(direction: str, size: int, count: int, **more: Any) -> dict[str, Any]:
        return {"direction": direction, "size": size, "count": count, "wire": WIRE, **more}

    reads, writes, single, alone, both = pcie_link.moved(
        [
            settings("read", 4_096, 8),
            settings("write", 4_096, 8),
            settings("read", 512, 4, window=1),
            settings("read", 512, 4, alone=True, descriptor=True),
            settings("both", 1_024, 4),
        ]
    )
    assert [each.wrong for each in (reads, writes, single, alone, both)] == [0] * 5
    limits = [pcie_link.limit_gbit_s(3, 8, 256, beside) for beside in (COMPLETION, REQUEST)]
    assert limits == pytest.approx([58.4, 57.6], abs=0.1)
    assert 0.95 < 8 * reads.bytes / (4 * (reads.cycles - 260)) / limits[0] < 1.05  # but for the first's latency
    assert 0.9 < writes.gbit_s / limits[1] <= 1.0
    assert 4 * 250 < single.cycles < 4 * 320  # a latency each
    assert 8 * 250 < alone.cycles < 8 * 320  # and one for the descriptor
    assert both.bytes == 8 * 1_024


def here(function: Any, points: Sequence[dict[str, Any]], *_: Any) -> list[Any]:
    return [function(**point) for point in points]


def without_link(transfers: Sequence[dict[str, Any]], width: int = 256, tags: int = 64) -> list[Moved]:
    """A cycle for each 16 bytes, and a latency before them."""
    return [Moved(each["size"] * each["count"], each["size"] * each["count"] // 16 + 250, 0) for each in transfers]


def test_a_study_has_tables_figures_and_what_it_was_measured_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [point for point in host_points.all_points(full=False) if point.arguments["kind"] == "pcie"]
    few += [
        Point("latencies", {"kind": "latency", "size": 64, "read_latency_ns": 0}),
        *(
            Point("moderations", {"kind": "moderated", "packets": n, "time_ns": 20_000, "gap_ns": 500.0, "frames": 8})
            for n in (1, 4)
        ),
    ]
    monkeypatch.setattr(host, "all_points", lambda _full: few)
    monkeypatch.setattr(study, "run_points", here)
    monkeypatch.setattr(pcie_link, "why_not", lambda: None)
    monkeypatch.setattr(pcie_link, "moved", without_link)
    monkeypatch.setattr(
        host_paths, "measure", lambda n: ([Cost(host_paths.MEMORY, n, 5e3), Cost("other", n, 7e3)], "not as root")
    )
    out = tmp_path / "out"
    assert main(["study", "host", "--out", str(out), "--json", str(tmp_path / "study.json")]) == 0
    report = (out / "report.md").read_text()
    assert "not as root" in report and "measured by headrace study host on" in report
    for name in ("transfers", "windows", "links", "interrupts"):
        assert (out / f"{name}.png").stat().st_size > 5000
    with (out / "transfers.csv").open(newline="") as file:
        transfers = list(csv.DictReader(file))
    assert float(transfers[0]["described_gbit_s"]) < float(transfers[0]["reads_gbit_s"])
    found = json.loads((tmp_path / "study.json").read_text())
    assert found["faults"] == 0 and found["latencies"][0]["least_cycles"] > 20
    assert [row["path_ns"] for row in found["paths"]] == [0, 2_000]
    assert [(row["generation"], row["lanes"]) for row in found["links"]] == [
        (n, lanes) for n in range(1, 6) for lanes in (4, 8, 16)
    ]


def test_the_bench_says_what_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = loads.Carried(16, 64, 4_000, 4_100, 0, 200, 300, 20_000, 1, 1, 1, 1)
    slow = loads.Carried(16, 256, 4_000, 3_000, 5, 200, 300, 20_000, 1, 1, 1, 1)
    one = loads.Carried(1, 64, 4_000, 3_000, 5, 200, 300, 20_000, 1, 1, 1, 1)
    rows = [bench._carried(each) for each in (fast, slow, one)]
    assert [row.ok for row in rows] == [True, False, None]
    assert [row.value for row in rows] == [pytest.approx(50), pytest.approx(82.8), pytest.approx(37.5)]
    alone = loads.Fair(0, 1500, 1500, 1.0, 1000, 2000, 3000, 0)
    beside = loads.Fair(1e11, 1500, 1400, 0.5, 1000, 2050, 3000, 3e7)
    assert [row.ok for row in bench._fair(alone, beside)] == [False, True]
    safe = host_rings.Mutated(10, (1, 2, 3, 4, 5), 7, 0, 3, 0, 0, 100)
    assert [row.ok for row in bench._isolation([safe, safe])] == [True, True, True]
    unsafe = host_rings.Mutated(10, (1, 2, 3, 4, 5), 7, 1, 0, 0, 2, 100)
    rows = list(bench._isolation([safe, unsafe]))
    assert [(row.value, row.ok) for row in rows] == [(1, False), (0, True), (2, False)]
    assert "30 queues failed" in rows[0].note and "14 bursts" in rows[0].note
    assert rows[2].note.startswith("3 dropped")
    monkeypatch.setattr(pcie_link, "why_not", lambda: "no cocotb")
    assert {row.value for row in bench._pcie(True)} == {"not run"}
    monkeypatch.setattr(pcie_link, "why_not", lambda: None)
    monkeypatch.setattr(pcie_link, "moved", without_link)
    assert [row.ok for row in bench._pcie(True)] == [False, False, None] * 2
