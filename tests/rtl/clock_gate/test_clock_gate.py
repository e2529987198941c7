"""A gated clock ticks when it should; without a gate, a part that goes on while it would be closed stops the run."""

import re

import pytest
import simulation

from headrace import synth

TICKS = "it_ticks_with_work_and_in_hold_cycles_after"
WATCHED = {"WATCHED": 70}


def run(monkeypatch: pytest.MonkeyPatch, case: str, **parameters: int) -> None:
    """One of the bench's cases."""
    monkeypatch.setenv("COCOTB_TEST_FILTER", f"{case}$")
    simulation.simulate("clock_gate", **parameters)


@pytest.mark.parametrize("parameters", [{"GATED": 1}, {"GATED": 1, "HOLD": 1}, WATCHED], ids=str)
def test_it_ticks_when_it_should(monkeypatch: pytest.MonkeyPatch, parameters: dict[str, int]) -> None:
    run(monkeypatch, TICKS, **parameters)


def test_a_part_that_rests_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "good", **WATCHED)


@pytest.mark.parametrize("case", ["asleep", "late"])
def test_one_that_does_not_stops_with_a_reason(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    with pytest.raises(RuntimeError):
        run(monkeypatch, case, **WATCHED)
    log = simulation.BUILD / "clock_gate" / "watched70" / "bench_clock_gate.log"
    assert re.search(r"clock_gate\.sv:\d+: .*something changed behind a closed gate", log.read_text())


def test_nothing_is_left_in_synthesis_without_a_gate() -> None:
    assert synth.run("clock_gate", "ecp5", {}, pnr=False, hierarchy=False).cells == {}
