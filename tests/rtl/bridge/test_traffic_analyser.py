"""traffic_analyser: it has no parameters."""

from bridge.building import simulate


def test_traffic_analyser() -> None:
    simulate("traffic_analyser")
