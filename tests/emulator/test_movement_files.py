"""Movement from files: small ones written by hand, whose positions are known; what is wrong is told with its place."""

from __future__ import annotations

import gzip
import json
import math
import time
from datetime import datetime
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


def strictly(folder: Path, kind: str, content: str, names: list[str], **table: Any) -> Movement:
    (folder / f"file.{kind}").write_text(content)
    return read_movement({"kind": kind, "file": f"file.{kind}", **table}, folder, names, strict=True)


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
        strictly(tmp_path, kind, content, ["n1", "n2"], **table)
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


def track(name: str, *points: tuple[str, float]) -> str:
    """Of GPX: times and longitudes."""
    inside = "".join(f'<trkpt lat="0" lon="{east}"><time>{time}</time></trkpt>' for time, east in points)
    return f"<trk><name>{name}</name><trkseg>{inside}</trkseg></trk>"


def gpx(*parts: str) -> str:
    return f'<gpx version="1.1" creator="hand" xmlns="http://www.topografix.com/GPX/1/1">{"".join(parts)}</gpx>'


def placemark(name: str, east: str, when: str = "") -> str:
    stamp = f"<TimeStamp><when>{when}</when></TimeStamp>" if when else ""
    return f"<Placemark><name>{name}</name>{stamp}<Point><coordinates>{east},0</coordinates></Point></Placemark>\n"


def kml(*marks: str) -> str:
    return f'<kml xmlns="http://www.opengis.net/kml/2.2"><Document>\n{"".join(marks)}</Document></kml>'


def sampled(id: str, *values: float, **more: Any) -> dict[str, Any]:
    """A packet of CZML."""
    return {"id": id, "position": {"epoch": "2024-05-01T00:00:00Z", "cartesian": list(values)}, **more}


SAME_NAMES = {
    "gpx": gpx(
        track("walk", ("2024-05-01T10:00:00Z", 0), ("2024-05-01T10:00:10Z", 0.001)),
        track("walk", ("2024-05-01T10:00:00Z", 1), ("2024-05-01T10:00:10Z", 1.001)),
    ),
    "kml": kml(placemark("walk", "0"), placemark("walk", "1")),
    "czml": json.dumps([sampled("1", 0, 7e6, 0, 0, name="walk"), sampled("2", 0, 0, 7e6, 0, name="walk")]),
    "tle": """\
walk
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667
walk
1 00006U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4754
2 00006  34.2682 348.7242 1859667 331.7664 199.3264 10.82419157413667
""",
}


@pytest.mark.parametrize("kind", SAME_NAMES)
def test_things_of_one_name_are_nodes_apart(kind: str, tmp_path: Path) -> None:
    table = {"frame": "earth"} if kind == "czml" else {}
    found = moves(tmp_path, kind, SAME_NAMES[kind], ["walk", "walk-2"], **table)
    assert np.linalg.norm(found.at(0)[0] - found.at(0)[1]) > 1e5
    assert len(found.notes) == 1 and "named apart: 1" in found.notes[0] and "the node walk-2" in found.notes[0]
    with pytest.raises(HeadraceError, match="walk-2"):
        strictly(tmp_path, kind, SAME_NAMES[kind], ["n1", "n2"], **table)


def test_degrees_beside_cartesian_positions_are_earth_fixed(tmp_path: Path) -> None:
    packets = [sampled("a", 7e6, 0, 0), {"id": "b", "position": {"cartographicDegrees": [90, 0, 100]}}]
    found = moves(tmp_path, "czml", json.dumps(packets), ["a", "b"], frame="earth")
    assert found.at(0) == pytest.approx(np.array([[7e6, 0, 0], [0, 6378237, 0]]), abs=1e-6)


def test_packets_of_one_id_are_one_node(tmp_path: Path) -> None:
    packets = [sampled("a", 0, 7e6, 0, 0), sampled("b", 0, 0, 7e6, 0), sampled("a", 10, 8e6, 0, 0)]
    found = moves(tmp_path, "czml", json.dumps(packets), ["a", "b"], frame="earth")
    assert found.at(0)[0].tolist() == [7e6, 0, 0] and found.at(10)[0].tolist() == [8e6, 0, 0] and not found.notes


