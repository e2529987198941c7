"""Proofs of the parts that hand out turns and numbers, by induction."""

from pathlib import Path

import pytest
from formal.cases import Bug, Case, check_covers, check_found, check_holds

CASES = [*(Case("number_pool", {"COUNT": count}, induction=2) for count in (4, 5))]
BUGS = [
    Bug("number_pool", {}, "number_pool", "lend_ready && !some_new)", "lend_ready)"),
    Bug("number_pool", {}, "number_pool", "if (taken && some_new) new_q", "if (taken && some_new && !back_valid) new_q"),
    Bug("number_pool", {"COUNT": 5}, "number_pool", "new_q != COUNT_W'(COUNT)", "new_q != COUNT_W'(COUNT - 1)", 16),
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
