"""Wrong scenarios: every value of some that are right, in place of which stands something else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.emulator import timeline
from headrace.emulator.linking import Course
from headrace.emulator.scenario import EXAMPLE, parse
from headrace.errors import HeadraceError

OTHER = """\
nodes = ["a", "b", "c"]
phys = 3
step_s = 0.5
duration_s = 20
fabric = "rtl"
fabric_cards = 1
fabric_parameters = {PORTS = 16}
routing = "none"
processes = "manet"
coordinator = "a"
endpoints = ["b"]
[movement]
kind = "static"
positions = [[0, 0], [50, 0], [100, 0]]
[radio]
model = "range"
range_m = 150
rate_bps = [[0, 54e6], [100, 6e6]]
loss = [[0, 0], [150, 0.5]]
channels = 2
[jammers.j]
position = [1, 2]
range_m = 30
loss = 0.5
channel = 1
[traffic.t]
from = "a"
to = "b"
size = 100
rate_bps = 1000.0
count = 5
start_s = 1.0
"""
TWO_RAY = """\
nodes = 3
[movement]
kind = "gauss-markov"
area_m = [100.0, 100.0]
mean_speed_mps = 2.0
duration_s = 30
[radio]
model = "two-ray"
antenna_m = 2.0
frequency_hz = 2.4e9
power_dbm = 20
gain_dbi = 3
bandwidth_hz = 20e6
noise_figure_db = 7
rates_bps = [6e6, 54e6]
frame_bytes = 1000
loss_target = 0.1
max_loss = 0.9
activity = 0.1
shadowing_db = 3
shadowing_m = 20
seed = 4
[hardware.n3]
interface = "eth7"
[programs.p]
command = "sleep 1"
may_fail = true
"""
VALUES = [
    '""', '"x"', '"\\u0000"', f'"{"n" * 90}"', '"../.."', "0", "-1", "0.5", "9" * 401, "-" + "9" * 30, "1e308",
    "-1e-308", "1e-300", "-1e155", "1e18", "-1e18", "1e-18", "4e3", "inf", "-inf", "nan", "true", "[]", "[[]]",
    "[[[[[1]]]]]", "[1]", "[nan]", "[[1, 2], 3]", '["a", "a"]', "{}", "{a = 1}", "1979-05-27", "[" * 200 + "]" * 200,
]  # fmt: skip


def values(text: str) -> list[tuple[int, int, int, str]]:
    """Of a scenario: line, begin and end of the value in it, and its key."""
    found = []
    for number, line in enumerate(text.splitlines()):
        if match := re.match(r"(\w+) *= *(.*?) *(#.*)?$", line):
            found.append((number, match.start(2), match.end(2), match[1]))
    return found


FEW = EXAMPLE.replace("nodes = 32 ", "nodes = 6 ").replace("duration_s = 600 ", "duration_s = 20 ")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", [FEW, OTHER, TWO_RAY], ids=["example", "other", "two-ray"])
def test_any_value_is_right_or_told_with_line_and_key(text: str, tmp_path: Path) -> None:
    path, lines = tmp_path / "wrong.toml", text.splitlines()
    parse(path, text)
    told, otherwise = 0, []
    for number, begin, end, key in values(text):
        for value in VALUES:
            changed = [*lines]
            changed[number] = f"{lines[number][:begin]}{value}{lines[number][end:]}"
            try:
                scenario = parse(path, "\n".join(changed))
                Course(scenario, timeline.Computed(scenario)).next()
            except HeadraceError as error:
                told += 1
                if not re.match(rf"{re.escape(str(path))}:\d+: ", str(error)) or "\n" in str(error):
                    otherwise.append(f"{key} = {value[:30]}: {str(error)[-150:]}")
            except Exception as error:
                otherwise.append(f"{key} = {value[:30]}: {error!r:.150}")
    assert not otherwise, "\n".join(otherwise)
    assert told > 10 * len(values(text))