def test_nodes_of_one_name_in_a_visibility_file_are_refused(tmp_path: Path) -> None:
    content = json.dumps(VISIBILITY).replace("UAV2", "UAV1")
    with pytest.raises(HeadraceError, match="step 0: two nodes have the name UAV1"):
        moves(tmp_path, "visibility", content, ["UAV1", "UAV3"])


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_times_without_a_zone_are_utc_wherever_the_machine_is(
    zone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        content = gpx(track("walk", ("2024-05-01T10:00:00Z", 0), ("2024-05-01T10:00:10", 0.001)))
        found = moves(tmp_path, "gpx", content, ["walk"])
        later = moves(tmp_path, "gpx", content, ["walk"], start=datetime(2024, 5, 1, 10, 0, 5))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found.duration_s == 10
    assert later.at(0)[0][:2] == pytest.approx([6_378_137 * math.radians(0.0005), 0], abs=0.01)
    assert found.notes == (f"{tmp_path}/file.gpx: times without a zone are taken for UTC",)


def test_constant_positions_by_interval_jump_from_one_to_the_next(tmp_path: Path) -> None:
    def during(begin: str, end: str, x: float) -> dict[str, Any]:
        return {"interval": f"{begin}/{end}", "cartesian": [x, 0, 0]}

    first, second, third = (f"2024-05-01T00:0{minute}:00Z" for minute in (0, 1, 3))
    given = [during(second, "2024-05-01T00:02:00Z", 8e6), during(first, second, 7e6), during(third, "9999-12-31", 9e6)]
    packets = [{"id": "a", "position": given}, sampled("b", 0, 7e6, 0, 0, 300, 7e6, 0, 0)]
    found = moves(tmp_path, "czml", json.dumps(packets), ["a", "b"], frame="earth")
    at = [float(found.at(time_s)[0][0]) for time_s in (0, 30, 59.99, 60, 90, 150, 179.99, 180, 299)]
    assert at == [7e6, 7e6, 7e6, 8e6, 8e6, 8e6, 8e6, 9e6, 9e6]
    assert found.duration_s == 300
    samples = {"interval": f"{first}/{second}", "epoch": first, "cartesian": [-30, 0, 0, 0, 90, 120, 0, 0]}
    found = moves(tmp_path, "czml", json.dumps([{"id": "a", "position": [given[0], samples]}]), ["a"], frame="earth")
    assert [float(found.at(time_s)[0][0]) for time_s in (0, 30, 60)] == pytest.approx([30, 60, 8e6])


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("kml", kml(placemark("a", "0"), placemark("b", "1", "2024-05-01T10:00:00Z"), placemark("c", "2"))),
        ("czml", json.dumps([{"id": "a", "position": {"cartographicDegrees": [0, 0, 0]}},
                             {"id": "b", "position": {"cartographicDegrees": [0, 1, 0, 0]}},
                             {"id": "c", "position": {"cartographicDegrees": [2, 0, 0]}}])),
        ("gpx", gpx('<wpt lat="0" lon="0"/>', track("b", ("2024-05-01T10:00:00Z", 1)))),
    ],
)  # fmt: skip
def test_nodes_that_stand_have_their_place_in_the_order_of_the_file(kind: str, content: str, tmp_path: Path) -> None:
    count = 2 if kind == "gpx" else 3
    found = moves(tmp_path, kind, content, [f"n{number}" for number in range(1, count + 1)], origin=[0, 0])
    assert (np.diff(found.at(0)[:, 0]) > 1e5).all()


def test_degrees_of_sumo_are_not_taken_for_metres(tmp_path: Path) -> None:
    degrees = SUMO
    for metres, east in (("0.0", "13.4"), ("10.0", "13.4001"), ("3.0", "13.41")):
        degrees = degrees.replace(f'x="{metres}"', f'x="{east}"')
    for metres, north in (("1.0", "52.5"), ("4.0", "52.51"), ("6.0", "52.5101")):
        degrees = degrees.replace(f'y="{metres}"', f'y="{north}"')
    found = moves(tmp_path, "sumo", degrees, ["v1", "v2"])
    assert found.at(1)[0][:2] == pytest.approx([6.79, 0], abs=0.01)  # cos(52.5 deg) * 1e-4 deg on the ellipsoid
    assert "x and y are taken for degrees" in found.notes[0]
    assert not moves(tmp_path, "sumo", SUMO, ["v1", "v2"]).notes
    for speed, are_degrees in ((0.0, False), (0.004, True), (0.006, False)):
        steps = [f'<timestep time="{s}"><vehicle id="v" x="{13 + s * speed}" y="52"/></timestep>' for s in (0, 1)]
        (note,) = moves(tmp_path, "sumo", f"<fcd-export>{''.join(steps)}</fcd-export>", ["v"]).notes or ("",)
        assert ("are taken for degrees" in note) is are_degrees, (speed, note)
    as_said = moves(tmp_path, "sumo", degrees, ["v1", "v2"], geographic=False)
    assert as_said.at(0)[0].tolist() == [13.4, 52.5, 0] and not as_said.notes


