# SPDX-License-Identifier: Apache-2.0
"""``headrace new``, and lint, test and synth of modules of one's own. That what it makes works, the tutorial's test
shows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from called import call

import headrace.testing
from headrace import paths
from headrace.card import Card, Frame
from headrace.new import new_block, new_card


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("block", "Gate", "Gate: not a module name: a small letter, then letters, digits and _, 40 in all"),
        (
            "block",
            "../gate",
            "../gate: not a module name: a small letter, then letters, digits and _, 40 in all",
        ),
        (
            "block",
            "g" * 41,
            f"{'g' * 41}: not a module name: a small letter, then letters, digits and _, 40 in all",
        ),
        ("block", "module", "module: a keyword of SystemVerilog"),
        ("block", "stream_reg", "stream_reg: Headrace has a module called stream_reg"),
        ("card", "filter", "filter: Headrace has a card with this name"),
        ("card", "nic", "nic: Headrace has a card with this name"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(kind: str, name: str, line: str, tmp_path: Path) -> None:
    done = call("new", kind, name, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"headrace: {line}\n")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "gate.sv").write_text("mine")
    done = call("new", "block", "gate", "--to", tmp_path)
    assert (done.returncode, done.stderr) == (2, f"headrace: {tmp_path}/gate.sv: already exists\n")
    assert [path.name for path in tmp_path.iterdir()] == ["gate.sv"]


def test_what_comes_next_is_said_for_any_folder(tmp_path: Path) -> None:
    done = call("new", "block", "gate", "--to", "my blocks", folder=tmp_path)
    assert "    headrace lint 'my blocks/gate.sv'\n    headrace test 'my blocks'\n" in done.stdout
    assert call("lint", "my blocks/gate.sv", folder=tmp_path).stdout == "gate: clean\n"


def test_a_card_gets_a_second_block_beside_its_own(tmp_path: Path) -> None:
    new_card("mynic", tmp_path)
    new_block("gate", tmp_path)
    assert call("lint", tmp_path, tmp_path / "mynic.sv", tmp_path / "gate.sv").stdout.count(": clean\n") == 3


def test_the_top_of_a_card_is_short(tmp_path: Path) -> None:
    new_card("mynic", tmp_path)
    assert (tmp_path / "mynic.sv").read_text().count("\n") <= 60


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Card]:
    folder = tmp_path_factory.mktemp("card")
    new_card("mynic", folder / "mynic")
    with Card.open(folder / "mynic", progress=False) as card:
        yield card


def test_a_card_tells_when_and_where_a_frame_came_in_and_whether_it_is_whole(card: Card) -> None:
    card.sink(0, "memory")
    card.source(1, [Frame(bytes(200)), Frame(bytes(80), wire_len=1000), Frame(bytes(60), error=True)], timing=1e9)
    card.run()
    received = card.received(0)
    assert [(f.port, f.wire_len, f.error) for f in received] == [(1, 200, False), (1, 1000, False), (1, 60, True)]
    times = [frame.timestamp_ns for frame in received]
    gaps = [later - time for time, later in itertools.pairwise(times)]
    assert gaps == pytest.approx([(200 + 24) * 8, (80 + 24) * 8], abs=4)  # ns at 1 Gb/s, to a clock cycle


def test_lint_names_file_and_line_of_a_module(tmp_path: Path) -> None:
    new_block("gate", tmp_path)
    rtl = tmp_path / "gate.sv"
    rtl.write_text(rtl.read_text().replace("logic valid_q, last_q", "logic [1:0] last_q;\n  logic valid_q"))
    done = call("lint", rtl)
    assert done.returncode == 1 and "%Warning-WIDTH" in done.stderr and f"{rtl}:" in done.stderr


def test_what_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    new_block("gate", tmp_path)
    rtl = tmp_path / "gate.sv"
    for words, line in (
        (("lint", "nosuch.sv"), "nosuch.sv: no such file"),
        (("synth", "nosuch.sv"), "nosuch.sv: no such file"),
        (("synth", rtl, "-P", "DEPTH=4"), "gate has no parameter DEPTH; there are: WIDTH"),
        (("test", tmp_path / "nosuch"), f"{tmp_path}/nosuch: no such file or folder"),
    ):
        done = call(*words)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"headrace: {line}\n")


def test_a_file_needs_what_lies_beside_it_and_in_headrace(tmp_path: Path) -> None:
    new_block("gate", tmp_path)
    rtl = tmp_path / "gate.sv"
    more = "  keep_bytes #(.KEEP_W(8)) u_bytes (.keep(8'hFF), .bytes());\n  part u_part (.clk);\n\nendmodule"
    rtl.write_text(rtl.read_text().replace("\nendmodule", more))
    assert "Cannot find file containing module: 'part'" in call("lint", rtl).stderr
    (tmp_path / "part.sv").write_text("module part (\n    input logic clk\n);\nendmodule\n")
    assert call("lint", rtl).stdout == "gate: clean\n"


@pytest.mark.parametrize("block", ["filter/filter_control", "nic/nic_engine"])  # which uses registers of two maps
def test_registers_that_a_file_needs_are_made(block: str) -> None:
    assert call("lint", paths.rtl() / f"{block}.sv").stdout == f"{Path(block).name}: clean\n"


def test_a_file_that_uses_a_core_gets_the_processor() -> None:
    assert call("lint", paths.rtl() / "rpu" / "rpu_core.sv").stdout == "rpu_core: clean\n"


def test_without_the_tools_of_tests_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headrace.testing, "find_spec", lambda name: None if name == "cocotb" else name)
    with pytest.raises(headrace.testing.HeadraceError, match=r"tests need cocotb: pip install 'headrace\[test\]'"):
        headrace.testing.check()
