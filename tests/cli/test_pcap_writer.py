# SPDX-License-Identifier: Apache-2.0
"""Pcap files that Python writes, byte for byte as the format says, and what can't be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cards.bridge.pcap_writer import PcapWriter
from headrace.errors import HeadraceError

HEADER = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 ffff0000 01000000")


def test_a_file_without_packets_is_its_header(tmp_path: Path) -> None:
    with PcapWriter.opened(str(tmp_path / "out")):
        pass
    assert (tmp_path / "out").read_bytes() == HEADER


def test_times_are_in_nanoseconds(tmp_path: Path) -> None:
    with PcapWriter.opened(str(tmp_path / "out")) as file:
        assert file is not None
        file.write([b"one", b"twice2"], 3_000_000_007)
        file.write([bytes(65535)], (1 << 32) * 10**9 - 1)
    records = bytes.fromhex("03000000 07000000 03000000 03000000") + b"one"
    records += bytes.fromhex("03000000 07000000 06000000 06000000") + b"twice2"
    records += bytes.fromhex("ffffffff ffc99a3b ffff0000 ffff0000") + bytes(65535)
    assert (tmp_path / "out").read_bytes() == HEADER + records


@pytest.mark.parametrize(
    "path, error",
    [("/nowhere/out", "No such file or directory"), ("/dev/full", "No space left on device: it has 0 packets")],
)
def test_a_file_that_can_not_be_written_is_one_line(path: str, error: str) -> None:
    with pytest.raises(HeadraceError, match=f"^{path}: {error}$"), PcapWriter.opened(path) as file:
        assert file is not None
        file.write([bytes(60)], 0)


def test_without_a_path_nothing_is_written() -> None:
    with PcapWriter.opened(None) as file:
        assert file is None
