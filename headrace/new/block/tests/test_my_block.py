"""my_block: its bench and its proof. Run by ``headrace test``."""

from pathlib import Path

import pytest

from headrace.testing.block import Block
from headrace.testing.cases import Bug, Case, Proofs

HERE = Path(__file__).parent
BLOCK = Block(HERE.parent / "my_block.sv", HERE)


@pytest.mark.parametrize("width", [64])
def test_bench(width: int) -> None:
    BLOCK.simulate(WIDTH=width)


class TestProof(Proofs):
    folders = (HERE.parent,)
    cases = (Case("my_block", {}),)
    bugs = (Bug("my_block", {}, "my_block", "if (s_ready) begin", "if (s_valid) begin"),)  # must be found
