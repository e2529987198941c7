"""Proofs of the order in which reads are answered, by induction."""

from pathlib import Path

import pytest
from formal.cases import Bug, Case, check_covers, check_found, check_holds
from soak import soak

CASES = [
    Case("pcie_read_order", {"ID_W": 1}, induction=1, cover=10),
    soak(Case("pcie_read_order", {"ID_W": 2}, induction=1, cover=10)),
]
ORDER = ("pcie_read_order", {}, "pcie_read_order")
BUGS = [
    Bug(*ORDER, "!alone || (issue && order == hand_order)", "!alone", 7),
    Bug(*ORDER, "over_q && head_q[over_tag_q]", "over_q", 6),
    Bug(*ORDER, "head_q[behind_q] <= !follows_q", "head_q[behind_q] <= 1'b1", 5),
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
