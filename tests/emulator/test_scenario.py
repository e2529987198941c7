"""Scenarios: what is wrong is said with line and key, before anything begins."""

from __future__ import annotations

import itertools
import json
import resource
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.emulator import keeper
from headrace.emulator.linking import Course, Linking
from headrace.emulator.scenario import EXAMPLE, parse, read
from headrace.emulator.timeline import Computed, Recorded
from headrace.emulator.wiring import next_hops, reachable
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
        ("nodes = 3", 'nodes = ["a", "a", "b"]', "1: nodes: a is given twice"),
        ("nodes = 3", "nodes = 0", "1: nodes: 0 is not from 1 to"),
        ("nodes = 3", 'nodes = ["A", "a", "b"]', "1: nodes: A is given twice"),
        ("nodes = 3", 'nodes = ["a", "localhost", "b"]', "1: nodes: localhost is each node's name for itself"),
        ("nodes = 3", 'nodes = ["a", "b\\u0000", "c"]', "1: nodes: it holds a NUL character"),
        ('"echo hello"', '"echo \\u0000"', "9: programs.hello.command: it holds a NUL character"),
        ("phys = 2", f"phys = 1{'0' * 400}", "2: phys: an integer beyond 64 bits"),
        ("phys = 2", f"phys = 1{'0' * 5000}", "Exceeds the limit"),
        ("range_m = 10", f"range_m = 1{'0' * 400}", "7: radio.range_m: an integer beyond 64 bits"),
        ("[1, 0]", f"[1{'0' * 400}, 0]", "5: movement.positions: an integer beyond 64 bits"),
        ("phys = 2", f"phys = {'[' * 3000}{']' * 3000}", "tables or lists in too many others"),
        ("phys = 2", f"phys = {'[' * 60}{']' * 60}", "2: phys: tables or lists in too many others"),
        (
            'kind = "static"\npositions = [[0, 0], [1, 0], [2, 0]]',
            'kind = "random-waypoint"\narea_m = [9, 9]\nspeed_mps = [1, 2]\nduration_s = 1e17',
            "7: movement.duration_s: more than 1,000,000 waypoints",
        ),
        ("nodes = 3", "", "the key nodes is missing"),
        ("nodes = 3", "nodes =", "line 1"),
        ("positions = [[0, 0], [1, 0], [2, 0]]", "positions = [[0, 0]]", "5: movement.positions: not 3 places"),
        ('kind = "static"', 'kind = "still"', "4: movement.kind: 'still'"),
        ("range_m = 10", "range_m = -1", "7: radio.range_m: not above 0"),
        ("range_m = 10", "range_m = 10\nloss = 2", "8: radio.loss: not from 0"),
        ('command = "echo hello"', "command = 3", "9: programs.hello.command: neither a string nor a list"),
        ('command = "echo hello"', 'command = "echo"\nnodes = ["n9"]', "10: programs.hello.nodes: no node n9"),
        ("[programs.hello]", "[programs.hello]\nwhere = 1", "9: programs.hello.where: no such key"),
        ('kind = "static"', "", "3: movement: no key kind"),
        ("range_m = 10", 'model = "free-space"\nexponent = 2', "8: radio.exponent: no such key"),
        ("range_m = 10", 'model = "free-space"\nactivity = 1.5', "8: radio.activity: not at most 1"),
        ("range_m = 10", "range_m = 10\nrate_bps = [[5, 1], [0, 2]]", "8: radio.rate_bps: distances don't ascend"),
        ("[programs.hello]", "[obstacles.hut]\nbox = [[0, 0]]\n[programs.hello]", "9: obstacles.hut.box: not two"),
        ("[programs.hello]", "[obstacles.hut]\n[programs.hello]", "8: obstacles.hut.polygon: there must be"),
        ("[programs.hello]", "[jammers.j]\nposition = [0, 0]\npower_dbm = 3\n[programs.hello]", "8: jammers.j.range_m"),
        ("[programs.hello]", "[jammers.j]\nposition = [0]\n[programs.hello]", "9: jammers.j.position: not a place"),
        (
            'kind = "static"\npositions = [[0, 0], [1, 0], [2, 0]]\n[radio]\nrange_m = 10',
            'kind = "walker"\naltitude_m = 5e5\ninclination_deg = 9\n[radio]\nmodel = "two-ray"',
            "7: radio: only in a local frame",
        ),
        (
            "[programs.hello]",
            '[jammers.j]\nrange_m = 5\n[jammers.j.movement]\nkind = "walker"\naltitude_m = 5e5\n'
            "inclination_deg = 9\n[programs.hello]",
            "10: jammers.j.movement: not in the nodes' frame",
        ),
        (
            "[programs.hello]",
            '[jammers.j]\nrange_m = 5\n[jammers.j.movement]\nkind = "walks"\n[programs.hello]',
            "11: jammers.j.movement.kind: 'walks'",
        ),
        ("[programs.hello]", "[programs.phy0]", "8: programs.phy0: a name of the emulator's own processes"),
        ("phys = 2", 'coordinator = "n1"', "2: coordinator: there is one only with processes"),
        ("phys = 2", 'processes = "manet"\nendpoints = ["n1"]', "3: endpoints: of no master coordinator"),
        ("[radio]", "[traffic.a]\n[radio]", "6: traffic.a: no key from: a node"),
        ("[radio]", '[traffic.a]\nfrom = "n1"\nto = "n9"\n[radio]', "8: traffic.a.to: no node n9"),
        ("[radio]", '[traffic.a]\nfrom = "n1"\nto = "n2"\nsize = 70000\n[radio]', "9: traffic.a.size: 70000"),
        ("[radio]", '[traffic.a]\nfrom = "n1"\nto = "n2"\ninterval_s = 0\n[radio]', "9: traffic.a.interval_s"),
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


