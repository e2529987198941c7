"""Each contract ends the simulation of what breaks it, and no other. stream_contract has a folder of its own."""

import re

import pytest
import simulation

PARAMETERS: dict[str, dict[str, int]] = {
    "offer_contract": {"WIDTH": 70},
    "onehot_contract": {"WIDTH": 3},
    "range_contract": {"WIDTH": 3, "MOST": 5},
    "ready_contract": {},
}


def run(monkeypatch: pytest.MonkeyPatch, contract: str, case: str, **parameters: int) -> None:
    """One of the bench's cases."""
    monkeypatch.setenv("COCOTB_TEST_FILTER", f"{case}$")
    simulation.simulate(contract, "bench_contracts", folder="contracts", **PARAMETERS[contract] | parameters)


@pytest.mark.parametrize("contract", PARAMETERS)
def test_what_keeps_to_it_goes_on(monkeypatch: pytest.MonkeyPatch, contract: str) -> None:
    run(monkeypatch, contract, "good")


@pytest.mark.parametrize(
    ("contract", "case", "words", "parameters"),
    [
        ("offer_contract", "gone", "what was offered went or changed", {}),
        ("offer_contract", "changed", "what was offered went or changed", {}),
        ("offer_contract", "late", "what was offered went or changed", {}),
        ("onehot_contract", "two", "two are selected", {}),
        ("onehot_contract", "none", "none is selected", {"NONE": 0}),
        ("range_contract", "beyond", "6, and not 5 at most", {}),
        ("ready_contract", "lost", "no room, or nothing there, of 1", {}),
    ],
)
def test_what_does_not_ends_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, contract: str, case: str, words: str, parameters: dict[str, int]
) -> None:
    with pytest.raises(RuntimeError):
        run(monkeypatch, contract, case, **parameters)
    logs = (simulation.BUILD / contract).rglob("bench_contracts.log")
    newest = max(logs, key=lambda path: path.stat().st_mtime_ns)
    assert re.search(rf"{contract}\.sv:\d+: .*{words}", newest.read_text())
