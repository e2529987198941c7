"""Widths and depths that exercise the wrap of pointers at and away from powers of two, in both kinds of memory."""

import pytest
from simulation import simulate

AUTO = None


@pytest.mark.parametrize(
    ("width", "depth", "block_ram"),
    [(1, 4, 0), (8, 4, 1), (8, 5, 0), (8, 7, 1), (577, 64, AUTO), (577, 65, AUTO), (64, 100, AUTO), (9, 128, AUTO)],
)
def test_stream_fifo(width: int, depth: int, block_ram: int | None) -> None:
    simulate("stream_fifo", WIDTH=width, DEPTH=depth, **({} if block_ram is AUTO else {"BLOCK_RAM": block_ram}))
