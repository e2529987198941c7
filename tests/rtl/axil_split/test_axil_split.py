"""One block, two as in a card, and several, small ones and large ones; one write under way and more."""

from pathlib import Path

import pytest
from simulation import BUILD, rtl, simulate

SOURCES = [*rtl("pkg", "memory", "stream"), Path(__file__).with_name("axil_split_flat.sv")]


@pytest.mark.parametrize(
    "parameters",
    [
        {"BLOCKS": 1},
        {"BLOCKS": 2, "FIRST": 0x8000},
        {"BLOCKS": 3, "FIRST": 0xF000, "STEP": 0x100},
        {"BLOCKS": 5, "FIRST": 0x10000, "STEP": 0x30000000},
        {"BLOCKS": 1, "MOST": 2},
        {"BLOCKS": 2, "FIRST": 0x2000, "MOST": 4},
        {"BLOCKS": 3, "FIRST": 0xF000, "STEP": 0x100, "MOST": 3},
    ],
    ids=str,
)
def test_axil_split(parameters: dict[str, int]) -> None:
    simulate("axil_split_flat", "bench_axil_split", folder="axil_split", sources=SOURCES, **parameters)


@pytest.mark.parametrize("channel", ["write", "data", "read"])
def test_a_request_that_changes_before_it_is_taken_stops_with_a_reason(
    channel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COCOTB_TEST_FILTER", f"{channel}$")
    with pytest.raises(RuntimeError):
        simulate("axil_split_flat", "bench_axil_contract", folder="axil_split", sources=SOURCES, BLOCKS=1)
    log = (BUILD / "axil_split_flat" / "blocks1" / "bench_axil_contract.log").read_text()
    assert f"u_contract.u_{channel}: what was offered went or changed before it was taken" in log
