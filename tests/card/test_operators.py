"""What a card evaluates in every cycle stays within bounds: it is what a virtual card's speed depends on first."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.build.description import load_card
from headrace.build.evaluation import shorten
from headrace.build.models import translate
from headrace.build.operators import Operators, count

# Of a card with parameters: operators in a cycle in which all of it is awake, and in one in which all of it sleeps
LIMITS: dict[str, tuple[dict[str, int], int, int]] = {
    "switch": ({"PORTS": 4, "TABLES": 4}, 12_600, 1_400),
    "nic": ({}, 13_600, 1_200),
    "bridge": ({}, 11_500, 1_900),
    "filter": ({}, 5_300, 2_200),
    "rpu": ({}, 33_800, 29_300),
    "capture": ({}, 2_800, 900),
    "link": ({}, 5_800, 850),
}

MODEL = """\
void Vcard___024root___eval_ico(Vcard___024root* vlSelf) {
    if ((1ULL & vlSelfRef.__VicoTriggered[0U])) {
        Vcard___024root___ico_sequent__TOP__0(vlSelf);
    }
}
void Vcard___024root___eval_nba(Vcard___024root* vlSelf) {
    if ((1ULL & vlSelfRef.__VnbaTriggered[0U])) {
        vlSelfRef.a = (1U & vlSelfRef.b);
    }
    if ((4ULL & vlSelfRef.__VnbaTriggered[0U])) {
        Vcard___024root___nba_sequent__TOP__0(vlSelf);
        Vcard___024root___nba_sequent__TOP__0(vlSelf);
    }
    if ((5ULL & vlSelfRef.__VnbaTriggered[0U])) {
        vlSelfRef.c = (vlSelfRef.a + vlSelfRef.d);
    }
}
VL_INLINE_OPT void Vcard___024root___nba_sequent__TOP__0(Vcard___024root* vlSelf) {
    if ((vlSelfRef.e & vlSelfRef.f)) {
        vlSelfRef.d = (((vlSelfRef.d + 1U) << 2U) ^ vlSelfRef.e);
    }
    vlSelfRef.g = (vlSelfRef.d | vlSelfRef.e);
}
VL_INLINE_OPT void Vcard___024root___ico_sequent__TOP__0(Vcard___024root* vlSelf) {
    vlSelfRef.b = ((vlSelfRef.x + vlSelfRef.y) & 1U);
}
"""
TRIGGERS = "".join(
    f"VL_DBG_MSGS(\"'act' region trigger index {number} is active: @({clock})\\n\");\n"
    for number, clock in enumerate(("posedge clk", "negedge clk", "posedge gate"))
)


@pytest.mark.parametrize("card", LIMITS)
def test_few_operators_are_evaluated_in_every_cycle(card: str, tmp_path: Path) -> None:
    parameters, awake, asleep = LIMITS[card]
    translate(load_card(card), parameters, tmp_path)
    found = count(tmp_path / "model")
    assert found.awake <= awake and found.asleep <= asleep, found
    assert shorten(tmp_path / "model")


def test_what_depends_on_a_condition_or_a_gate_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "Vcard___024root__0.cpp").write_text(MODEL)
    (tmp_path / "Vcard___024root__0__Slow.cpp").write_text(TRIGGERS)
    assert count(tmp_path) == Operators(all=7, awake=8, asleep=4)
