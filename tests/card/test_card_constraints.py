"""Constraints between parameters: what doesn't go together is refused in one line before anything is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from headrace.build.constraints import Comparison
from headrace.build.description import load_card
from headrace.build.models import build_card
from headrace.cli import main
from headrace.errors import HeadraceError

FRAMES = "packet memory must hold one and a half frames: PACKET_KB * 2048 must be at least 3 * MAX_FRAME"
ROWS = "packet memory has at most 8,192 rows: PACKET_KB must be at most DATA_W"
BURST = "the read buffer must hold a burst: READ_BUFFER must be at least BURST, or a 4 KB page of 32768 / MEM_W beats"
NARROW = "filter cores need a DATA_W of at least 128"


@pytest.mark.parametrize(
    ("card", "parameters", "message"),
    [
        ("filter", {"PACKET_KB": 64}, f"parameters MAX_FRAME = 65600, PACKET_KB = 64: {FRAMES}"),
        (
            "filter",
            {"MAX_FRAME": 21846, "PACKET_KB": 32},
            f"parameters MAX_FRAME = 21846, PACKET_KB = 32: {FRAMES}",
        ),
        ("filter", {"DATA_W": 128, "PACKET_KB": 256}, f"parameters PACKET_KB = 256, DATA_W = 128: {ROWS}"),
        ("capture", {"CORES": 1, "PACKET_KB": 64}, FRAMES),
        ("capture", {"CORES": 1, "DATA_W": 128, "PACKET_KB": 256}, ROWS),
        ("capture", {"CORES": 1, "DATA_W": 64}, f"parameters CORES = 1, DATA_W = 64: {NARROW}"),
        ("capture", {"BURST": 17, "READ_BUFFER": 16}, BURST),
        ("capture", {"BURST": 256, "READ_BUFFER": 32, "MEM_W": 512}, BURST),
        ("capture", {"BURST": 256, "READ_BUFFER": 128, "MEM_W": 128}, BURST),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(
    card: str, parameters: dict[str, int | str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(HeadraceError) as error:
        build_card(card, parameters, progress=False)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert error.value.exit_code == 2
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("card", "parameters"),
    [
        ("filter", {"PACKET_KB": 32, "MAX_FRAME": 21845}),
        ("filter", {"PACKET_KB": 16, "MAX_FRAME": 9216}),
        ("filter", {"DATA_W": 128}),
        ("filter", {"DATA_W": 256, "PACKET_KB": 256}),
        ("filter", {"PACKET_KB": 256, "MAX_FRAME": 131071}),
        ("capture", {"BURST": 16, "READ_BUFFER": 16}),
        ("capture", {"BURST": 256, "READ_BUFFER": 64, "MEM_W": 512}),
        ("capture", {"DATA_W": 32, "PACKET_KB": 256}),  # without cores there is no such memory
        ("capture", {"DATA_W": 128, "CORES": 1}),
    ],
)
def test_what_just_goes_together_is_taken(card: str, parameters: dict[str, int | str]) -> None:
    assert load_card(card).resolve(parameters).items() >= parameters.items()


def test_the_command_line_says_it_in_one_line_and_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "filter", "-P", "PACKET_KB=16"]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and FRAMES in printed.err


@pytest.mark.parametrize(
    ("text", "values", "holds"),
    [
        ("A <= B", {"A": 2, "B": 2}, True),
        ("A < B", {"A": 2, "B": 2}, False),
        ("A>=B", {"A": 2, "B": 3}, False),
        ("A * 3 > B * 2", {"A": 1, "B": 1}, True),
        ("A == 0", {"A": 0}, True),
        ("A != 0", {"A": 0}, False),
        ("A * B * 2 <= 1_000", {"A": 50, "B": 10}, True),
    ],
)
def test_comparisons_mean_what_they_say(text: str, values: Mapping[str, int], holds: bool) -> None:
    assert Comparison.parse(text).holds(values) is holds


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ('{any = ["A <= 8"]}', "a constraint needs a table with 'any' and 'message'"),
        ('{any = "A <= 8", message = ""}', "'any' of a constraint must be a list of comparisons"),
        ('{any = [], message = ""}', "'any' of a constraint must be a list of comparisons"),
        ('{any = ["A"], message = ""}', "constraint 'A' is no comparison such as 'A * 2 <= B'"),
        ('{any = ["A <= B <= 9"], message = ""}', "constraint 'A <= B <= 9' is no comparison"),
        ('{any = ["A + 1 <= 8"], message = ""}', "constraint 'A + 1 <= 8' is no comparison"),
        ('{any = ["exit() <= 8"], message = ""}', "is no comparison"),
        ('{any = ["A 2 <= 8"], message = ""}', "constraint 'A 2 <= 8': 'A 2' is neither a parameter nor a number"),
        ('{any = ["A * <= 8"], message = ""}', "'' is neither a parameter nor a number"),
        ('{any = ["B <= 8"], message = ""}', "constraint on B, which is no parameter with whole numbers"),
        ('{any = ["NAME <= 8"], message = ""}', "constraint on NAME, which is no parameter with whole numbers"),
        ('{any = ["A <= 8"], message = "too many"}', "the defaults of parameters A = 9: too many"),
    ],
)
def test_a_wrong_constraint_is_refused_with_the_file(tmp_path: Path, constraint: str, message: str) -> None:
    path = tmp_path / "card.toml"
    path.write_text(
        f'top = "t"\nsources = []\nports = 1\nclock_hz = 1\nconstraints = [{constraint}]\n'
        'parameters.A = {default = 9}\nparameters.NAME = {default = "x"}\n'
    )
    with pytest.raises(HeadraceError) as error:
        load_card(tmp_path)
    assert message in str(error.value) and str(path) in str(error.value)
    assert error.value.exit_code == 2


def test_constraints_hold_for_parameters_given_as_text(tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text(
        'top = "t"\nsources = []\nports = 1\nclock_hz = 1\nparameters.A = {default = 1}\nparameters.B = {default = 1}\n'
        '[[constraints]]\nany = ["A <= B", "B == 0"]\nmessage = "A may not be larger"\n'
    )
    card = load_card(tmp_path)
    assert card.resolve({"A": "0x10", "B": "16"}) == {"A": 16, "B": 16}
    assert card.resolve({"A": "5", "B": "0"}) == {"A": 5, "B": 0}
    with pytest.raises(HeadraceError, match="^parameters A = 17, B = 16: A may not be larger$"):
        card.resolve({"A": "0x11", "B": "16"})
