"""What is evaluated once where Verilator would do it twice, and where nothing is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.build.evaluation import shorten

MODEL = """\
void Vcard___024root___ico_sequent__TOP__0(Vcard___024root* vlSelf) {
    vlSelfRef.ready = vlSelfRef.valid;
    vlSelfRef.card__DOT__gen__BRA__0__KET____DOT__part_clk
        = ((IData)(vlSelfRef.clk) & (0U != (IData)(vlSelfRef.card__DOT__u_gate__DOT__gen_gate__DOT__work_q)));
}
void Vcard_part___ico_sequent__TOP__card__DOT__u_part__0(Vcard_part* vlSelf) {
    vlSelfRef.__PVT__clk = ((IData)(vlSymsp->TOP.clk)
        & (0U != (IData)(vlSymsp->TOP.card__DOT__u_third__DOT__gen_gate__DOT__work_q)));
}
void Vcard___024root___eval(Vcard___024root* vlSelf) {
    __VicoIterCount = 0U;
    do {
        vlSelfRef.__VicoPhaseResult = Vcard___024root___eval_phase__ico(vlSelf);
    } while (vlSelfRef.__VicoPhaseResult);
    __VnbaIterCount = 0U;
    do {
        vlSelfRef.__VnbaPhaseResult = Vcard___024root___eval_phase__nba(vlSelf);
    } while (vlSelfRef.__VnbaPhaseResult);
}
void Vcard___024root___eval_nba(Vcard___024root* vlSelf) {
    // Body
    if ((0x000000000000000dULL & vlSelfRef.__VnbaTriggered[0U])) {
        rise(vlSelf);
    }
    if ((2ULL & vlSelfRef.__VnbaTriggered[0U])) {
        fall(vlSelf);
    }
    if ((0x000000000000000fULL & vlSelfRef.__VnbaTriggered[0U])) {
        both(vlSelf);
    }
}
void Vcard___024root___nba_sequent__TOP__0(Vcard___024root* vlSelf) {
    if (vlSymsp->_vm_contextp__->assertOnGet(2, 1)) {
    }
}
"""
EDGES = (
    "posedge clk",
    "negedge clk",
    "posedge (clk & (3'h0 != card.u_other.gen_gate.work_q))",
    "posedge card.gen[0].part_clk",
    "posedge card.u_part.clk",  # of an instance with C++ of its own
)


def write(folder: Path, edges: tuple[str, ...]) -> Path:
    triggers = "".join(f"region trigger index {n} is active: @({edge})\\n\n" for n, edge in enumerate(edges))
    path = folder / "Vcard___024root__0.cpp"
    path.write_text(triggers + MODEL)
    return path


def test_what_depends_on_inputs_is_evaluated_with_the_clock_low_alone(tmp_path: Path) -> None:
    path = write(tmp_path, EDGES)
    assert shorten(tmp_path)
    body = path.read_text().partition("eval(")[2]
    high, low = body.partition("if (vlSelfRef.clk) {")[2].split("} else {")
    assert "vlSymsp->TOP__card__DOT__u_part.__PVT__clk = " in high
    assert "part_clk" in high and "eval_phase__ico" not in high  # gates open and close with every evaluation
    assert "eval_phase__ico" in low
    assert "__VnbaPhaseResult);" not in low.replace("__VnbaPhaseResult = ", "")
    assert "if (true) {" in body
    falling, rising = body.partition("if (!vlSelfRef.clk) {")[2].split("return;")
    assert re.findall(r"(\w+)\(vlSelf\);", falling) == ["fall", "both"]
    assert re.findall(r"(\w+)\(vlSelf\);", rising) == ["rise", "fall", "both"]


@pytest.mark.parametrize(
    "edge", ["posedge card.divided_q", "posedge clk or posedge rst", "posedge (clk & card.enable_q)"], ids=str
)
def test_a_model_with_other_clocks_stays_as_it_is_but_for_assertions(edge: str, tmp_path: Path) -> None:
    path = write(tmp_path, (*EDGES, edge))
    before = path.read_text()
    assert not shorten(tmp_path)
    assert path.read_text() == before.replace("vlSymsp->_vm_contextp__->assertOnGet(2, 1)", "true")


def test_a_gate_that_logic_of_inputs_reads_keeps_that_logic(tmp_path: Path) -> None:
    path = write(tmp_path, EDGES)
    path.write_text(
        path.read_text().replace("= vlSelfRef.valid", "= vlSelfRef.card__DOT__gen__BRA__0__KET____DOT__part_clk")
    )
    assert not shorten(tmp_path)
