"""``run_capture`` when host memory refuses the card, when counters are wrong, and what it tells on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracle import Packet, make_capture, random_packets

from headrace.card.host_memory import HostMemory
from headrace.card.packet_memory import PacketMemory, Packets
from headrace.cards.capture.driver import CaptureDriver
from headrace.cards.capture.run import CaptureJob, CaptureProgress, CaptureReport, run_capture
from headrace.cards.capture.savefiles import SaveFiles
from headrace.net.source import Source, parse_source


@pytest.fixture
def packets() -> list[Packet]:
    return random_packets(seed=41, count=100)


def capture(tmp_path: Path, packets: list[Packet], **settings: Any) -> CaptureReport:
    source = Source("pcap", str(make_capture(tmp_path / "in", packets)))
    return run_capture(CaptureJob(source, output=str(tmp_path / "out"), cores=2, **settings))


def test_a_ring_that_cannot_be_written_ends_the_capture(
    packets: list[Packet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allocate(memory: HostMemory, size: int) -> int:
        address = memory.reserve(size)
        memory.map(address, size, read_only=True)
        return address

    monkeypatch.setattr(HostMemory, "allocate", allocate)
    report = capture(tmp_path, packets)
    assert report.fault == "the card could not write into the ring in host memory: packets are dropped"
    assert (report.captured, report.missing) == (0, 0)
    assert report.dropped["after_error"] == report.received
    assert (tmp_path / "out").read_bytes() == make_capture(tmp_path / "empty", []).read_bytes()


def test_packets_at_bad_addresses_are_told_and_cost_no_others(
    packets: list[Packet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = PacketMemory.take

    def take_some_from_nowhere(memory: PacketMemory, limit: int) -> Packets:
        taken = take(memory, limit)
        for number in (5, 6):
            taken.address[number], taken.length[number] = 1 << 60, 64
        return taken

    monkeypatch.setattr(PacketMemory, "take", take_some_from_nowhere)
    report = capture(tmp_path, packets)
    assert report.fault == "2 packets could not be read from host memory"
    assert (report.captured, report.dropped["read_errors"], report.missing, report.warnings) == (98, 2, 0, [])
    expected = make_capture(tmp_path / "expected", packets[:5] + packets[7:])
    assert (tmp_path / "out").read_bytes() == expected.read_bytes()


def test_descriptors_that_cannot_be_read_end_the_capture(
    packets: list[Packet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = CaptureDriver.setup

    def misplace(driver: CaptureDriver, settings: Any) -> None:
        setup(driver, settings)
        driver._regs.descriptor_base.write(1 << 60)

    monkeypatch.setattr(CaptureDriver, "setup", misplace)
    report = capture(tmp_path, packets)
    assert report.fault == "the card could not read its descriptors in host memory: it takes no more"
    assert (report.captured, report.received, report.missing) == (0, 0, 0)


def test_counters_that_do_not_add_up_are_a_fault(
    packets: list[Packet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.cards.capture.driver.CaptureCounters.received", property(lambda _: 101))
    report = capture(tmp_path, packets)
    assert (report.missing, report.fault) == (1, "the card's counters don't add up: +1 packets")


def test_packets_that_are_not_in_the_file_though_nothing_ended_it_are_a_fault(
    packets: list[Packet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = SaveFiles.write
    monkeypatch.setattr(SaveFiles, "write", lambda files, ring, _, end, *rest: write(files, ring, end, end, *rest))
    report = capture(tmp_path, packets)
    assert (report.captured, report.unwritten, report.missing) == (0, 0, 100)
    assert report.fault == "the card's counters don't add up: +100 packets"


def test_progress_is_told_while_packets_come(tmp_path: Path) -> None:
    seen: list[CaptureProgress] = []
    job = CaptureJob(parse_source("gen:count=150000,size=60"), output=str(tmp_path / "out"), cores=2)
    report = run_capture(job, seen.append)
    captured = [progress.captured for progress in seen]
    assert len(captured) > 1
    assert captured == sorted(captured)
    assert all(progress.captured <= progress.received <= report.received == 150_000 for progress in seen)


def test_a_small_ring_costs_little_because_the_card_calls_the_host(tmp_path: Path) -> None:
    packets = [Packet(bytes(size), size, 10**18) for size in (7900, 9100) * 50]  # half a ring, and more than the rest
    cycles = [capture(tmp_path, packets, ring_bytes=size).cycles for size in (1 << 22, 1 << 14)]
    assert cycles[1] < 2 * cycles[0]
