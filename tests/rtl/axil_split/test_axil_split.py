"""One block, two as in a card, and several, small ones and large ones; one write under way and more."""

from pathlib import Path

import pytest
from simulation import rtl, simulate


@pytest.mark.parametrize(
    "parameters",
    [
        {"BLOCKS": 1},
        {"BLOCKS": 2, "FIRST": 0x8000},
        {"BLOCKS": 3, "FIRST": 0xF000, "STEP": 0x100},
        {"BLOCKS": 5, "FIRST": 0x10000, "STEP": 0x30000000},
        {"BLOCKS": 1, "MOST": 2},
        {"BLOCKS": 2, "FIRST": 0x2000, "MOST": 4},
        {"BLOCKS": 3, "FIRST": 0xF000, "STEP": 0x100, "MOST": 3},
    ],
    ids=str,
)
def test_axil_split(parameters: dict[str, int]) -> None:
    sources = [*rtl("pkg", "memory", "stream"), Path(__file__).with_name("axil_split_flat.sv")]
    simulate("axil_split_flat", "bench_axil_split", folder="axil_split", sources=sources, **parameters)
