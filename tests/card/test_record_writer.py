"""The records of a capture ring become files: formats, wraps, limits, faults."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from oracle import Packet, make_capture, random_packets

from headrace.card import CaptureError, Card, CardError
from headrace.card.records import RecordWriter, Ring
from headrace.card.stats import FileTotals

LOOP = Path(__file__).parent / "cards" / "loop"
BASE = 0x7_0000_0000


@pytest.fixture(scope="module")
def card() -> Iterator[Card]:
    with Card.open(LOOP, progress=False) as one:
        one.memory.map(BASE, 1 << 20)
        yield one


@pytest.fixture(scope="module")
def packets() -> list[Packet]:
    return random_packets(seed=5, count=200)


def fill(card: Card, packets: list[Packet], size: int = 1 << 20, start: int = 0) -> tuple[Ring, int, int]:
    """Puts records into a ring as the card does; gives the ring and the byte counts of their start and end."""
    body = b"".join(struct.pack("<IIII", *divmod(p.time_ns, 10**9), len(p.data), p.wirelen) + p.data for p in packets)
    view = card.memory.view(BASE, size)
    assert len(body) <= size
    first = min(len(body), size - start % size)
    view[start % size : start % size + first] = body[:first]
    view[: len(body) - first] = body[first:]
    return Ring(BASE, size), start, (start + len(body)) % 2**32


@pytest.mark.parametrize("nanosecond", [False, True])
def test_a_pcap_file_has_the_rings_records(card: Card, packets: list[Packet], tmp_path: Path, nanosecond: bool) -> None:
    writer = RecordWriter(card, f"pcap:{tmp_path}/out", precision="nano" if nanosecond else "micro")
    written = writer.write(*fill(card, packets))
    writer.close()
    expected = make_capture(tmp_path / "expected", packets, nanosecond=nanosecond).read_bytes()
    assert (tmp_path / "out").read_bytes() == expected
    assert (written.packets, written.stop, written.file_bytes) == (len(packets), "end", len(expected))
    assert written.captured_bytes == sum(len(p.data) for p in packets)
    assert written.wire_bytes == sum(p.wirelen for p in packets)


def test_records_may_wrap_at_every_byte(card: Card, tmp_path: Path) -> None:
    packets = random_packets(seed=6, count=3)
    expected = make_capture(tmp_path / "expected", packets, nanosecond=True).read_bytes()
    size = 1 << max(9, (len(expected)).bit_length())
    for start in range(2**32 - len(expected), 2**32 + 4):
        writer = RecordWriter(card, f"pcap:{tmp_path}/out", precision="nano")
        ring, begin, end = fill(card, packets, size, start % 2**32)
        assert writer.write(ring, begin, end).reached == end
        writer.close()
        assert (tmp_path / "out").read_bytes() == expected


def test_pcapng_says_where_packets_come_from_and_how_many_were_lost(
    card: Card, packets: list[Packet], tmp_path: Path
) -> None:
    file = tmp_path / "out.pcapng"
    writer = RecordWriter(card, f"pcap:{file}", snapshot=4096, interface="eth7", filter="udp port 9")
    ring, start, end = fill(card, packets)
    middle = writer.write(ring, start, end, packets=10).reached
    writer.write(ring, middle, end, lost=3)
    writer.close(received=250, dropped=50)

    tshark = ["tshark", "-r", str(file), "-T", "fields", "-e", "frame.interface_name", "-e", "frame.time_epoch"]
    lines = subprocess.run(tshark, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == [f"eth7\t{p.time_ns // 10**9}.{p.time_ns % 10**9:09}" for p in packets]
    infos = subprocess.run(["capinfos", "-I", str(file)], capture_output=True, text=True, check=True).stdout
    for text in ("Filter string = udp port 9", "Capture length = 4096", "Time resolution = 0x09", "Number of packets"):
        assert text in infos
    data = file.read_bytes()
    assert data.count(struct.pack("<HHQ", 4, 8, 3)) == 1  # epb_dropcount
    assert struct.pack("<HHQHHQ", 4, 8, 250, 5, 8, 50) in data[-100:]  # isb_ifrecv, isb_ifdrop


def test_limits_end_a_file_before_a_record(card: Card, packets: list[Packet], tmp_path: Path) -> None:
    ring, start, end = fill(card, packets)
    late = packets[120].time_ns + 1
    count = next(n for n, p in enumerate(packets) if p.time_ns >= late)
    sizes = [24]
    for packet in packets:
        sizes.append(sizes[-1] + 16 + len(packet.data))

    def stop(**limits: int) -> tuple[str, int, int]:
        writer = RecordWriter(card, f"pcap:{tmp_path}/out")
        written = writer.write(ring, start, end, **limits)
        writer.close()
        assert (tmp_path / "out").stat().st_size == written.file_bytes == sizes[written.packets]
        return written.stop, written.packets, written.next_ns

    assert stop(packets=7) == ("packets", 7, packets[7].time_ns)
    assert stop(before_ns=late) == ("time", count, packets[count].time_ns)
    assert stop(file_bytes=sizes[50]) == ("size", 51, packets[51].time_ns)
    assert stop(file_bytes=sizes[50] - 1) == ("size", 50, packets[50].time_ns)
    assert stop(packets=len(packets)) == ("end", len(packets), 0)


def test_a_flush_puts_everything_into_the_file(card: Card, packets: list[Packet], tmp_path: Path) -> None:
    writer = RecordWriter(card, f"pcap:{tmp_path}/out")
    ring, start, end = fill(card, packets)
    written = writer.write(ring, start, end, packets=5)
    assert (tmp_path / "out").stat().st_size == 0
    writer.write(ring, written.reached, written.reached, flush=True)
    assert (tmp_path / "out").stat().st_size == written.file_bytes
    writer.close()


def test_recorded_times_are_those_of_the_capture_that_came_in(card: Card, tmp_path: Path) -> None:
    packets = random_packets(seed=8, count=20)
    card.write(0x04, 1)  # the loop card takes a beat each cycle
    card.source(0, f"pcap:{make_capture(tmp_path / 'in', packets, nanosecond=True)}")
    card.sink(1, "memory", timestamps="card")
    card.run()
    stamped = [
        Packet(frame.data, packet.wirelen, frame.timestamp_ns)
        for frame, packet in zip(card.received(1), packets, strict=True)
    ]
    card.close_files()
    assert [p.time_ns for p in stamped] != [p.time_ns for p in packets]
    writer = RecordWriter(card, f"pcap:{tmp_path}/out", precision="nano", timestamps="recorded")
    writer.write(*fill(card, stamped))
    writer.close()
    expected = make_capture(tmp_path / "expected", packets, nanosecond=True).read_bytes()
    assert (tmp_path / "out").read_bytes() == expected


@pytest.mark.parametrize(
    "header", [(0, 10**9, 60, 60), (0, 0, 61, 61), (0, 0, 2**32 - 16, 60)], ids=["fraction", "too long", "overflow"]
)
def test_what_is_no_record_is_an_error_and_the_records_before_are_kept(
    card: Card, tmp_path: Path, header: tuple[int, ...]
) -> None:
    packets = random_packets(seed=9, count=2)
    ring, start, end = fill(card, packets)
    card.memory.write(BASE + end, struct.pack("<IIII", *header))
    writer = RecordWriter(card, f"pcap:{tmp_path}/out", precision="nano")
    with pytest.raises(CaptureError, match=f"the capture ring holds no record at byte {end}"):
        writer.write(ring, start, end + 16 + 60)
    writer.close()
    assert (tmp_path / "out").read_bytes() == make_capture(tmp_path / "in", packets, nanosecond=True).read_bytes()


def test_a_full_disk_is_an_error(card: Card, packets: list[Packet]) -> None:
    writer = RecordWriter(card, "pcap:/dev/full")
    with pytest.raises(CardError, match="/dev/full: No space left on device"):
        writer.write(*fill(card, packets), flush=True)
    assert writer.totals == FileTotals()
    writer.close()


def test_a_file_that_cannot_be_opened_is_named(card: Card, tmp_path: Path) -> None:
    with pytest.raises(CardError, match="missing/out: No such file or directory"):
        RecordWriter(card, f"pcap:{tmp_path}/missing/out")


@pytest.mark.parametrize("ring", [Ring(BASE, 1000), Ring(BASE + (1 << 20), 1024), Ring(BASE, 1 << 21)])
def test_a_ring_that_is_none_is_refused(card: Card, tmp_path: Path, ring: Ring) -> None:
    writer = RecordWriter(card, f"pcap:{tmp_path}/out")
    with pytest.raises(CardError, match="2.n bytes within one range of host memory"):
        writer.write(ring, 0, 16)
    writer.close()
