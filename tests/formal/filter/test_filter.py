"""Proofs of the filter engine's parts where a simulation can't try every order of events."""

from pathlib import Path

import pytest
from formal.cases import Bug, Case, check_covers, check_found, check_holds


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
def test_a_core_is_never_given_to_two_frames(cores: int) -> None:
    check_holds(Case("filter_dispatch", {"CORES": cores}, induction=6, bounded=6))


def test_the_proof_covers_what_happens() -> None:
    check_covers(Case("filter_dispatch", {"CORES": 3}))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("~settling_q[2]", "~core_listed"),
        ("(assigned_q | assign_mask) & ~core_listed", "assigned_q & ~core_listed"),
        ("wanted[port_q] && valid_q[first] ? !first : first", "first"),
    ],
)
def test_a_fault_is_found(right: str, wrong: str, tmp_path: Path) -> None:
    check_found(Bug("filter_dispatch", {"CORES": 3}, "filter_dispatch", right, wrong), tmp_path)