ISS = """\
ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
"""


def test_satellites_far_from_their_epoch_are_told(tmp_path: Path) -> None:
    assert not moves(tmp_path, "tle", ISS, ["n1"]).notes
    assert not moves(tmp_path, "tle", ISS, ["n1"], start=datetime(2008, 9, 25)).notes
    (note,) = moves(tmp_path, "tle", ISS, ["n1"], start=datetime(2026, 9, 20)).notes
    assert "1 of 1 satellites are over 30 days from the epoch of their elements: n1 (line 2) 6,573" in note


def test_of_several_elements_of_a_satellite_the_nearest_count(tmp_path: Path) -> None:
    later = ISS.replace("08264", "08274").replace("2927", "2928")
    for day, nearest in ((20, ISS), (30, later)):
        for first, second in ((ISS, later), (later, ISS)):
            found = moves(tmp_path, "tle", first + second, ["n1"], start=datetime(2008, 9, day, 12, 25, 40, 104192))
            assert found.at(0) == pytest.approx(moves(tmp_path, "tle", nearest, ["n1"]).at(0), abs=1)
            line = 2 if nearest is second else 5
            said = f"left out: 1 (line {line}: satellite 25544 (ISS (ZARYA)) has elements that are nearer"
            assert said in found.notes[0]


BROKEN = {
    "csv": (CSV + "30,c,east,0\n30,d,1,1\n", "line 6: could not convert string to float: 'east'"),
    "gpx": (gpx('<wpt lat="0" lon="1"/>', "<trk><trkseg><trkpt lat='0' lon='1'/></trkseg></trk>",
                track("d", ("2024-05-01T10:00:00Z", 0))), "track track1: point 1 has no time"),
    "kml": (kml(placemark("a", "1"), placemark("b", "east"), placemark("d", "2")),
            "line 3: placemark b: not a longitude, a latitude (and a height)"),
    "czml": (json.dumps([sampled("a", 1, 2, 3), sampled("b", 1, 2), sampled("d", 1, 2, 3)]),
             "packet 1: b: cartesian: 2 values are not a place"),
    "sumo": (SUMO.replace('id="v2" x="3.0" y="4.0"', 'id="v3"'), "line 4: vehicle v3: no attribute x"),
    "tle": (ISS.replace("ISS (ZARYA)", "BAD").replace("2927", "2920") + ISS,
            "line 2: satellite BAD: not a line of two-line elements"),
    "ns2": (NS2 + "for {set i 0} {$i < 9} {incr i} {\n$node_($i) set X_ 5\n}\n$node_(9) set X_ 5\n",
            "line 11: neither set X_, Y_, Z_ nor setdest at a time, in numbers: $node_($i) set X_ 5; line 13: node 9"),
    "bonnmotion": ("0 1 1\n0 1 2\n0 1 2 3\n", "line 3: n3: 4 numbers are not times"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_what_can_not_be_used_is_left_out_and_told(kind: str, tmp_path: Path) -> None:
    content, said = BROKEN[kind]
    names = ["n1"] if kind == "tle" else ["n1", "n2"]
    table = {"frame": "earth"} if kind == "czml" else {}
    found = moves(tmp_path, kind, content, names, **table)
    (note,) = [line for line in found.notes if "left out" in line]
    assert note.startswith(f"{tmp_path}/file.{kind}: left out: ") and said in note
    with pytest.raises(HeadraceError):
        strictly(tmp_path, kind, content, names, **table)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("csv", "time,node,x,y\n0,a,east,0\n"),
        ("gpx", gpx("<trk><trkseg><trkpt lat='0' lon='1'/></trkseg></trk>")),
        ("czml", json.dumps([sampled("b", 1, 2)])),
        ("sumo", '<fcd-export><timestep time="0"><vehicle id="v1" y="1"/></timestep></fcd-export>'),
        ("tle", ISS.replace("2927", "2920")),
        ("ns2", "$node_($i) set X_ 5\n"),
        ("bonnmotion", "0 1\n"),
        ("visibility", "{}"),
    ],
)
def test_a_file_of_which_nothing_can_be_used_is_refused(kind: str, content: str, tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match=f"^{tmp_path}/file.{kind}"):
        moves(tmp_path, kind, content, ["n1"])


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("visibility", json.dumps(VISIBILITY).replace("5.0", '"far"'), ": step 0, node "),
        ("bonnmotion", "0 1 1\n0 1 2 3\n0 1 1\n", ":2: 4 numbers are not times"),
    ],
)
def test_in_files_of_all_nodes_it_is_an_error(kind: str, content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match=said):
        moves(tmp_path, kind, content, ["n1", "n2", "n3"])