NAMED = """nodes = ["ISS (ZARYA)", "sat_1", "v.2"]
[movement]
kind = "csv"
file = "places.csv"
[radio]
model = "free-space"
[radio.nodes."ISS (ZARYA)"]
power_dbm = 30
[traffic.a]
from = "ISS (ZARYA)"
to = "sat_1"
[programs.hello]
command = ["echo", "hello"]
nodes = ["ISS (ZARYA)", "v.2"]
"""


def test_names_that_files_have_are_taken_or_told_what_they_become(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "places.csv").write_text("time,node,x,y\n0,v.2,2,0\n0,ISS (ZARYA),9,0\n0,sat_1,1,0\n")
    path = tmp_path / "scenario.toml"
    path.write_text(NAMED)
    found = read(path, strict=True)
    assert found.nodes == ("ISS-ZARYA", "sat_1", "v.2") and found.movement.at(0)[:, 0].tolist() == [9, 1, 2]
    assert found.programs[0].nodes == (0, 2) and found.traffic[0].source == 0
    assert "ISS (ZARYA) is called ISS-ZARYA" in found.notes
    assert main(["emulate", "check", str(path)]) == 0
    assert "headrace: ISS (ZARYA) is called ISS-ZARYA" in capsys.readouterr().err
    path.write_text(NAMED.replace("ISS (ZARYA)", "ISS-ZARYA"))
    assert read(path).nodes == ("ISS-ZARYA", "sat_1", "v.2")
    for name in ("10.0.0.3", "(", "1." + "x" * 40):
        path.write_text(NAMED.replace("v.2", name))
        with pytest.raises(HeadraceError, match="1: nodes: .* is no name: letters, digits, -, _ and ."):
            read(path)
    path.write_text(NAMED.replace("sat_1", "ISS ZARYA"))
    with pytest.raises(HeadraceError, match="1: nodes: ISS-ZARYA is given twice"):
        read(path)


@pytest.mark.parametrize("command", ["check", "plan", "sweep", "run"])
def test_what_of_a_file_is_left_out_is_told_by_all_that_read_it(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "places.csv").write_text("time,node,x,y\n0,a,2,0\n0,b,east,0\n0,b,1,0\n")
    path = tmp_path / "scenario.toml"
    movement = '[movement]\nkind = "csv"\nfile = "places.csv"\n[radio]\nrange_m = 10\n'
    path.write_text(f"nodes = 2\nduration_s = 1\n{movement}")
    words = ["--seeds", "1", "--phys", "1", "--jam", ""] if command == "sweep" else []
    assert main(["emulate", command, "--strict", str(path)]) == 2
    said = f"{tmp_path}/places.csv:3: could not convert string to float: 'east'"
    assert capsys.readouterr().err == f"headrace: {said}\n"
    if command != "run":
        assert main(["emulate", command, str(path), *words]) == 0
        assert f"{tmp_path}/places.csv: left out: 1 (line 3: could not convert" in capsys.readouterr().err


