"""Stores of sources, of all widths."""

import pytest
from rpu_fabric.building import simulate


@pytest.mark.parametrize("width", [128, 512])
def test_rpu_ingress(width: int) -> None:
    simulate("rpu_ingress", DATA_W=width, STORE_KB=1, UNITS=12, PORT=2)
