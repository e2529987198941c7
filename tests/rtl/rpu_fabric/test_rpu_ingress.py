"""Stores of sources that drop and that wait, of all widths."""

import pytest
from rpu_fabric.building import simulate


@pytest.mark.parametrize(("width", "drop"), [(128, 1), (512, 0)])
def test_rpu_ingress(width: int, drop: int) -> None:
    simulate("rpu_ingress", DATA_W=width, DROP_WHEN_FULL=drop, STORE_KB=1, UNITS=5, PORT=2)
