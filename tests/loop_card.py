# SPDX-License-Identifier: Apache-2.0
"""Registers of the harness's test card (card/cards/loop/loop_card.sv says what they do), and bursts of its DMA."""

from __future__ import annotations

from pathlib import Path

from headrace.card import Card

COUNT, PACE, TROUBLE = 0x00, 0x04, 0x08
ADDRESS, STRIDE, SHAPE, GO, DONE, RESULTS, SUMS = 0x10, 0x18, 0x1C, 0x20, 0x24, 0x40, 0x80
FUNCTION, INTERRUPT, SILENT, FAR = 0x28, 0x2C, 0xF00, 0x80000
READ, WRITE = 1, 2
FIXED, INCR, WRAP, RESERVED = 0, 1, 2, 3
OKAY, SLVERR, DECERR = 0, 2, 3
LOOP = Path(__file__).parent / "card" / "cards" / "loop"
BASE = 0x1234_5000_0000


def prepare(
    card: Card,
    count: int = 1,
    address: int = BASE,
    length: int = 8,
    size: int = 3,
    burst: int = INCR,
    stride: int = 4096,
    id_mask: int = 0xF,
    filled: bool = False,
) -> None:
    """The card's bursts are to have ``length`` beats of 2**size bytes; ``filled``: each byte is the beat's number."""
    shape = (length - 1) | size << 8 | burst << 12 | filled << 15 | count << 16 | id_mask << 24
    card.write_many([(ADDRESS, address & 0xFFFFFFFF), (ADDRESS + 4, address >> 32), (STRIDE, stride), (SHAPE, shape)])


def bursts(card: Card, go: int, count: int = 1, **how: int) -> list[tuple[int, int]]:
    """Has the card issue bursts, as ``prepare`` does; gives (ID, response) in order of completion."""
    prepare(card, count, **how)
    card.write(GO, go)
    card.run()
    assert card.read(DONE) == count
    results = [card.read(RESULTS + 4 * n) for n in range(count)]
    return [(value >> 8, value & 3) for value in results]
