"""noc_route at widths with headers of three, two and one beats."""

import pytest
from bridge.building import simulate
from soak import soak


@pytest.mark.parametrize("width", [32, soak(64), 256])
def test_noc_route(width: int) -> None:
    simulate("noc_route", "noc_pack", "idp_table", DATA_W=width)
