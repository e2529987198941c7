"""stream_contract stops the simulation of a stream that breaks the contract, and no other."""

import re

import pytest
import simulation

from headrace import synth


def run(monkeypatch: pytest.MonkeyPatch, case: str, **parameters: int) -> None:
    """One of the bench's cases."""
    monkeypatch.setenv("COCOTB_TEST_FILTER", f"{case}$")
    simulation.simulate("stream_contract", DATA_W=64, **parameters)


def test_a_stream_that_keeps_to_it_goes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "good")


def test_a_mac_may_take_an_offer_back(monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "taken_back", STAYS=0)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("gone", "an offered beat went or changed"),
        ("changed", "an offered beat went or changed"),
        ("hole", "tkeep has a hole"),
        ("short", "a beat within a frame is not full"),
    ],
)
def test_one_that_does_not_stops_with_a_reason(monkeypatch: pytest.MonkeyPatch, case: str, words: str) -> None:
    with pytest.raises(RuntimeError):
        run(monkeypatch, case)
    log = simulation.BUILD / "stream_contract" / "data_w64" / "bench_stream_contract.log"
    assert re.search(rf"stream_contract\.sv:\d+: .*{words}", log.read_text())


@pytest.mark.parametrize(
    "contract", ["stream_contract", "offer_contract", "onehot_contract", "range_contract", "ready_contract"]
)
def test_nothing_of_a_contract_is_left_in_synthesis(contract: str) -> None:
    assert synth.run(contract, "ecp5", {}, pnr=False, hierarchy=False).cells == {}
