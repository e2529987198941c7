"""Proofs of the filter engine's parts where a simulation can't try every order of events."""

from pathlib import Path

import pytest
from formal.prove import RTL, failures, model, solve


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
def test_a_core_is_never_given_to_two_frames(cores: int) -> None:
    smt = model("filter_dispatch", {"CORES": cores})
    verdicts = [solve(smt, "bounded", 6), solve(smt, "induction", 6)]
    assert all(verdict.holds for verdict in verdicts), failures(verdicts)


def test_the_proof_covers_what_happens() -> None:
    verdict = solve(model("filter_dispatch", {"CORES": 3}), "cover", 20)
    assert verdict.holds, failures([verdict])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("~settling_q[2]", "~core_listed"),
        ("(assigned_q | assign_mask) & ~core_listed", "assigned_q & ~core_listed"),
        ("wanted[port_q] && valid_q[first] ? !first : first", "first"),
    ],
)
def test_a_fault_is_found(right: str, wrong: str, tmp_path: Path) -> None:
    text = (RTL / "filter" / "filter_dispatch.sv").read_text()
    assert right in text
    faulty = tmp_path / "filter_dispatch.sv"
    faulty.write_text(text.replace(right, wrong))
    assert not solve(model("filter_dispatch", {"CORES": 3}, faulty), "bounded", 12).holds