@pytest.mark.parametrize("table", ["movement", "[movement]", "jammers.j.movement"])
def test_what_of_a_file_is_left_out_is_an_error_where_wanted_whatever_moves(table: str, tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("time,node,x,y\n0,n1,2,0\n0,n2,east,0\n0,n2,1,0\n0,j,3,0\n")
    movement = f'[{table}]\nkind = "csv"\nfile = "places.csv"\n'
    if table.startswith("jammers"):
        movement += '[movement]\nkind = "static"\npositions = [[0, 0], [1, 0]]\n[jammers.j]\nrange_m = 5\n'
    path = tmp_path / "scenario.toml"
    path.write_text(f"nodes = 2\n{movement}[radio]\nrange_m = 10\n")
    assert any("left out: 1 (line 3: " in note for note in read(path).notes)
    with pytest.raises(HeadraceError, match=r"places\.csv:3: could not convert"):
        read(path, strict=True)


MIXED = """nodes = ["mast", "car", "bus"]
[[movement]]
kind = "static"
nodes = ["mast"]
positions = [[7, 7]]
[[movement]]
kind = "random-waypoint"
area_m = [10, 10]
speed_mps = [1, 2]
[radio]
range_m = 10
"""


def test_some_nodes_can_move_in_one_way_and_some_in_another(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(MIXED)
    movement = read(path).movement
    assert movement.names == ("mast", "car", "bus") and movement.duration_s == 3600
    first, later = movement.at(0), movement.at(50)
    assert first[0].tolist() == later[0].tolist() == [7, 7, 0]
    assert (first[1:, :2] != later[1:, :2]).all()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("speed_mps = [1, 2]", "speed_mps = [2, 1]", "9: movement.1.speed_mps: not the least"),
        ('nodes = ["mast"]', 'nodes = ["ship"]', "4: movement.0.nodes: no node ship"),
        ("area_m = [10, 10]", 'area_m = [10, 10]\nnodes = ["car"]', "2: movement: nobody moves bus"),
    ],
)
def test_what_is_wrong_in_one_of_several_movements_is_told(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in MIXED
    path = tmp_path / "scenario.toml"
    path.write_text(MIXED.replace(old, new))
    with pytest.raises(HeadraceError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}:{said}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("power_dbm = 20.0", "power_dbm = inf", "radio.power_dbm: not a finite number"),
        ("exponent = 2.7", "exponent = inf", "radio.exponent: not a finite number"),
        ("shadowing_db = 4.0", "channels = 1000000000", "radio.channels: not a whole number of at most 1,000"),
        ("mean_speed_mps = 15.0", "mean_speed_mps = 15.0\nsigma_direction_deg = inf", "not a finite number"),
        ("mean_speed_mps = 15.0", "mean_speed_mps = 15.0\nupdate_s = 1e-15", "more than 1,000,000 changes in 3600 s"),
        ("step_s = 1.0", 'step_s = "1"', "step_s: '1' is not a number from 0.001"),
        ("duration_s = 600", "duration_s = 1.1e18", "duration_s: neither 0 nor from 1e-18 to 1e\\+18 in size"),
        ('to = "n5"', 'to = "n5"\ninterval_s = 0.9e-18', "traffic.readings.interval_s: neither 0 nor from"),
        ("exponent = 2.7", "exponent = 0.9e-18", "radio.exponent: neither 0 nor from 1e-18 to 1e\\+18 in size"),
        ("power_dbm = 20.0", "power_dbm = 301", "radio.power_dbm: not at most 300"),
        ("power_dbm = 20.0", "power_dbm = -301", "radio.power_dbm: not at least -300"),
        ("power_dbm = 20.0", "gain_dbi = 301", "radio.gain_dbi: not at most 300"),
        ("power_dbm = 20.0", "gain_dbi = -301", "radio.gain_dbi: not at least -300"),
        ("power_dbm = 10.0", "power_dbm = 301", "jammers.truck.power_dbm: not at most 300"),
        ("power_dbm = 10.0", "power_dbm = -301", "jammers.truck.power_dbm: not at least -300"),
        ("[300, 420]]", "[300, 1.1e18]]", "jammers.truck.on_s: neither 0 nor from 1e-18 to 1e\\+18 in size"),
    ],
)
def test_numbers_that_cant_be_computed_with_are_told(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in EXAMPLE
    path = tmp_path / "scenario.toml"
    path.write_text(EXAMPLE.replace(old, new))
    with pytest.raises(HeadraceError, match=said) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}:")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ": a record without steps"),
        (b'{"nodes": ["a"]}\n', ": a record without steps"),
        (b"\xff\xfe\x00", ":1: not a record of an emulation"),
        (b'{"nodes": ["b"]}\n', ":1: a record of other nodes"),
        (b'{"nodes": ["a"]}\n{"time_s": 0, "links": [{"nodes": [0, 1]}]}', ":2: not a record of an emulation"),
        (b'{"nodes": ["a"]}\n' + b"[" * 100_000, ":2: not a record of an emulation"),
    ],
)
def test_what_is_no_record_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "links.jsonl"
    path.write_bytes(content)
    static = '[movement]\nkind = "static"\npositions = [[0, 0]]\n[radio]\nrange_m = 1\n'
    scenario = parse(tmp_path / "one.toml", f"nodes = ['a']\n{static}")
    with pytest.raises(HeadraceError) as raised:
        Recorded(path, scenario)
    assert str(raised.value) == f"{path}{said}"


