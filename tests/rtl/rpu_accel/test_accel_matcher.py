"""accel_matcher on wide and narrow streams, and what its loader refuses."""

import pytest
from rpu_accel.building import simulate

from headrace.cards.rpu.tables import Pattern, matcher_words
from headrace.errors import HeadraceError


@pytest.mark.parametrize("width", [128, 512])
def test_matcher(width: int) -> None:
    simulate("accel_matcher", DATA_W=width)


@pytest.mark.parametrize("length", [0, 65])
def test_a_pattern_too_short_or_too_long_is_refused(length: int) -> None:
    with pytest.raises(HeadraceError, match=f"pattern 2 has {length} bytes: the matcher takes 1 to 64"):
        matcher_words([Pattern(b"a"), Pattern(bytes(length))])


def test_more_than_it_holds_is_refused() -> None:
    assert matcher_words([Pattern(bytes(64))] * 512)
    with pytest.raises(HeadraceError, match="513 patterns take 4104 rows of 8 bytes: the matcher holds 4096"):
        matcher_words([Pattern(bytes(64))] * 513)
    assert matcher_words([Pattern(bytes(8))] * 4096)
    with pytest.raises(HeadraceError, match="4097 patterns take 4097 rows"):
        matcher_words([Pattern(b"a")] * 4097)
