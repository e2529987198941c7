"""Movement from files: small ones written by hand, whose positions are known; what is wrong is told with its place."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.emulator.movement import Movement, read_movement
from headrace.errors import HeadraceError

CSV = "time,node,x,y\n10,a,0,0\n20,b,5,5\n20,a,100,0\n10,b,5,-5\n"
NS2 = """\
# from setdest
$node_(0) set X_ 10.0
$node_(0) set Y_ 20
$node_(0) set Z_ 0.0
$node_(1) set X_ 1e2
$god_ set-dist 0 1 1
$ns_ at 5.0 "$node_(0) setdest 40.0 20.0 10.0"
$ns_ at 7.0 "$node_(0) setdest 30.0 120.0 5.0"
$ns_ at 9 "$node_(1) set Y_ 50.0"
"""
GPX = """<?xml version="1.0"?>
<gpx version="1.1" creator="hand" xmlns="http://www.topografix.com/GPX/1/1">
<wpt lat="0.001" lon="0"><name>mast</name></wpt>
<trk><name>walker</name><trkseg>
<trkpt lat="0" lon="0"><time>2024-05-01T10:00:00Z</time></trkpt>
<trkpt lat="0" lon="0.001"><ele>50</ele><time>2024-05-01T12:00:10+02:00</time></trkpt>
</trkseg></trk></gpx>
"""
KML = """<?xml version="1.0"?>
<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"><Document>
<Placemark><name>car</name><gx:Track>
<when>2024-05-01T10:00:00Z</when>
<when>2024-05-01T10:00:10Z</when>
<gx:coord>0 0 0</gx:coord>
<gx:coord>0.001 0 0</gx:coord>
</gx:Track></Placemark>
<Placemark><name>mast</name><Point><coordinates>0,0.001,20</coordinates></Point></Placemark>
</Document></kml>
"""
CZML = [
    {"id": "document", "version": "1.0"},
    {
        "id": "s1",
        "name": "sat",
        "position": {"epoch": "2024-05-01T00:00:00Z", "cartesian": [0, 7e6, 0, 0, 10, 7e6, 100, 0]},
    },
    {"id": "g", "position": {"cartesian": [6378137, 0, 0]}},
]
SUMO = """<fcd-export>
<timestep time="0.00"><vehicle id="v1" x="0.0" y="1.0" speed="1"/></timestep>
<timestep time="1.00"><vehicle id="v1" x="10.0" y="1.0"/>
<vehicle id="v2" x="3.0" y="4.0"/></timestep>
<timestep time="2.00"><vehicle id="v2" x="3.0" y="6.0"/></timestep>
</fcd-export>
"""
VISIBILITY = {
    "step_seconds": 600,
    "time_steps": [
        {
            "nodes": [
                {"id": 1, "name": "UAV1", "position": {"x": 0, "y": 0, "z": 10},
                 "visibility_graph": [{"id": 2, "LoS": True, "distance": {"x": 3, "y": 4, "z": 0}},
                                      {"id": 3, "LoS": False, "distance": 7.0}]},
                {"id": 2, "name": "UAV2", "position": {"x": 3, "y": 4, "z": 10},
                 "visibility_graph": [{"id": 1, "LoS": True, "distance": 5.0}]},
                {"id": 3, "name": "UAV3", "position": {"x": 0, "y": 7, "z": 10}, "visibility_graph": []},
            ]
        },
        {
            "nodes": [
                {"id": 1, "name": "UAV1", "position": [0, 0, 20], "visibility_graph": []},
                {"id": 2, "name": "UAV2", "position": [0, 0, 0],
                 "visibility_graph": [{"id": 3, "LoS": True, "distance": 9}]},
                {"id": 3, "name": "UAV3", "position": [0, 9, 0], "visibility_graph": []},
            ]
        },
    ],
}  # fmt: skip


def moves(folder: Path, kind: str, content: str, names: list[str], **table: Any) -> Movement:
    (folder / f"file.{kind}").write_text(content)
    return read_movement({"kind": kind, "file": f"file.{kind}", **table}, folder, names)


def test_csv_in_metres(tmp_path: Path) -> None:
    found = moves(tmp_path, "csv", CSV, ["b", "a"])
    assert found.duration_s == 10
    assert found.at(2.5).tolist() == [[5, -2.5, 0], [25, 0, 0]]
    assert found.at(99).tolist() == [[5, 5, 0], [100, 0, 0]]
    by_number = moves(tmp_path, "csv", CSV, ["n1", "n2"], start=0)
    assert by_number.at(15).tolist() == [[50, 0, 0], [5, 0, 0]]  # in the file's order


def test_csv_in_degrees(tmp_path: Path) -> None:
    content = "Time;".replace(";", ",") + "name,lat,lon,alt\n0,a,0,0,0\n10,a,0,0.001,0\n0,b,0,0,7\n"
    found = moves(tmp_path, "csv", content, ["a", "b"])
    east = 6_378_137 * math.radians(0.001)
    assert found.at(5)[0] == pytest.approx([east / 2, 0, 0], abs=0.01)
    assert found.at(5)[1] == pytest.approx([0, 0, 7], abs=1e-6)
    fixed = moves(tmp_path, "csv", content, ["a", "b"], frame="earth")
    assert fixed.frame.earth and fixed.at(0)[0] == pytest.approx([6_378_137, 0, 0])


def test_ns2(tmp_path: Path) -> None:
    found = moves(tmp_path, "ns2", NS2, ["n1", "n2"])
    assert found.at(0).tolist() == [[10, 20, 0], [100, 0, 0]]
    assert found.at(6)[0].tolist() == [20, 20, 0]
    assert found.at(7)[0].tolist() == [30, 20, 0]  # on its way it is sent elsewhere
    assert found.at(17)[0] == pytest.approx([30, 70, 0])
    assert found.duration_s == 27 and found.at(30)[0] == pytest.approx([30, 120, 0])
    assert found.at(9)[1].tolist() == [100, 0, 0] and found.at(9.001)[1].tolist() == [100, 50, 0]


def test_bonnmotion(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "m.movements.gz", "wt") as file:
        file.write("0.0 0 0 10.0 100 50\n0 7 7 2 7 7 4 9 7\n")
    found = read_movement({"kind": "bonnmotion", "file": "m.movements.gz"}, tmp_path, ["n1", "n2"])
    assert found.at(5).tolist() == [[50, 25, 0], [9, 7, 0]] and found.at(3)[1].tolist() == [8, 7, 0]
    solid = moves(tmp_path, "bonnmotion", "0 1 2 3 4 1 2 7\n", ["n1"], dimensions=3)
    assert solid.at(2)[0].tolist() == [1, 2, 5]


@pytest.mark.parametrize(
    ("kind", "content", "names"), [("gpx", GPX, ["walker", "mast"]), ("kml", KML, ["car", "mast"])]
)
def test_tracks_of_maps(kind: str, content: str, names: list[str], tmp_path: Path) -> None:
    found = moves(tmp_path, kind, content, names)
    east, north = 6_378_137 * math.radians(0.001), 6_335_439 * math.radians(0.001)
    assert found.at(5)[0][:2] == pytest.approx([east / 2, 0], abs=0.01)
    assert found.at(5)[1][:2] == pytest.approx([0, north], abs=0.01)
    assert found.frame.origin_deg == (0, 0, 0)


def test_czml(tmp_path: Path) -> None:
    found = moves(tmp_path, "czml", json.dumps(CZML), ["sat", "g"], frame="earth")
    assert found.at(5).tolist() == [[7e6, 50, 0], [6378137, 0, 0]]
    degrees = [{"id": "a", "position": {"cartographicDegrees": [0, 10, 20, 0, 60, 10, 20, 600]}}]
    assert moves(tmp_path, "czml", json.dumps(degrees), ["a"]).at(30)[0] == pytest.approx([0, 0, 300], abs=1e-6)


def test_sumo_vehicles_are_there_while_the_file_has_them(tmp_path: Path) -> None:
    found = moves(tmp_path, "sumo", SUMO, ["v1", "v2"])
    assert found.at(0.5)[0].tolist() == [5, 1, 0] and found.at(1.5)[1].tolist() == [3, 5, 0]
    there = [found.present(time_s) for time_s in (0.5, 1.0, 1.5)]
    assert [each.tolist() for each in there if each is not None] == [[True, False], [True, True], [False, True]]


def test_visibility_is_used_as_it_is(tmp_path: Path) -> None:
    found = moves(tmp_path, "visibility", json.dumps(VISIBILITY), ["n1", "n2", "n3"])
    assert found.duration_s == 1200
    assert found.at(599.9).tolist() == [[0, 0, 10], [3, 4, 10], [0, 7, 10]]  # no movement within a step
    assert found.at(600)[0].tolist() == [0, 0, 20]
    assert found.visible(0) == {(0, 1): 5.0} and found.visible(700) == {(1, 2): 9.0}
    some = moves(tmp_path, "visibility", json.dumps(VISIBILITY), ["UAV3", "UAV2"])
    assert some.visible(700) == {(0, 1): 9.0} and some.visible(0) == {}


def test_visibility_by_time_and_with_other_names_of_keys(tmp_path: Path) -> None:
    nodes = {"A": {"id": "A", "pos": [0, 0, 0], "visible": {"B": {"line-of-sight": True, "Distance": 4}}},
             "B": {"id": "B", "pos": [4, 0, 0], "visible": []}}  # fmt: skip
    found = moves(tmp_path, "visibility", json.dumps({"0": nodes, "30": nodes}), ["A", "B"])
    assert found.visible(0) == {(0, 1): 4.0} and found.duration_s == 60


@pytest.mark.parametrize(
    ("kind", "content", "where", "said"),
    [
        ("csv", CSV.replace("20,b,5,5", "20,b,5,east"), ":3:", "east"),
        ("csv", CSV.replace("20,b,5,5", "20,b,5"), ":3:", "3 columns"),
        ("csv", CSV.replace("20,b,5,5", "20,b,5,nan"), ":3:", "finite"),
        ("csv", "when,node,x,y\n", ":1:", "no column time"),
        ("ns2", NS2.replace("setdest 40.0 20.0 10.0", "setdest 40.0"), ":7:", "neither set X_"),
        ("ns2", NS2.replace("$node_(1) set X_", "$node_(7) set X_"), ":5:", "node 7"),
        ("ns2", NS2.replace("setdest 40.0", "setdest 1e400"), ":7:", "finite"),
        ("bonnmotion", "0 0 0 10 100\n", ":1:", "5 numbers"),
        ("bonnmotion", "0 0 0\n5 1 1 4 2 2\n", ":2:", "ascend"),
        ("gpx", GPX.replace("<time>2024-05-01T10:00:00Z</time>", ""), ":", "track walker: point 1 has no time"),
        ("gpx", GPX.replace("</trkseg>", ""), ":", "mismatch"),
        ("gpx", GPX.replace(' xmlns="', " xmlnsx", 1), ":", ""),
        ("kml", KML.replace("0.001 0 0", "0.001 0 east"), ":7:", "not a longitude"),
        ("kml", KML.replace("2024-05-01T10:00:10Z", "noon"), ":5:", "'noon' is not a date"),
        ("kml", KML.replace("</Document>", ""), ":10:", "mismatch"),
        ("czml", "[{]", ":1:", ""),
        ("czml", "[" * 100_000, ":1:", "nested too deeply"),
        ("czml", json.dumps(CZML).replace('"cartesian": [6', '"cartesian": [1, 2, 6'), ": packet 2:", "5 values"),
        ("sumo", SUMO.replace('y="4.0"', ""), ":4:", "no attribute y"),
        ("sumo", SUMO.replace('x="3.0" y="4.0"', 'x="w" y="4.0"'), ":4:", "'w'"),
        ("visibility", json.dumps(VISIBILITY).replace('"LoS": true', '"LoS": 1'), ": step 0, node 0:", "line of sight"),
        ("visibility", '{"steps": [\n{"nodes" 1}]}', ":2:", ""),
        ("visibility", "[" * 100_000, ":1:", "nested too deeply"),
        ("visibility", '{"steps": [{"nodes": [{"id": 1, "visible": []}]}]}', ": step 0, node 0:", "no position"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(kind: str, content: str, where: str, said: str, tmp_path: Path) -> None:
    table = {"frame": "earth"} if kind == "czml" else {}
    with pytest.raises(HeadraceError) as raised:
        moves(tmp_path, kind, content, ["n1", "n2"], **table)
    text = str(raised.value)
    assert text.startswith(f"{tmp_path}/file.{kind}{where}") and said in text and "\n" not in text


@pytest.mark.parametrize("kind", ["csv", "ns2", "bonnmotion", "gpx", "kml", "czml", "sumo", "visibility", "tle"])
def test_a_file_that_is_not_there_is_told(kind: str, tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match=r"none: No such file"):
        read_movement({"kind": kind, "file": "none"}, tmp_path, ["n1"])


def test_a_node_that_the_file_has_not_is_told(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="no node c: there are a, b"):
        moves(tmp_path, "csv", CSV, ["a", "c"])
    with pytest.raises(HeadraceError, match="2 nodes, and the scenario has 3"):
        moves(tmp_path, "csv", CSV, ["n1", "n2", "n3"])


def test_positions_between_samples_are_continuous(tmp_path: Path) -> None:
    found = moves(tmp_path, "csv", CSV, ["a", "b"])
    places = np.array([found.at(time_s) for time_s in np.linspace(0, 10, 1001)])
    assert np.linalg.norm(np.diff(places, axis=0), axis=2).max() == pytest.approx(0.1)
