# SPDX-License-Identifier: Apache-2.0
"""What the Python API refuses: numbers too large for C, texts that C would cut. And views that outlive a card."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.card import Card
from headrace.card.packet_memory import PacketMemory
from headrace.card.records import RecordWriter, Ring
from headrace.errors import CardError

BASE = 0x1_0000_0000

TOO_LARGE: dict[str, Callable[[Card], Any]] = {
    "set_rate": lambda card: card.set_rate(0, 1e30),
    "set_rate of no number": lambda card: card.set_rate(0, math.nan),
    "flow_control": lambda card: card.flow_control(-1, True),
    "source": lambda card: card.source(1 << 32, "null"),
    "source at a rate": lambda card: card.source(0, "null", timing=math.inf),
    "source of packets": lambda card: card.source(0, "null", packets=1 << 64),
    "sink": lambda card: card.sink(0, "null", snaplen=1 << 40),
    "received": lambda card: card.received(0, 1 << 31),
    "send": lambda card: card.send(0, [bytes(60)], [1 << 32]),
    "run for cycles": lambda card: card.run(cycles=1 << 64),
    "run for seconds": lambda card: card.run(seconds=math.nan),
    "memory.map": lambda card: card.memory.map(-1, 4096),
    "memory.view": lambda card: card.memory.view(BASE, -1),
    "memory.read": lambda card: card.memory.read(1 << 64, 1),
    "memory.configure": lambda card: card.memory.configure(reads=-1),
    "packet memory": lambda card: PacketMemory(card, "null", 1 << 64, 4096),
    "record writer": lambda card: RecordWriter(card, "null", snapshot=1 << 33),
    "records": lambda card: RecordWriter(card, "null").write(Ring(BASE, 4096), 0, 0, packets=-1),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_number_out_of_range_is_one_line_with_the_exit_code_of_wrong_usage(
    name: str, loop: Callable[..., Card]
) -> None:
    with pytest.raises(CardError, match="out of range: ") as caught:
        TOO_LARGE[name](loop())
    assert caught.value.exit_code == 2 and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [1 << 32, -(1 << 31) - 1])
def test_a_register_takes_no_value_that_would_be_cut(value: int, loop: Callable[..., Card]) -> None:
    with pytest.raises(CardError, match="write_many: out of range: ") as caught:
        loop().write_many([(0, value)])
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("use", ["source", "sink", "packets", "records"])
def test_a_name_with_a_nul_is_refused_and_not_cut(use: str, loop: Callable[..., Card], tmp_path: Path) -> None:
    name = f"{tmp_path}/short\0.pcap"
    card = loop()
    calls: dict[str, Callable[[], Any]] = {
        "source": lambda: card.source(0, f"pcap:{name}"),
        "sink": lambda: card.sink(0, f"pcap:{name}"),
        "packets": lambda: PacketMemory(card, f"pcap:{name}", BASE, 4096),
        "records": lambda: RecordWriter(card, f"pcap:{name}"),
    }
    with pytest.raises(CardError, match="there is a NUL in it") as caught:
        calls[use]()
    assert caught.value.exit_code == 2 and not (tmp_path / "short").exists()


def test_a_file_name_that_is_no_utf8_is_opened(loop: Callable[..., Card], tmp_path: Path) -> None:
    name = f"{tmp_path}/\udce4.pcap"
    with loop() as card:
        card.sink(1, f"pcap:{name}")
    assert (tmp_path / "\udce4.pcap").stat().st_size == 24


def test_views_outlive_the_card_that_they_were_made_of(loop: Callable[..., Card]) -> None:
    card = loop()
    card.memory.map(BASE, 1 << 20)
    card.memory.write(BASE + 5, b"left behind")
    view = card.memory.view(BASE, 16)
    array = np.frombuffer(card.memory.view(BASE, 1 << 20), np.uint8)[5:16]
    card.close()
    del card
    gc.collect()
    view[0] = 7
    assert (view[0], bytes(view[5:16]), array.tobytes()) == (7, b"left behind", b"left behind")


def test_views_outlive_the_range_that_they_were_made_of(loop: Callable[..., Card]) -> None:
    card = loop()
    card.memory.map(BASE, 4096)
    view = card.memory.view(BASE + 8, 8)
    view[:] = b"old data"
    card.memory.unmap(BASE)
    card.memory.map(BASE, 4096)
    assert bytes(view) == b"old data" and card.memory.read(BASE + 8, 8) == bytes(8)


def test_memory_without_views_goes_with_its_range(loop: Callable[..., Card]) -> None:
    card = loop()
    mapped = []
    for _ in range(5):
        card.memory.map(BASE, 1 << 26)
        card.memory.view(BASE, 1)[0] = 1
        mapped.append(sum(1 for line in Path("/proc/self/maps").read_text().splitlines() if _size(line) >= 1 << 26))
        card.memory.unmap(BASE)
    assert len(set(mapped)) == 1


def _size(line: str) -> int:
    begin, end = line.split(maxsplit=1)[0].split("-")
    return int(end, 16) - int(begin, 16)
