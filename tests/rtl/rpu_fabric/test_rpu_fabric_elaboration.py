"""What Verilator says of the fabric before anything runs."""

import pytest
from rpu_fabric.building import BLOCKS
from simulation import lint


@pytest.mark.parametrize("block", BLOCKS)
def test_lint_is_clean(block: str) -> None:
    assert not lint(block)


@pytest.mark.parametrize(("units", "width"), [(1, 128), (16, 256)])
def test_all_sizes_are_clean(units: int, width: int) -> None:
    assert not lint("rpu_fabric", UNITS=units, DATA_W=width)
