"""Proofs that the exact table keeps its entries and finds them while they move, by induction."""

from pathlib import Path

import pytest
from formal.cases import Bug, Case, check_covers, check_found, check_holds
from soak import soak

TABLE = Case("exact_table", {}, induction=3, cover=24)
LARGER = [
    Case("exact_table", {"KEY_W": 2, "MAX_MOVES": 2}, induction=3),
    Case("exact_table", {"RESULT_W": 2, "STASH": 5}, induction=3),
    Case("exact_table", {"TABLES": 4, "ENTRIES": 16, "STASH": 4}, induction=3),
]
# What takes a full table comes about from any state of which the invariants hold; from a reset it is too far away.
ANYWHERE = {"ANYWHERE": 1}
BROKEN = ("exact_table", ANYWHERE, "exact_table")
BUGS = [
    Bug(*BROKEN, "SETTLE = 4;", "SETTLE = 1;", 4),
    Bug(*BROKEN, "&& !clash_q[1] && wiped_q", "&& wiped_q", 4),
    Bug(*BROKEN, "&& wiped_q && asked_q[4]", "&& asked_q[4]", 4),
    soak(Bug(*BROKEN, "&taken && !two_free", "1'b0", 4)),
    Bug(*BROKEN, "state_q == WRITE && evicts_q;", "1'b0 && 1'b1;", 4),
    Bug(*BROKEN, "VISIT_CYCLES - STASH - 2", "VISIT_CYCLES - STASH - 1", 4),
    Bug(*BROKEN, "moves_q <= moves_q + 1'b1;", "moves_q <= moves_q;", 4),
    Bug(*BROKEN, "op_done <= 1'b0;  // comes", "// comes", 4),
]


@pytest.mark.parametrize("case", [TABLE, *map(soak, LARGER)], ids=str)
def test_properties_hold_in_every_cycle(case: Case) -> None:
    check_holds(case)


@pytest.mark.parametrize("case", [soak(TABLE), Case("exact_table", ANYWHERE, cover=5)], ids=str)
def test_the_proofs_are_about_something(case: Case) -> None:
    check_covers(case)


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_a_broken_part_is_found_out(bug: Bug, tmp_path: Path) -> None:
    check_found(bug, tmp_path)
