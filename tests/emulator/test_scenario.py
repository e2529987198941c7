"""Scenarios: what is wrong is said with line and key, before anything begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli import main
from headrace.emulator.scenario import read
from headrace.emulator.wiring import Wiring, next_hops, reachable
from headrace.errors import HeadraceError

GOOD = """nodes = 3
phys = 2
[movement]
kind = "static"
positions = [[0, 0], [1, 0], [2, 0]]
[radio]
range_m = 10
[programs.hello]
command = "echo hello"
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("phys = 2", "phys = 0", "2: phys: 0 is not a whole number from 1 to 16"),
        ("phys = 2", "phys = true", "2: phys: True is not a whole number"),
        ("phys = 2", "phy = 2", "2: phy: no such key"),
        ("nodes = 3", 'nodes = ["a", "a", "b"]', "1: nodes: a is there twice"),
        ("nodes = 3", "nodes = 0", "1: nodes: 0 is not from 1 to"),
        ("nodes = 3", "", "no key nodes"),
        ("nodes = 3", "nodes =", "line 1"),
        ("positions = [[0, 0], [1, 0], [2, 0]]", "positions = [[0, 0]]", "5: movement.positions: not 3 places"),
        ('kind = "static"', 'kind = "still"', "4: movement.kind: 'still'"),
        ("range_m = 10", "range_m = -1", "7: radio.range_m: not above 0"),
        ("range_m = 10", "range_m = 10\nloss = 2", "8: radio.loss: not from 0"),
        ('command = "echo hello"', "command = 3", "9: programs.hello.command: neither a string nor a list"),
        ('command = "echo hello"', 'command = "echo"\nnodes = ["n9"]', "10: programs.hello.nodes: no node n9"),
        ("[programs.hello]", "[programs.hello]\nwhere = 1", "9: programs.hello.where: no such key"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_key(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in GOOD
    path = tmp_path / "scenario.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(HeadraceError) as raised:
        read(path)
    text = str(raised.value)
    assert text.startswith(f"{path}:") and said in text and "\n" not in text


def test_the_example_that_new_writes_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new.toml"
    assert main(["emulate", "new", str(path)]) == 0
    assert main(["emulate", "check", str(path)]) == 0
    assert "6 nodes with 4 PHYs" in capsys.readouterr().out
    assert main(["emulate", "new", str(path)]) == 1


def test_too_many_nodes_are_refused_before_it_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.toml"
    places = [[number, 0] for number in range(40)]
    path.write_text(f'nodes = 40\n[movement]\nkind = "static"\npositions = {places}\n[radio]\nrange_m = 1\n')
    assert main(["emulate", "run", str(path), "--fabric", "rtl"]) == 2
    assert "160 PHYs are too many for the switch card, which has 64 ports" in capsys.readouterr().err


def test_a_link_stays_on_its_phys_and_new_ones_take_free_ones() -> None:
    wiring = Wiring(4, 2)
    wiring.change([(0, 1), (0, 2)])
    kept = wiring.wires[0, 2]
    lost, found = wiring.change([(0, 2), (0, 3)])
    assert [wire.nodes for wire in lost] == [(0, 1)] and [wire.nodes for wire in found] == [(0, 3)]
    assert wiring.wires[0, 2] == kept
    assert {wiring.wires[0, 2].phys[0], wiring.wires[0, 3].phys[0]} == {0, 1}
    with pytest.raises(HeadraceError, match="more links than its 2 PHYs"):
        wiring.change([(0, 1), (0, 2), (0, 3)])


def test_routes_have_the_fewest_hops() -> None:
    hops = next_hops(5, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert hops[0] == {1: 1, 3: 3, 2: 1}
    assert hops[4] == {}
    assert reachable(5, [(0, 1), (1, 2), (2, 3), (0, 3)]) == 12 / 20