def test_a_file_of_which_all_is_left_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="file.kml:2: placemark a: not a longitude.*; nothing in the file can be"):
        moves(tmp_path, "kml", kml(placemark("a", "east"), placemark("b", "east")), ["n1"])
    with pytest.raises(HeadraceError, match="there are a, d; left out: 1 .line 6: could not"):
        moves(tmp_path, "csv", "time,node,x,y\n1,a,1,1\n1,d,1,1\n\n\n1,c,east,1\n", ["c"])


SCRIPT = """\
# a whole script
set val(nn) 2
set ns [new Simulator]
for {set i 0} {$i < $val(nn)} {incr i} {
    set n($i) [$ns node]
    $n($i) random-motion 0
}
$n(0) set X_ 10.0; $n(0) set Y_ 20.0
$n(1) set X_ 100.0 ;# beside it
$ns initial_node_pos $n(0) 20
$ns at 5.0 "$n(0) setdest 40.0 20.0 10.0"
$ns at 150.0 "stop"
proc stop {} { exit 0 }
$ns run
"""


def test_of_a_whole_ns2_script_the_lines_that_move_nodes_are_read(tmp_path: Path) -> None:
    found = strictly(tmp_path, "ns2", SCRIPT, ["n1", "n2"])
    assert found.at(0).tolist() == [[10, 20, 0], [100, 0, 0]] and found.at(6)[0].tolist() == [20, 20, 0]
    assert found.notes == (f"{tmp_path}/file.ns2: 10 lines of Tcl that move no node are not run",)
    assert "n3" in moves(tmp_path, "ns2", SCRIPT, ["n1", "n2", "n3"]).notes[1]
    plain = SCRIPT.replace("$n(0)", "$n0").replace("$n(1)", "$n1")
    assert moves(tmp_path, "ns2", plain, ["n1", "n2"]).at(6).tolist() == found.at(6).tolist()
    other = moves(tmp_path, "ns2", SCRIPT + "$base(0) set X_ 9", ["n1", "n2"])
    assert other.at(0)[0].tolist() == [10, 20, 0]
    assert "left out: 1 (line 15: node 0 of $base, and others are of $n)" in other.notes[0]


def test_inertial_positions_turn_with_the_earth(tmp_path: Path) -> None:
    """Vallado, Fundamentals of Astrodynamics and Applications, example 3-15: km in GCRF and in ITRF."""
    inertial = {
        "epoch": "2004-04-06T07:51:28.386Z",
        "referenceFrame": "INERTIAL",
        "cartesian": [0, 5102508.958, 6123011.401, 6378136.928, 60, 5102508.958, 6123011.401, 6378136.928],
    }
    content = json.dumps([{"id": "a", "position": inertial}])  # fmt: skip
    found = moves(tmp_path, "czml", content, ["a"], frame="earth")
    fixed = np.array([-1033479.383, 7901295.2754, 6380356.5958])
    assert np.linalg.norm(found.at(0)[0] - fixed) < 1.5e-4 * np.linalg.norm(fixed)
    angle = math.radians(360 * 60 / 86164.0905)
    east, north, up = found.at(0)[0]
    later = [east * math.cos(angle) + north * math.sin(angle), north * math.cos(angle) - east * math.sin(angle), up]
    assert found.at(60)[0] == pytest.approx(later, abs=2)
    still = json.dumps([{"id": "a", "position": {"referenceFrame": "INERTIAL", "cartesian": [7e6, 0, 0]}}])
    with pytest.raises(HeadraceError, match="packet 0: a: a place that stands among the stars"):
        moves(tmp_path, "czml", still, ["a"], frame="earth")
