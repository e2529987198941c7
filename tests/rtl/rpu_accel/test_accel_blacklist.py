"""accel_blacklist with its largest and its smallest table, and what its loader refuses."""

from ipaddress import IPv4Network

import pytest
from rpu_accel.building import simulate
from rpu_accel.prefixes import apart

from headrace.cards.rpu.tables import blacklist_words
from headrace.errors import HeadraceError


@pytest.mark.parametrize("capacity", [256, 2048])
def test_blacklist(capacity: int) -> None:
    simulate("accel_blacklist", CAPACITY=capacity)


def test_too_many_prefixes_are_refused_but_not_equal_ones() -> None:
    assert blacklist_words([*apart(2048), *apart(2048)])
    with pytest.raises(HeadraceError, match="2049 different prefixes: the blacklist holds 2048"):
        blacklist_words(apart(2049))


@pytest.mark.parametrize("text", ["1.2.3.4/33", "1.2.3.4/24", "::1", "x"])
def test_what_is_no_prefix_is_refused(text: str) -> None:
    with pytest.raises(HeadraceError, match="prefix 1: "):
        blacklist_words([IPv4Network("10.0.0.0/8"), text])
