"""``headrace emulate sweep``: coverage and resiliency of a scenario of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.evaluate import sweep

TEXT = """\
nodes = 8
phys = 2
step_s = 5
duration_s = 10
[[movement]]
kind = "csv"
file = "ways.csv"
nodes = ["n1", "n2"]
[[movement]]
kind = "gauss-markov"
area_m = [100, 100]
mean_speed_mps = 3
duration_s = 10
[radio]
model = "free-space"
shadowing_db = 3
range_m = 90
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "ways.csv").write_text("time,node,x,y\n0,n1,10,10\n0,n2,50,50\n10,n1,20,20\n")
    path = tmp_path / "scenario.toml"
    path.write_text(TEXT)
    return path


def test_a_scenario_is_swept_over_phys_jams_and_seeds(
    scenario: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep, "run_points", lambda run, points, *_: [run(**point) for point in points])
    words = ["emulate", "sweep", str(scenario), "--phys", "1,2", "--jam", "0,3", "--seeds", "2", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    one, two = found["coverage"]
    assert (one["phys"], one["scenes"], one["mean"]) == (1, 6, 0.25)  # two seeds of three steps; a pair of eight nodes
    assert two["mean"] == 1.0 == two["least"]
    none, three = found["resiliency"]
    assert (none["jammed"], none["after"]) == (0, 1.0) and three["jammed"] == 3 and three["left"] < 1
    assert main([*words[:-1], "--endpoint", "60,60"]) == 0
    assert "50.0%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--phys", "one"], "one: not whole numbers"),
        (["--coordinator", "5"], "5: not a place"),
        (["--endpoint", "a,b"], "a,b: not a place"),
    ],
)
def test_wrong_words_are_refused(
    words: list[str], said: str, scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["emulate", "sweep", str(scenario), *words]) == 2
    assert said in capsys.readouterr().err
    scenario.unlink()
    assert main(["emulate", "sweep", str(scenario)]) == 1
