"""Files that follow each other: tcpdump with the same options is the oracle. The ring is filled by the test."""

from __future__ import annotations

import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from oracle import Packet, make_capture, random_packets

from headrace.card import Card
from headrace.card.records import RecordWriter, Ring
from headrace.cards.capture.savefiles import Limits, SaveFiles

LOOP = Path(__file__).parent / "cards" / "loop"
SIZE = 1 << 24
RING = Ring(0x1_0000_0000, SIZE)


@pytest.fixture(scope="module")
def card() -> Iterator[Card]:
    with Card.open(LOOP, progress=False) as one:
        one.memory.map(RING.address, SIZE)
        yield one


@pytest.fixture(scope="module")
def packets() -> list[Packet]:
    return random_packets(seed=12, count=6000)


def fill(card: Card, packets: list[Packet]) -> int:
    body = b"".join(struct.pack("<IIII", *divmod(p.time_ns, 10**9), len(p.data), p.wirelen) + p.data for p in packets)
    card.memory.write(RING.address, body)
    return len(body)


def save(card: Card, path: Path, packets: list[Packet], limits: Limits, step: int = 1000) -> SaveFiles:
    """Writes packets as a command does: some records at a time."""

    def open_file(name: str | None) -> RecordWriter:
        return RecordWriter(card, "null" if name is None else f"pcap:{name}")

    files = SaveFiles(str(path), limits, open_file, lambda: (0, 0))
    while packets and not files.done:
        end = fill(card, packets[:step])
        files.write(RING, 0, end)
        packets = packets[step:]
    files.close()
    return files


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ("-c 100", Limits(packets=100)),
        ("-C 1", Limits(size=1_000_000)),
        ("-C 1 -W 1", Limits(size=1_000_000, files=1)),
        ("-C 1 -W 2", Limits(size=1_000_000, files=2)),
        ("-C 1 -W 10", Limits(size=1_000_000, files=10)),
        ("-C 1 -W 11", Limits(size=1_000_000, files=11)),
        ("-C 1 -W 101 -c 1500", Limits(size=1_000_000, files=101, packets=1500)),
        ("-W 3", Limits(files=3)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_are_tcpdumps(card: Card, packets: list[Packet], tmp_path: Path, options: str, limits: Limits) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    capture = make_capture(tmp_path / "in.pcap", packets)
    command = ["tcpdump", "-r", str(capture), "-Z", "root", "-w", str(theirs / "out.pcap"), *options.split()]
    subprocess.run(command, capture_output=True, check=True)
    files = save(card, ours / "out.pcap", packets, limits)
    assert contents(ours) == contents(theirs)
    assert sorted(Path(path).name for path in files.paths) == sorted(contents(theirs))


def seconds(packets: list[tuple[int, bytes]]) -> list[Packet]:
    return [Packet(data, len(data), second * 10**9) for second, data in packets]


def test_a_time_ends_a_file_at_the_first_packet_after_it(card: Card, tmp_path: Path) -> None:
    times = [0, 1, 9, 10, 19, 25, 60, 61]
    packets = seconds([(1_700_000_000 + t, bytes(60)) for t in times])
    files = save(card, tmp_path / "at-%H%M%S", packets, Limits(seconds=10), step=3)
    begun = {0: [0, 1, 9], 10: [10, 19], 25: [25], 60: [60, 61]}
    names = {time.strftime("at-%H%M%S", time.localtime(1_700_000_000 + at)): inside for at, inside in begun.items()}
    assert [Path(path).name for path in files.paths] == list(names)
    for name, inside in names.items():
        expected = make_capture(tmp_path / "expected", [packets[times.index(t)] for t in inside])
        assert (tmp_path / name).read_bytes() == expected.read_bytes()


def test_so_many_times_end_the_capture(card: Card, tmp_path: Path) -> None:
    packets = seconds([(1_700_000_000 + t, bytes(60)) for t in range(50)])
    files = save(card, tmp_path / "%s", packets, Limits(seconds=10, files=3), step=7)
    assert (len(files.paths), files.totals.packets, files.done) == (3, 30, True)


def test_numbers_begin_anew_with_each_time(card: Card, tmp_path: Path) -> None:
    packets = seconds([(1_700_000_000 + t // 2, bytes(1000)) for t in range(40)])
    files = save(card, tmp_path / "%S-", packets, Limits(seconds=10, size=5000, files=20))
    starts = [time.strftime("%S", time.localtime(1_700_000_000 + at)) for at in (0, 10)]
    assert [Path(path).name for path in files.paths] == [f"{start}-{n:02}" for start in starts for n in range(4)]


def test_a_capture_without_packets_has_an_empty_file(card: Card, tmp_path: Path) -> None:
    save(card, tmp_path / "none", [], Limits(seconds=10))
    assert (tmp_path / "none").read_bytes() == make_capture(tmp_path / "expected", []).read_bytes()
