"""The file of packets that software has got: whole records, whatever happens."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.utils import RawPcapReader

from headrace.cards.bridge.pcap_writer import PcapWriter
from headrace.errors import HeadraceError

PACKETS = [bytes([n]) * (60 + n) for n in range(20)]


@pytest.fixture
def room() -> Iterator[int]:
    """Of files, in bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield 1000
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_packets_are_in_the_file_with_their_time(tmp_path: Path) -> None:
    with PcapWriter.opened(str(tmp_path / "out")) as file:
        assert file is not None
        file.write(PACKETS[:7], 3 * 10**9 + 5)
        file.write(PACKETS[7:], 4 * 10**9)
    with RawPcapReader(str(tmp_path / "out")) as reader:
        found = [(data, meta.sec, meta.usec) for data, meta in reader]
    assert found == [(data, 3 if n < 7 else 4, 5 if n < 7 else 0) for n, data in enumerate(PACKETS)]


@pytest.mark.parametrize("batch", [1, 3, 20])
def test_a_full_disk_leaves_whole_packets_and_says_how_many(batch: int, room: int, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sizes = [24 + sum(16 + len(data) for data in PACKETS[:n]) for n in range(len(PACKETS))]
    there = max(n for n, size in enumerate(sizes) if size <= room)
    with (
        pytest.raises(HeadraceError, match=f"^{out}: File too large: it has {there} packets$"),
        PcapWriter.opened(str(out)) as file,
    ):
        assert file is not None
        for at in range(0, len(PACKETS), batch):
            file.write(PACKETS[at : at + batch], 0)
    assert out.stat().st_size == sizes[there]
    with RawPcapReader(str(out)) as reader:
        assert [data for data, _ in reader] == PACKETS[:there]
