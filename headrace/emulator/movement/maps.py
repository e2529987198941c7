"""Movement from files of maps: GPX, KML, CZML, and SUMO's floating-car data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace.emulator.movement import xml
from headrace.emulator.movement.samples import Samples, parsed, seconds, text, wrong

Place = tuple[float, float, float]


def read_gpx(path: Path) -> Samples:
    """Each track is a node, by its name or ``track1``, ``track2`` ...; each waypoint one that stands. Raises
    HeadraceError."""
    import gpxpy
    import gpxpy.gpx

    try:
        found = gpxpy.parse(text(path))
    except (gpxpy.gpx.GPXException, ValueError) as error:
        raise wrong(path, "", " ".join(str(error).split())) from None
    samples = Samples(path)
    for number, track in enumerate(found.tracks, 1):
        name = track.name or f"track{number}"
        for count, point in enumerate((point for part in track.segments for point in part.points), 1):
            if point.time is None:
                raise wrong(path, "", f"track {name}: point {count} has no time")
            when = point.time.timestamp()
            samples.add(name, when, (point.latitude, point.longitude, point.elevation or 0.0), f" track {name}:")
    start_s = samples.first_s()
    for number, mark in enumerate(found.waypoints, 1):
        place = (mark.latitude, mark.longitude, mark.elevation or 0.0)
        samples.add(mark.name or f"waypoint{number}", start_s, place, f" waypoint {number}:")
    return samples


def read_kml(path: Path) -> Samples:
    """Each placemark with a gx:Track is a node, by its name; each with a Point one that stands, or is there at its
    TimeStamp. Raises HeadraceError with the line."""
    samples, standing = Samples(path), list[tuple[str, Place, int]]()

    def take(mark: xml.Element) -> None:
        label = mark.first("name")
        name = label.text.strip() if label else f"placemark{len(samples.names) + len(standing) + 1}"
        tracks = mark.all("Track")
        for track in tracks:
            whens, coords = track.all("when"), track.all("coord")
            if len(whens) != len(coords):
                raise wrong(path, track.line, f"{len(whens)} times and {len(coords)} places")
            for when, coord in zip(whens, coords, strict=True):
                samples.add(name, _time(path, when), _place(path, coord, coord.text.split()), coord.line)
        if not tracks and (point := mark.first("Point")):
            coord = point.first("coordinates") or point
            place = _place(path, coord, coord.text.strip().split(","))
            if (stamp := mark.first("when")) is not None:
                samples.add(name, _time(path, stamp), place, coord.line)
            else:
                standing.append((name, place, coord.line))
        elif not tracks:
            raise wrong(path, mark.line, f"placemark {name} has neither a gx:Track nor a Point")

    xml.each(path, "Placemark", take)
    start_s = samples.first_s()
    for name, place, line in standing:
        samples.add(name, start_s, place, line)
    return samples


def _time(path: Path, element: xml.Element) -> float:
    try:
        return seconds(element.text)
    except ValueError:
        raise wrong(path, element.line, f"{element.text.strip()!r} is not a date and time") from None


def _place(path: Path, element: xml.Element, words: Sequence[str]) -> Place:
    try:
        longitude, latitude, height = [float(word) for word in words] + [0.0] * (len(words) == 2)
    except ValueError:
        raise wrong(path, element.line, "not a longitude, a latitude (and a height)") from None
    return latitude, longitude, height


def read_sumo(path: Path, geographic: bool) -> Samples:
    """SUMO's ``--fcd-output``: x and y are metres, or longitude and latitude where it was written with
    ``--fcd-output.geo``. Raises HeadraceError with the line."""
    samples = Samples(path)

    def take(step: xml.Element) -> None:
        for vehicle in step.inside:
            if vehicle.name not in ("vehicle", "person", "container"):
                continue
            try:
                time_s = float(step.attributes["time"])
                x, y = float(vehicle.attributes["x"]), float(vehicle.attributes["y"])
                z = float(vehicle.attributes.get("z", 0.0))
                name = vehicle.attributes["id"]
            except KeyError as error:
                raise wrong(path, vehicle.line, f"no attribute {error.args[0]}") from None
            except ValueError as error:
                raise wrong(path, vehicle.line, str(error)) from None
            samples.add(name, time_s, (y, x, z) if geographic else (x, y, z), vehicle.line)

    xml.each(path, "timestep", take)
    return samples


def read_czml(path: Path) -> tuple[Samples, bool]:
    """Each packet with a position is a node, by its name or its id; whether places are degrees and heights. Positions
    between samples are on straight lines, whatever interpolation the file asks for. Raises HeadraceError."""
    packets = parsed(path)
    if not isinstance(packets, list):
        raise wrong(path, 1, "not a list of packets")
    samples, kinds = Samples(path), set[bool]()
    standing: list[tuple[str, Place, str]] = []
    for number, packet in enumerate(packets):
        where = f" packet {number}:"
        if not isinstance(packet, dict) or packet.get("id") == "document" or "position" not in packet:
            continue
        name = str(packet.get("name") or packet.get("id"))
        for position in packet["position"] if isinstance(packet["position"], list) else [packet["position"]]:
            try:
                geographic, points = _czml_position(position)
            except (KeyError, TypeError, ValueError) as error:
                raise wrong(path, where, f"{name}: {error}") from None
            kinds.add(geographic)
            for when, place in points:
                if when is None:
                    standing.append((name, place, where))
                else:
                    samples.add(name, when, place, where)
    if len(kinds) > 1:
        raise wrong(path, "", "some positions are cartesian and some cartographic")
    start_s = samples.first_s()
    for name, place, where in standing:
        samples.add(name, start_s, place, where)
    return samples, kinds != {False}


def _czml_position(position: Any) -> tuple[bool, list[tuple[float | None, Place]]]:
    """Whether it is degrees, and the places with their times in seconds. Raises ValueError and others."""
    if position.get("referenceFrame", "FIXED") != "FIXED":
        raise ValueError(f"reference frame {position['referenceFrame']}: only FIXED")
    key = next((each for each in ("cartesian", "cartographicDegrees", "cartographicRadians") if each in position), "")
    if not key:
        raise ValueError("neither cartesian nor cartographicDegrees nor cartographicRadians")
    values = position[key]
    if len(values) == 3:
        return key != "cartesian", [(None, _czml_place(key, values))]
    if not values or len(values) % 4:
        raise ValueError(f"{key}: {len(values)} values are not a place, nor times with places")
    epoch = seconds(position["epoch"]) if "epoch" in position else 0.0
    rows = [values[at : at + 4] for at in range(0, len(values), 4)]
    times = [seconds(row[0]) if isinstance(row[0], str) else epoch + float(row[0]) for row in rows]
    return key != "cartesian", [(when, _czml_place(key, row[1:])) for when, row in zip(times, rows, strict=True)]


def _czml_place(key: str, values: Sequence[float]) -> Place:
    x, y, z = (float(each) for each in values)
    if key == "cartesian":
        return x, y, z
    return (y, x, z) if key == "cartographicDegrees" else (math.degrees(y), math.degrees(x), z)
