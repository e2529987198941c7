"""Counters of one queue, few, a number that is no power of two, and so many that they lie in block RAM."""

import pytest
import simulation


@pytest.mark.parametrize("queues", [1, 3, 64])
def test_host_counters(queues: int) -> None:
    sources = [*simulation.rtl("pkg", "memory", "stream"), simulation.RTL / "host" / "host_counters.sv"]
    simulation.simulate("host_counters", folder="host", sources=sources, QUEUES=queues)
