"""Stock drivers of functions: a DPDK application, a guest with a distribution's kernel, a network namespace."""

from __future__ import annotations

import pytest
from function_card import PARAMETERS

from headrace.evaluate.loads import function_clients


@pytest.mark.live
@pytest.mark.skipif(function_clients.why_not() is not None, reason=function_clients.why_not() or "")
def test_stock_drivers_reach_each_other() -> None:
    with function_clients.clients(hosts=1, guests=1, testpmd=True, parameters=PARAMETERS) as found:
        met = function_clients.meet(found)
    assert met == function_clients.Met(pairs=4, pinged=4, streams=1, sent=1)
