"""Proofs of what goes into a crossing of clocks, by induction: each frame goes whole, or is counted once."""

from pathlib import Path

import pytest
from formal.cases import Bug, Case, check_covers, check_found, check_holds

CASES = [Case("stream_elastic", {"DROP_WHEN_FULL": drop}, induction=2, cover=12) for drop in (0, 1)]
ELASTIC = ("stream_elastic", {}, "stream_elastic")
BUGS = [
    Bug(*ELASTIC, "skip_q   <= skip || no_room", "skip_q <= no_room"),
    Bug(*ELASTIC, "skip_q    <= 1'b1", "skip_q <= 1'b0"),
    Bug(*ELASTIC, "(abort_q || no_room)", "no_room"),
    Bug(*ELASTIC, "(inside_q && skip_q)", "skip_q"),
    Bug(*ELASTIC, "if (no_room && inside_q) abort_q", "if (no_room) abort_q"),
    Bug(*ELASTIC, "if (cross_ready) abort_q", "abort_q"),
    Bug("stream_elastic", {"DROP_WHEN_FULL": 0}, "stream_elastic", "if (!DROP_WHEN_FULL) inside_q <= 1'b0;", ""),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_properties_hold_in_every_cycle(case: Case) -> None:
    check_holds(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_proofs_are_about_something(case: Case) -> None:
    check_covers(case)


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_a_broken_part_is_found_out(bug: Bug, tmp_path: Path) -> None:
    check_found(bug, tmp_path)
