# SPDX-License-Identifier: Apache-2.0
"""Blocks of README and manual run as printed: in order, with what they start; outputs are compared where they are the
same on every machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from printed import Terminals, block
from soak import soak

from headrace.traffic import realistic_capture

pytestmark = pytest.mark.live

_WALL = re.compile(r".*wall clock.*\n|^╭.*\n|^╰.*\n| +(?=│)", re.MULTILINE)
"""What depends on the machine in what a card reports, and how wide that makes its frame."""


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traffic") / "in.pcap"
    realistic_capture(path, 5_000, method="made")
    return path


@pytest.fixture
def terminals(tmp_path: Path, traffic: Path) -> Iterator[Terminals]:
    """In a folder with what pages take for granted: a capture, the demo's, a program that measures."""
    shutil.copy(traffic, tmp_path)
    (tmp_path / "build/demo").mkdir(parents=True)
    shutil.copy(traffic, tmp_path / "build/demo/traffic.pcap")
    (tmp_path / "source.bpf").write_text("ldh [12]\njne #0x800, other\nldb [29]\nret a\nother: ret #1023\n")
    with Terminals(tmp_path) as found:
        yield found


ALL = slice(None)


@pytest.mark.parametrize(
    ("page", "begins", "lines"),
    [
        ("README.md", ".venv/bin/headrace filter 'tcp port 80'", ALL),
        ("README.md", "$ .venv/bin/headrace measure", ALL),
        ("docs/filter-card.md", "$ headrace measure", ALL),
        ("docs/filter-card.md", "headrace measure @source", ALL),
        soak("README.md", "make dashboard", slice(1, None)),
    ],
)
def test_a_block_ends_well(terminals: Terminals, page: str, begins: str, lines: slice) -> None:
    for line, _ in block(page, begins)[lines]:
        terminals.type(line)


@pytest.mark.parametrize(
    ("page", "begins"),
    [
        ("docs/filter-card.md", "$ headrace filter 'tcp src port 101'"),
        soak("README.md", "$ .venv/bin/headrace bridge"),
        soak("docs/bridge-card.md", "$ headrace bridge recv"),
    ],
)
def test_a_block_prints_what_the_page_shows(terminals: Terminals, page: str, begins: str) -> None:
    for line, shown in block(page, begins):
        said = _WALL.sub("", terminals.type(line))
        assert all(each in said.splitlines() for each in _WALL.sub("", shown).splitlines()), said


@pytest.mark.parametrize(
    ("page", "begins"),
    [
        soak("README.md", "switch=$("),
        soak("docs/link-card.md", "headrace link --port 0=tap:left"),
        soak("docs/nic-card.md", "headrace nic run --port vf:0=tap:h0 --port vf:1=tap"),
    ],
)
def test_hosts_ping_each_other(terminals: Terminals, page: str, begins: str) -> None:
    said = [terminals.type(line) for line, _ in block(page, begins)]
    received = [int(each) for text in said for each in re.findall(r"(\d+) received", text)]
    assert received and min(received) > 0