def test_a_record_for_which_there_is_no_room_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "example.toml"
    path.write_text(EXAMPLE)
    assert main(["emulate", "plan", str(path), "--steps", "1", "--record", "/dev/full"]) == 1
    assert "headrace: /dev/full: No space left on device" in capsys.readouterr().err


def test_a_plan_is_what_a_run_would_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "example.toml"
    path.write_text(EXAMPLE.replace("duration_s = 600", "duration_s = 20"))
    record = tmp_path / "links.jsonl"
    drawn = tmp_path / "plan.svg"
    words = ["emulate", "plan", str(path), "--json", "--record", str(record), "--plot", str(drawn)]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    steps = told["steps"]
    assert len(steps) == 21 and drawn.read_text().count("<svg") == 1
    for before, after in itertools.pairwise(steps):
        assert after["links"] == before["links"] + after["found"] - after["lost"]
    scenario = read(path)
    replayed, computed = Course(scenario, Recorded(record, scenario)), Course(scenario, Computed(scenario))
    for planned in steps:
        changes = replayed.next(), computed.next()
        assert changes[0] is not None and changes[1] is not None
        first, second = (change.step for change in changes)
        assert first.phys == second.phys and first.links == second.links and first.positions == second.positions
        assert len(first.links) == planned["links"] <= 64
        assert planned["coverage"] == pytest.approx(reachable(32, first.links))
        assert first.jammers and not first.jammers[0]["on"]
    for call in ("os.fork", "time.sleep"):  # no node is started, and no step waited for
        monkeypatch.setattr(call, pytest.fail)
    assert main(["emulate", "plan", str(path), "--steps", "2"]) == 0
    assert "2 steps" in capsys.readouterr().out


def test_the_example_that_new_writes_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new.toml"
    assert main(["emulate", "new", str(path)]) == 0
    assert main(["emulate", "check", str(path)]) == 0
    assert "32 nodes with 4 PHYs" in capsys.readouterr().out
    assert main(["emulate", "new", str(path)]) == 1


def test_too_many_nodes_are_refused_before_it_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.toml"
    places = [[number, 0] for number in range(40)]
    moves = f'[movement]\nkind = "static"\npositions = {places}\n[radio]\nrange_m = 1\n'
    path.write_text(f"nodes = 40\nfabric_cards = 2\n{moves}")
    assert main(["emulate", "run", str(path), "--fabric", "rtl"]) == 2
    assert "160 PHYs are too many for 2 switch cards of 64 ports" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("memory", "3 with 2 PHYs take about 18 MiB without their programs, and 0 MiB are free"),
        ("max_net_namespaces", "3 of them, and at most 1 net namespaces"),
        ("pid_max", "22 processes, and 1 are allowed"),
        ("files", "67 open files, and 1 are allowed"),
    ],
)
def test_more_than_the_machine_has_is_refused(
    where: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = resource.getrlimit
    monkeypatch.setattr(keeper, "_meminfo", lambda _: 0 if where == "memory" else 1 << 40)
    monkeypatch.setattr(keeper, "_number", lambda path: 1 if path.endswith(where) else 1 << 30)
    monkeypatch.setattr(
        resource,
        "getrlimit",
        lambda what: (1, 1) if (where, what) == ("files", resource.RLIMIT_NOFILE) else limit(what),
    )
    path = tmp_path / "scenario.toml"
    path.write_text(GOOD)
    for command in ("check", "run"):
        assert main(["emulate", command, str(path)]) == 1
        assert f"headrace: too many nodes for this machine: {said}" in capsys.readouterr().err


def test_a_link_stays_on_its_phys_and_new_ones_take_free_ones() -> None:
    linking = Linking(4, 2)
    linking.make([(0, 1), (0, 2)])
    kept = linking.wires[0, 2]
    lost, found = linking.make([(0, 2), (0, 3)])
    assert [wire.nodes for wire in lost] == [(0, 1)] and [wire.nodes for wire in found] == [(0, 3)]
    assert linking.wires[0, 2] == kept
    assert {linking.wires[0, 2].phys[0], linking.wires[0, 3].phys[0]} == {0, 1}
    with pytest.raises(HeadraceError, match="more links than its 2 PHYs"):
        linking.make([(0, 1), (0, 2), (0, 3)])


def test_routes_have_the_fewest_hops() -> None:
    hops = next_hops(5, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert hops[0] == {1: 1, 3: 3, 2: 1}
    assert hops[4] == {}
    assert reachable(5, [(0, 1), (1, 2), (2, 3), (0, 3)]) == 12 / 20
