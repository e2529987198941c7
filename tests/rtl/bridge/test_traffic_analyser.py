"""traffic_analyser: it has no parameters."""

from bridge.building import simulate
from bridge.test_noc_elaboration import lint


def test_traffic_analyser() -> None:
    simulate("traffic_analyser")


def test_lint_is_clean() -> None:
    assert not lint("traffic_analyser")
