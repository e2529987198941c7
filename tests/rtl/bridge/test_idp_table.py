"""idp_table, of the usual size and with a single entry."""

import pytest
from bridge.building import simulate


@pytest.mark.parametrize("entries", [1, 8])
def test_idp_table(entries: int) -> None:
    simulate("idp_table", ENTRIES=entries)
