"""Proofs of the filter engine's parts where a simulation can't try every order of events."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from formal import prove
from formal.prove import RTL, Verdict, failures

from headrace.synth.yosys import run_script, write_read_options

HERE = Path(__file__).resolve().parent


def model(block: str, parameters: Mapping[str, int], folder: Path, source: Path | None = None) -> Path:
    """The SMT model of <block>_proof, of the RTL or of another source, written in `folder`."""
    top = f"{block}_proof"
    files = [source or RTL / "filter" / f"{block}.sv", HERE.parent / "proof_reset.sv", HERE / f"{top}.sv"]
    write_read_options(folder / "sources.f", top, files, {name: str(value) for name, value in parameters.items()})
    commands = ["read_slang -f sources.f", f"prep -flatten -nordff -top {top}", "async2sync", "dffunmap", "opt_clean"]
    run_script([*commands, "write_smt2 -wires model.smt2"], folder, "model")
    return folder / "model.smt2"


def solve(smt: Path, mode: str, depth: int) -> Verdict:
    """`prove.solve`, for logic that many values share."""
    return prove.solve(smt, mode, depth)


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
def test_a_core_is_never_given_to_two_frames(cores: int, tmp_path: Path) -> None:
    smt = model("filter_dispatch", {"CORES": cores}, tmp_path)
    verdicts = [solve(smt, "bounded", 6), solve(smt, "induction", 6)]
    assert all(verdict.holds for verdict in verdicts), failures(verdicts)


def test_the_proof_covers_what_happens(tmp_path: Path) -> None:
    verdict = solve(model("filter_dispatch", {"CORES": 3}, tmp_path), "cover", 20)
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
    assert not solve(model("filter_dispatch", {"CORES": 3}, tmp_path, faulty), "bounded", 12).holds
