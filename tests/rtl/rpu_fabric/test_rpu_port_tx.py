"""Ways out of Ethernet ports, of all widths."""

import pytest
from rpu_fabric.building import simulate


@pytest.mark.parametrize("width", [128, 512])
def test_rpu_port_tx(width: int) -> None:
    simulate("rpu_port_tx", DATA_W=width, STORE_KB=4)
